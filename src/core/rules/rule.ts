import type { Fact, FactName } from '../run/facts';
import type { ConfigFormat } from '../run/config-format';
import type { ConfigView, SettingName, ViewFacts } from './view';
import type { Severity } from '../findings';
import { formatNumber } from '../format';
import { anyOf, counted, type Sentence, type Value } from '../sentence';

/** One setting that a quick fix gives another value; no value: the setting is removed. */
export interface Setting {
  readonly name: SettingName;
  readonly value?: number | string | boolean;
}

/** A quick fix in terms of facts: all its settings change together. */
export type Change = readonly Setting[];

/** What a rule reports on a run. */
export interface Issue {
  /** What it is about, best first: the finding is at the first of these that a file gives. */
  readonly at: readonly SettingName[];
  /** Where it differs from the rule's own. */
  readonly severity?: Severity;
  readonly message: Sentence;
  readonly remedy: Sentence;
  /** Asks for nothing to be done. */
  readonly isNote?: true;
  /** Appended to a remedy that is generated from the changes: `, or another schedule`. */
  readonly remedySuffix?: Sentence;
  /** Best first. */
  readonly changes?: readonly Change[];
}

/** A rule: pure, total; nothing when nothing is wrong or too little is known. */
type Check = (view: ConfigView) => Issue | readonly Issue[] | null;

/** Its page in docs/findings.md is the comment above its check, from `@finding` on (test/docs/finding-pages.ts). */
export interface Rule {
  /** Stable; the heading of its page in docs/findings.md. */
  readonly code: string;
  readonly severity: Severity;
  /** The severity on configs without a launcher. */
  readonly planSeverity?: Severity;
  readonly formats: readonly ConfigFormat[];
  /** It speaks of weights, gradients and optimizer state together: not of runs that train adapters. */
  readonly ofAllWeights?: true;
  readonly check: Check;
}

/** Fixes that set one number, one for each value. */
export function setTo(name: SettingName, values: readonly (number | string | boolean)[]): Change[] {
  return values.map((value) => [{ name, value }]);
}

/** The fix that takes settings out. */
export function remove(...names: readonly SettingName[]): Change[] {
  return [names.map((name) => ({ name }))];
}

/** Whether a file sets this itself (not a default or an override). */
export function isWritten(facts: ViewFacts, name: SettingName): boolean {
  const fact: Fact<unknown> | undefined = facts[name];
  return fact?.source.kind === 'file';
}

/** `8 or 16`. */
export function listed(values: readonly number[]): Value {
  return anyOf(values.map(formatNumber));
}

/** `3 stages`, with all its digits (a remedy is typed into a file). */
export function many(count: number, singular: string, plural?: string): Sentence {
  return counted(count, singular, plural, formatNumber);
}

/** Facts that readers work out from others, and would again. */
const derivedNames: readonly FactName[] = ['microBatches', 'microBatch', 'data', 'virtualStages', 'totalStages', 'world'];

/** The view as it is once a fix is made. */
export function viewAfter(view: ConfigView, change: Change): ConfigView {
  const { facts } = view;
  const after: Record<string, unknown> = { ...facts };
  for (const name of derivedNames) if (facts[name]?.source.kind === 'default') Reflect.deleteProperty(after, name);
  for (const { name, value } of change) {
    const before = facts[name];
    if (value === undefined || before === undefined) Reflect.deleteProperty(after, name);
    else after[name] = { ...before, value };
  }
  return { ...view, facts: after };
}

/** The multiples of `step` nearest to `wanted`, the larger first where both are as near; two of them, none of them 0 or `wanted`. */
export function multiplesNear(step: number, wanted: number): number[] {
  const below = Math.floor(wanted / step) * step;
  const candidates = [below - step, below, below + step, below + 2 * step].filter((value) => value > 0 && value !== wanted);
  return candidates.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || b - a).slice(0, 2);
}

/** The two entries nearest to `wanted` (one on each side where there are), that `fits`; when none fits, of all. */
export function nearestFitting(sorted: readonly number[], wanted: number, fits: (value: number) => boolean): number[] {
  const others = sorted.filter((value) => value !== wanted);
  const fitting = others.filter(fits);
  const choice = fitting.length > 0 ? fitting : others;
  const below = choice.filter((value) => value < wanted).slice(-1);
  const above = choice.filter((value) => value > wanted).slice(0, 1);
  return [...below, ...above].sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || b - a);
}
