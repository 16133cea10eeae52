import type { LoadedConfig } from '../../src/core/config-files/load-config';

/** A fact of a file of the corpus, with what the file has at its place, for a person to judge. */
export interface SampledFact {
  readonly file: string;
  readonly name: string;
  readonly value: string;
  /** Number of its line from 1, and the line; empty for a default, whose reason then follows the value. */
  readonly line: string;
  /** Only the number. */
  readonly number: number;
}

/** Every fact that a file gives itself, in order of their names. */
export function factsWithLines(file: string, { launcher }: LoadedConfig): readonly SampledFact[] {
  if (launcher === null) return [];
  return Object.entries(launcher.facts).flatMap(([name, fact]) => {
    const { source } = fact;
    if (source.kind !== 'file' || source.place.file !== launcher.file) return [];
    const before = launcher.text.slice(0, source.place.range.start).split('\n');
    const text = launcher.text.split('\n')[before.length - 1] ?? '';
    const line = `${before.length}: ${text.trim().slice(0, 160)}`;
    return [{ file, name, value: `${JSON.stringify(fact.value)} (${source.key})`, line, number: before.length }];
  });
}

/** `count` of the facts, each as likely as the others, the same for the same seed (mulberry32, Fisher and Yates' shuffle). */
export function sampled(facts: readonly SampledFact[], count: number, seed: number): readonly SampledFact[] {
  const all = [...facts];
  let state = seed;
  const random = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  for (let at = all.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    const [here, there] = [all[at], all[other]];
    if (here !== undefined && there !== undefined) [all[at], all[other]] = [there, here];
  }
  return all.slice(0, count);
}
