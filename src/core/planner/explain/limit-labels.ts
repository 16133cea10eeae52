import type { Limiter, StageLimits } from '../../time-model/limits';
import { formatCount, formatPercent } from '../../format';
import { mean } from '../../numbers';
import type { Candidate, Plan } from '../plan';
import { meanParts, stepPartNames, stepParts, type StepPart } from './step-part-names';
import { worthSaying } from './slower';
import { joinClauses, listOf, sentence, type Sentence, type Value } from '../../sentence';

/** A smaller share of the step is not worth a row of a table, whose rows add up to the step. */
export const worthARow = 0.0005;

/**
 * What the step of a candidate goes to: parts of it as shares, largest first. `work` is the work of the stages where nobody knows what it
 * goes to.
 */
type StepCost = readonly [part: StepPart | 'work', share: number];

/**
 * Where the step's time goes, the mean of all stages: their idle time (the bubble), their work by what limits it, the gradient all-reduce
 * and the optimizer. The shares add up to 1, apart from those too small to report. Of candidates that were not chosen the work is one part.
 * @param stage of one stage, not the mean.
 */
export function stepCosts(
  { chosen, partsByStage }: Pick<Plan, 'chosen' | 'partsByStage'>,
  candidate: Pick<Candidate, 'id' | 'busyMs' | 'pipelineMs' | 'gradientExchangeMs' | 'optimizerMs' | 'iterationMs'>,
  stage: number | null = null,
): StepCost[] {
  const { id, busyMs, pipelineMs, gradientExchangeMs, optimizerMs, iterationMs } = candidate;
  const busy = stage === null ? mean(busyMs) : (busyMs[stage] ?? 0);
  const known = id !== chosen || partsByStage === null ? null : stage === null ? meanParts(partsByStage) : (partsByStage[stage] ?? null);
  const parts: readonly (readonly [StepPart | 'work', number])[] =
    known === null
      ? [['work', busy], ['bubble', pipelineMs - busy], ['gradientExchange', gradientExchangeMs], ['optimizer', optimizerMs]] // prettier-ignore
      : stepParts.map((part) => [part, known[part]] as const);
  return stepShares(parts, iterationMs);
}

/** Times as shares of a step, largest first; negligible ones are left out. */
export function stepShares<P extends StepPart | 'work'>(
  parts: readonly (readonly [part: P, ms: number])[],
  iterationMs: number,
): (readonly [part: P, share: number])[] {
  return parts
    .map(([part, ms]) => [part, ms / iterationMs] as const)
    .filter(([, share]) => share >= worthARow)
    .sort(([, a], [, b]) => b - a);
}

/** Most parts of a step that are reported. */
const shownCosts = 3;

/** `bubble 65.4 % of the step, compute 12.1 %, memory traffic 11.4 %`: the largest parts. */
export function costsText(costs: readonly StepCost[]): Value {
  return listOf(
    costs
      .filter(([, share]) => share >= worthSaying)
      .slice(0, shownCosts)
      .map(([part, share], index) => {
        const name = part === 'work' ? sentence`work` : stepPartNames[part];
        return index === 0 ? sentence`${name} ${formatPercent(share)} of the step` : sentence`${name} ${formatPercent(share)}`;
      }),
  );
}

/**
 * `stage 0 compute; stages 1-3 memory traffic`: what limits which stages. Null where all have the same limit, which the parts of the step
 * show already, and where limits are unknown.
 */
export function limitedBy(limits: readonly StageLimits[] | null): Sentence | null {
  const runs = limitRuns(limits ?? []);
  if (runs.length < 2) return null;
  const more = runs.length > shownRuns ? [sentence`and ${formatCount(runs.length - shownRuns)} more`] : [];
  return sentence`${joinClauses([...runs.slice(0, shownRuns).map(runText), ...more])}`;
}

/** Most runs of stages that are reported. */
const shownRuns = 4;

interface Run {
  readonly first: number;
  readonly last: number;
  readonly limiter: Limiter;
}

/** Stages one after the other that the same thing limits. */
function limitRuns(limits: readonly StageLimits[]): Run[] {
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
