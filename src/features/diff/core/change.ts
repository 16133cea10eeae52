import type { Finding, Severity } from '../../../core/findings';
import { mayFit } from '../../../core/memory-model/verdict';
import type { Plan } from '../../../core/planner/plan';
import { say } from '../../../core/sentence';
import { comparePlans, type PlanComparison } from '../../compare/core/plans';

/** A config as it is on one side. */
export interface ConfigState {
  /** Null: it is not planned, for which a finding gives the reason where there is one. */
  readonly plan: Plan | null;
  readonly findings: readonly Finding[];
  /** Sequences of a step and of a micro-batch, and tokens of a sequence, as the files give them; null where no file does. */
  readonly given: Readonly<Record<(typeof givenSizes)[number], number | null>>;
}

/** Sizes that a run converges by. */
export const givenSizes = ['globalBatch', 'microBatch', 'sequenceLength'] as const;

/** A size that the files of both sides give, and give otherwise. */
interface SizeChange {
  readonly size: (typeof givenSizes)[number];
  readonly before: number;
  readonly after: number;
}

/** What a change does to one config. */
export interface ConfigChange {
  /** Its path from the folder that is compared, in HEAD unless it is removed there. */
  readonly file: string;
  /** Its path in BASE, where it is another. */
  readonly renamedFrom?: string;
  readonly status: 'changed' | 'added' | 'removed';
  readonly base: ConfigState | null;
  readonly head: ConfigState | null;
  /** Null unless both are planned. */
  readonly comparison: PlanComparison | null;
  /** Why the run converges otherwise: a step has other sequences or other tokens. */
  readonly convergence: readonly SizeChange[];
  readonly added: readonly Finding[];
  readonly resolved: readonly Finding[];
}

/** Relative changes below this are not reported. */
const least = 0.01;

/** Compares the two states of a config; one may be absent. */
export function compareStates(
  { file, renamedFrom }: Pick<ConfigChange, 'file' | 'renamedFrom'>,
  base: ConfigState | null,
  head: ConfigState | null,
): ConfigChange {
  const [old, now] = [base?.plan ?? null, head?.plan ?? null];
  const comparison = old === null || now === null ? null : comparePlans(old, now, { a: 'base', b: 'head' });
  const [before, after] = [base?.findings ?? [], head?.findings ?? []];
  return {
    file,
    ...(renamedFrom === undefined ? {} : { renamedFrom }),
    status: base === null ? 'added' : head === null ? 'removed' : 'changed',
    base,
    head,
    comparison,
    convergence: base === null || head === null ? [] : changedSizes(base.given, head.given),
    added: withoutThose(after, before),
    resolved: withoutThose(before, after),
  };
}

/**
 * What no file sets is the planner's choice, and not the run's. Where none sets the global batch, launchers derive it from the micro-batch;
 * where one does, the micro-batch changes nothing.
 */
function changedSizes(base: ConfigState['given'], head: ConfigState['given']): SizeChange[] {
  const isDerived = base.globalBatch === null && head.globalBatch === null;
  return givenSizes.flatMap((size) => {
    const [before, after] = [base[size], head[size]];
    if (before === null || after === null || before === after || (size === 'microBatch' && !isDerived)) return [];
    return [{ size, before, after }];
  });
}

/** Findings that others do not have: the same are of one code, in the same words, whatever the figures. */
function withoutThose(findings: readonly Finding[], others: readonly Finding[]): readonly Finding[] {
  const left = others.map(findingWords);
  return findings.filter((finding) => {
    const index = left.indexOf(findingWords(finding));
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function findingWords({ code, severity, message }: Finding): string {
  return `${code} ${severity} ${say(message).replace(/\d[\d.,]*/g, '#')}`;
}

/** The change of a figure over what it was; 0 where it is below what is reported. */
export function relativeChange(before: number, after: number): number {
  const change = after / before - 1;
  return Math.abs(change) < least ? 0 : change;
}

/** Whether a step fits or may fit; null where none is planned. */
function stateFits(state: ConfigState | null): boolean | null {
  const chosen = state?.plan?.candidates.find(({ id }) => id === state.plan?.chosen);
  return chosen === undefined ? null : mayFit(chosen);
}

/** What a reviewer must see of a change, in the order of the summary: its words for one config and for several. */
export const effects = {
  noLongerFits: ['no longer fits', 'no longer fit'],
  newErrors: ['has new errors', 'have new errors'],
  slower: ['slower', 'slower'],
  changesConvergence: ['changes convergence', 'change convergence'],
  fitsNow: ['fits now', 'fit now'],
  faster: ['faster', 'faster'],
  added: ['added', 'added'],
  removed: ['removed', 'removed'],
} as const;
type Effect = keyof typeof effects;

const effectNames = Object.keys(effects) as Effect[];

/** What a change does, by name; none: nothing that is reported. */
export function changeEffects(change: ConfigChange): Effect[] {
  const { base, head, comparison, convergence, status } = change;
  const [fitted, fits] = [stateFits(base), stateFits(head)];
  const speed = comparison === null ? 0 : relativeChange(1, comparison.speedup);
  const has: Readonly<Record<Effect, boolean>> = {
    noLongerFits: fits === false && fitted !== false,
    newErrors: change.added.some(hasSeverity('error')),
    slower: speed < 0,
    changesConvergence: convergence.length > 0,
    fitsNow: fits === true && fitted === false,
    faster: speed > 0,
    added: status === 'added',
    removed: status === 'removed',
  };
  return effectNames.filter((effect) => has[effect]);
}

/** Whether anything about a config is reported. */
export function isReported(change: ConfigChange): boolean {
  const { comparison, added, resolved } = change;
  if (changeEffects(change).length > 0 || added.length > 0 || resolved.length > 0) return true;
  if (comparison === null) return (change.base?.plan ?? null) !== (change.head?.plan ?? null);
  return relativeChange(comparison.a.peakBytes, comparison.b.peakBytes) !== 0;
}

export function hasSeverity(severity: Severity): (finding: Finding) => boolean {
  return (finding) => finding.severity === severity;
}
