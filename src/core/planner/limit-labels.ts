import { limiters, type Limiter } from '../time-model/limiters';
import type { StageLimits } from '../time-model/limits';
import { formatCount, formatPercent } from '../format';
import type { Candidate, Plan } from './plan';
import { stepPartNames, type StepPart } from './step-part-names';
import { clausesOf, listOf, sentence, type Sentence, type Value } from '../sentence';

/** Shares of a stage's time below this are not reported. */
const worthSaying = 0.005;

/** Time of one micro-batch on a stage, all that it goes to, ms. */
function limitedMs({ ms }: StageLimits): number {
  return limiters.reduce((sum, name) => sum + ms[name], 0);
}

/** What a stage's time goes to as shares of it, largest first; what is too little to tell is left out. */
export function limiterShares(limits: StageLimits): (readonly [name: Limiter, share: number])[] {
  const whole = limitedMs(limits);
  return limiters
    .map((name) => [name, limits.ms[name] / whole] as const)
    .filter(([, share]) => share >= worthSaying)
    .sort(([, a], [, b]) => b - a);
}

/**
 * What the step of a candidate goes to: parts of it as shares, largest first. `work` is the work of a stage where nobody knows what it goes
 * to.
 */
export type StepCost = readonly [part: StepPart | 'work', share: number];

/**
 * Where the step's time goes on its busiest stage: its idle time (the bubble), its work by what limits it, the gradient all-reduce and the
 * optimizer. The shares add up to 1, apart from those too small to report.
 * Of candidates that were not chosen the work is one part: limits are those of the chosen.
 */
export function stepCosts({ chosen, limits }: Pick<Plan, 'chosen' | 'limits'>, candidate: Candidate): StepCost[] {
  const { id, busyMs, pipelineMs, gradientExchangeMs, optimizerMs, iterationMs } = candidate;
  const busiest = busyMs.indexOf(Math.max(...busyMs));
  const busy = busyMs[busiest] ?? 0;
  const known = id === chosen ? limits?.[busiest] : undefined;
  const work: readonly (readonly [StepPart | 'work', number])[] =
    known === undefined ? [['work', busy]] : limiterShares(known).map(([name, share]) => [name, share * busy] as const);
  const parts = [...work, ['bubble', pipelineMs - busy], ['gradientExchange', gradientExchangeMs], ['optimizer', optimizerMs]] as const;
  return parts
    .map(([part, ms]) => [part, ms / iterationMs] as const)
    .filter(([, share]) => share >= worthSaying)
    .sort(([, a], [, b]) => b - a);
}

/** Most parts of a step that are reported. */
const shownCosts = 3;

/** `bubble 65.4 % of the step, compute 12.1 %, memory traffic 11.4 %`: the largest parts. */
export function costsText(costs: readonly StepCost[]): Value {
  return listOf(
    costs.slice(0, shownCosts).map(([part, share], index) => {
      const name = part === 'work' ? sentence`work` : stepPartNames[part];
      return index === 0 ? sentence`${name} ${formatPercent(share)} of the step` : sentence`${name} ${formatPercent(share)}`;
    }),
  );
}

/** The stage whose micro-batch takes longest; null without stages. */
export function slowestStage(limits: readonly StageLimits[]): number | null {
  return limits.length === 0
    ? null
    : limits.reduce((slowest, stage, index) => (limitedMs(stage) > limitedMs(limits[slowest] ?? stage) ? index : slowest), 0);
}

/**
 * `compute 91 %, memory traffic 7.6 % on stage 0, the slowest; stages 1-3 memory traffic`: where the slowest stage's time goes, and which
 * stages something else limits; of one stage alone no more than that. Null where it is not known.
 */
export function limitedBy(limits: readonly StageLimits[] | null): Sentence | null {
  const slowest = limits === null ? null : slowestStage(limits);
  const first = slowest === null ? undefined : limits?.[slowest];
  if (limits === null || slowest === null || first === undefined) return null;
  const shares = limiterShares(first).map(([name, share]) => sentence`${stepPartNames[name]} ${formatPercent(share)}`);
  const others = runsOf(limits).filter(({ limiter }) => limiter !== first.limiter);
  const shown = others.slice(0, shownRuns).map(runText);
  const more = others.length > shownRuns ? [sentence`and ${formatCount(others.length - shownRuns)} more`] : [];
  const where = limits.length === 1 ? listOf(shares) : sentence`${listOf(shares)} on stage ${formatCount(slowest)}, the slowest`;
  return sentence`${clausesOf([where, ...shown, ...more])}`;
}

/** Most runs of stages that are reported. */
const shownRuns = 3;

interface Run {
  readonly first: number;
  readonly last: number;
  readonly limiter: Limiter;
}

/** Stages one after the other that the same thing limits. */
function runsOf(limits: readonly StageLimits[]): Run[] {
  const runs: Run[] = [];
  limits.forEach(({ limiter }, stage) => {
    const last = runs.at(-1);
    if (last?.limiter === limiter) runs[runs.length - 1] = { ...last, last: stage };
    else runs.push({ first: stage, last: stage, limiter });
  });
  return runs;
}

function runText({ first, last, limiter }: Run): Sentence {
  const name = stepPartNames[limiter];
  return first === last
    ? sentence`stage ${formatCount(first)} ${name}`
    : sentence`stages ${formatCount(first)}-${formatCount(last)} ${name}`;
}
