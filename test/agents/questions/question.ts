import assert from 'node:assert/strict';
import type { Answered } from '../over-stdio';

/** What an answer must hold. `because`: where that is from, never from an answer of ours: the config, a sum by hand, a published figure. */
export type Fact = { readonly because: string } & (
  | { readonly matches: RegExp }
  /** A member of the answer's data, as "memory/fits" or "stages/0/weightsGiB". */
  | { readonly at: string; readonly is: unknown }
  | { readonly at: string; readonly from: number; readonly to: number }
);

/** A question as an engineer asks it, the call that answers it, and the facts of the answer. */
export interface Question {
  readonly asks: string;
  /** The public thread that it is from, in our words; or what is published of the run. */
  readonly thread: string;
  readonly tool: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly facts: readonly Fact[];
}

/** @throws AssertionError for a fact that the answer does not hold. */
export function requireFact(fact: Fact, { text, data }: Answered): void {
  if ('matches' in fact) {
    assert.match(text, fact.matches, fact.because);
    return;
  }
  const found = fact.at.split('/').reduce<unknown>((value, key) => (value as Readonly<Record<string, unknown>> | undefined)?.[key], data);
  if ('is' in fact) assert.deepEqual(found, fact.is, `${fact.at}: ${fact.because}`);
  else
    assert.ok(
      typeof found === 'number' && found >= fact.from && found <= fact.to,
      `${fact.at} is ${String(found)}, not ${fact.from} to ${fact.to}: ${fact.because}`,
    );
}

/** Within 1 % of a sum by hand: norms and biases are left out of some. */
export function near(at: string, value: number, because: string): Fact {
  return { at, from: value * 0.99, to: value * 1.01, because };
}
