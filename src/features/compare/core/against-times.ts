import { formatCount, formatDuration, formatNumber } from '../../../core/format';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { part, operationPart } from '../../../core/schedules/parts';
import type { Timeline } from '../../../core/schedules/schedule';
import type { PredictedMeasured } from './against-trace';
import { lowMedian } from '../../../core/numbers';
import { compareWithLog, differenceSentences, logSentences, type LogComparison } from './against-log';
import type { SteadySteps } from './logs/steady';
import { steadyTimes, type MeasuredTimes } from './times';
import { isWithin, ratioText } from './trace-labels';
import { counted, sentence, type Sentence } from '../../../core/sentence';
import { append } from '../../../core/records';

/** Mean times of the passes of one stage, predicted and measured. */
interface StageTimesAgainst {
  readonly stage: number;
  readonly forward: PredictedMeasured | null;
  readonly backward: PredictedMeasured | null;
  /** Measured over predicted, both passes together. */
  readonly ratio: number;
}

/** A plan compared with times measured in a run. */
export interface TimesComparison {
  readonly kind: 'times';
  readonly errorPercent: number;
  readonly steady: SteadySteps | null;
  readonly step: PredictedMeasured | null;
  readonly within: boolean | null;
  readonly stages: readonly StageTimesAgainst[];
  readonly straggler: number | null;
  /** The log compared with the plan; null: the times are not from a log. */
  readonly log: LogComparison | null;
}

const stragglerFrom = 1.05;

/** Compares measured times with what the plan chose. Stages that the plan does not have are left out. */
export function compareWithTimes(plan: Plan, times: MeasuredTimes): TimesComparison {
  const chosen = chosenCandidate(plan);
  const { errorPercent } = plan.cost;
  const steady = steadyTimes(times);
  const step = steady === null ? null : { predictedMs: chosen.iterationMs, measuredMs: steady.medianMs };
  const { timeline } = chosen;
  const stages =
    timeline === null ? [] : times.stages.filter(({ stage }) => stage < timeline.stages).map((stage) => stageAgainst(timeline, stage));
  const slowest = stages.reduce<StageTimesAgainst | null>((a, b) => (a === null || b.ratio > a.ratio ? b : a), null);
  const others = lowMedian(stages.filter((stage) => stage !== slowest).map(({ ratio }) => ratio));
  return {
    kind: 'times',
    errorPercent,
    steady,
    step,
    stages,
    within: step === null ? null : isWithin(step, errorPercent),
    straggler: slowest !== null && slowest.ratio > stragglerFrom * Math.max(1, others) ? slowest.stage : null,
    log: times.log === undefined ? null : compareWithLog(plan, times.log),
  };
}

function stageAgainst(timeline: Timeline, { stage, forwardMs, backwardMs }: MeasuredTimes['stages'][number]): StageTimesAgainst {
  const sums = Object.values(part).map(() => ({ ms: 0, passes: 0 }));
  for (let row = timeline.rowStart[stage] ?? 0; row < (timeline.rowStart[stage + 1] ?? 0); row++) {
    const sum = sums[operationPart(timeline.kind[row])];
    if (sum === undefined) continue;
    sum.ms += (timeline.endMs[row] ?? 0) - (timeline.startMs[row] ?? 0);
    sum.passes++;
  }
  const [forwards, backwards, weights] = sums;
  const against = (measuredMs: number | null, ms: number, passes = 0): PredictedMeasured | null =>
    measuredMs === null || passes === 0 ? null : { predictedMs: ms / passes, measuredMs };
  const forward = against(forwardMs, forwards?.ms ?? 0, forwards?.passes);
  const backward = against(backwardMs, (backwards?.ms ?? 0) + (weights?.ms ?? 0), backwards?.passes);
  const total = (key: keyof PredictedMeasured): number => (forward?.[key] ?? 0) + (backward?.[key] ?? 0);
  return { stage, forward, backward, ratio: total('predictedMs') > 0 ? total('measuredMs') / total('predictedMs') : 1 };
}

/** Measured times compared with the plan: a sentence each. */
export function timesSentences({ steady, step, within, errorPercent, straggler, stages, log }: TimesComparison): Sentence[] {
  const sentences: Sentence[] = log === null ? [] : differenceSentences(log);
  if (step !== null && steady !== null) {
    const [measured, predicted, bar] = [formatDuration(step.measuredMs), formatDuration(step.predictedMs), formatNumber(errorPercent)];
    sentences.push(
      within === true
        ? sentence`A step takes ${measured}, ${ratioText(step)} (${predicted}): within the error bar of ${bar} %.`
        : sentence`A step takes ${measured}, ${ratioText(step)} (${predicted}): beyond the error bar of ${bar} %.`,
    );
    if (within === false && (log === null || log.match === 'same'))
      sentences.push(
        sentence`Set calibration.iterationMs to ${Number(step.measuredMs.toPrecision(5))} to plan with the measured step time.`,
      );
    const median = sentence`That is the median of ${counted(steady.counted, 'step')}, half of them between ${formatDuration(steady.lowMs)} and ${formatDuration(steady.highMs)}`;
    sentences.push(
      steady.warmUp === 0 ? sentence`${median}.` : sentence`${median}; the first ${formatCount(steady.warmUp)} left out as warm-up.`,
    );
    if (log !== null) append(sentences, logSentences(log));
  }
  const slow = stages.find(({ stage }) => stage === straggler);
  if (slow !== undefined)
    sentences.push(
      sentence`Stage ${formatCount(slow.stage)} is the straggler: its passes take ${formatNumber(slow.ratio)}x their predicted time.`,
    );
  else if (stages.length > 0) {
    const ratio = formatNumber(lowMedian(stages.map((stage) => stage.ratio)));
    sentences.push(sentence`Passes take ${ratio}x their predicted time, the median of ${counted(stages.length, 'stage')}.`);
  }
  return sentences;
}
