import { formatCount, formatDuration, formatNumber, formatPercent } from '../../../core/format';
import type { PredictedMeasured, TraceComparison, TransferAgainst, PassPlace } from './against-trace';
import { counted, sentence, type Sentence } from '../../../core/sentence';
import { isAsFast } from '../../../core/planner/explain/slower';
import { operationKind, type OperationKind, type Timeline } from '../../../core/schedules/schedule';
import { maximum, minimum } from '../../../core/numbers';

/** Differences under this share of the step are not worth a sentence. */
const worthSaying = 0.02;

/** A trace compared with the plan, what matters most first: a sentence each. */
export function traceSentences(comparison: TraceComparison): Sentence[] {
  if (comparison.equal) return [sentence`Measured and predicted are equal, pass by pass.`, ...whatWasCompared(comparison)];
  return [
    verdict(comparison),
    ...stragglerSentence(comparison),
    ...levelSentence(comparison),
    ...orderSentence(comparison),
    ...partingSentence(comparison),
    ...bubbleSentence(comparison),
    ...transferSentences(comparison),
    ...whatWasCompared(comparison),
  ];
}

/** `4.2 % longer`, `1.2x as long`, `as long`: a measured time compared with the predicted one. */
export function ratioText({ predictedMs, measuredMs }: PredictedMeasured): Sentence {
  const ratio = measuredMs / predictedMs;
  if (!Number.isFinite(ratio) || isAsFast(ratio)) return sentence`as predicted`;
  if (ratio >= 1.5) return sentence`${formatNumber(ratio)}x the predicted`;
  return ratio > 1
    ? sentence`${formatPercent(ratio - 1)} longer than predicted`
    : sentence`${formatPercent(1 - ratio)} shorter than predicted`;
}

/** Whether a measured time lies in the error bar of the predicted one. */
export function isWithin({ predictedMs, measuredMs }: PredictedMeasured, errorPercent: number): boolean {
  return Math.abs(measuredMs - predictedMs) <= (errorPercent / 100) * predictedMs;
}

function verdict({ pipeline, errorPercent, stages, planStages }: TraceComparison): Sentence {
  const [measured, predicted, bar] = [
    formatDuration(pipeline.measuredMs),
    formatDuration(pipeline.predictedMs),
    formatNumber(errorPercent),
  ];
  const taken =
    stages.length === planStages
      ? sentence`The pipeline takes ${measured}`
      : sentence`What the trace shows, ${stageList(stages.map(({ stage }) => stage))}, takes ${measured}`;
  return isWithin(pipeline, errorPercent)
    ? sentence`${taken}, ${ratioText(pipeline)} (${predicted}): within the error bar of ${bar} %.`
    : sentence`${taken}, ${ratioText(pipeline)} (${predicted}): beyond the error bar of ${bar} %.`;
}

function stragglerSentence({ straggler, stages }: TraceComparison): Sentence[] {
  const slow = stages.find(({ stage }) => stage === straggler);
  if (slow === undefined) return [];
  const others = stages.filter(({ stage }) => stage !== straggler).map(({ ratio }) => ratio);
  const [low, high] = [minimum(others), maximum(others)].map((ratio) => formatNumber(ratio)) as [string, string];
  const those = low === high ? `${low}x` : sentence`${low} to ${high}x`;
  return [
    sentence`Stage ${formatCount(slow.stage)} is the straggler: its passes take ${formatNumber(slow.ratio)}x their predicted time, those of the others ${those}.`,
  ];
}

/** Passes and pipeline that differ by about such a factor are not a matter of the machine's speed. */
const otherPasses = 1.8;

/** Where all stages are off alike, it is the machine, and one measured step mends the plan; unless the pipeline as a whole is not. */
function levelSentence({ ratio, straggler, errorPercent, pipeline }: TraceComparison): Sentence[] {
  if (straggler !== null || Math.abs(ratio - 1) * 100 <= errorPercent) return [];
  const whole = pipeline.measuredMs / pipeline.predictedMs;
  if (Math.max(ratio / whole, whole / ratio) > otherPasses)
    return [
      sentence`Passes take ${formatNumber(ratio)}x their predicted time, the pipeline ${formatNumber(whole)}x: set its virtual stages and micro-batch.`,
    ];
  return [sentence`All stages take about ${formatNumber(ratio)}x their predicted time: set calibration.iterationMs to a measured step.`];
}

function orderSentence({ otherOrder, placed: { measured } }: TraceComparison): Sentence[] {
  if (otherOrder === null) return [];
  return [
    sentence`Stage ${formatCount(otherOrder.stage)} runs ${passText(otherOrder.measured, measured)} where the plan has ${passText(otherOrder.predicted, measured)}.`,
  ];
}

function partingSentence({ firstLate, placed: { measured } }: TraceComparison): Sentence[] {
  if (firstLate === null) return [];
  const { stage, measuredMs, predictedMs } = firstLate;
  return [
    sentence`First late pass: ${passText(firstLate, measured)} on stage ${formatCount(stage)} begins ${formatDuration(measuredMs - predictedMs)} after its predicted ${formatDuration(predictedMs)}, beyond the error bar.`,
  ];
}

function bubbleSentence({ bubble, stages }: TraceComparison): Sentence[] {
  if (Math.abs(bubble.measured - bubble.predicted) < worthSaying || stages.length === 0) return [];
  return [sentence`The bubble is ${formatPercent(bubble.measured)}, predicted ${formatPercent(bubble.predicted)}.`];
}

function transferSentences({ transfers, pipeline }: TraceComparison): Sentence[] {
  const early = transfers.filter(({ measuredMs }) => measuredMs < -1e-3);
  const [clocks] = early.toSorted((a, b) => a.measuredMs - b.measuredMs);
  if (clocks !== undefined)
    return [
      sentence`Stage ${formatCount(clocks.to)} begins ${formatDuration(-clocks.measuredMs)} before its input from stage ${formatCount(clocks.from)}: rank clocks differ, or these are host times.`,
    ];
  const lost = ({ measuredMs, predictedMs, waits }: TransferAgainst): number => (measuredMs - predictedMs) * waits;
  const [worst] = transfers.toSorted((a, b) => lost(b) - lost(a));
  if (worst === undefined || lost(worst) < worthSaying * pipeline.measuredMs) return [];
  return [
    sentence`From stage ${formatCount(worst.from)} to ${formatCount(worst.to)}, the dependent pass starts ${formatDuration(worst.measuredMs)} after the one it waits for, predicted ${formatDuration(worst.predictedMs)}.`,
  ];
}

function whatWasCompared({ placed, chosen, candidate, stages, planStages }: TraceComparison): Sentence[] {
  const { steps, step, warmUp, replicas, foreign } = placed;
  const compared = sentence`Compared with step ${formatCount(step + 1)} of ${formatCount(steps)} in the trace, the median`;
  const left =
    warmUp === 1
      ? sentence`${compared}; the first is left out as warm-up.`
      : sentence`${compared}; the first ${formatCount(warmUp)} are left out as warm-up.`;
  return [
    ...(steps > 1 ? [warmUp === 0 ? sentence`${compared}.` : left] : []),
    ...(replicas > 1 ? [sentence`The trace has ${formatCount(replicas)} replicas of the pipeline; the first is compared.`] : []),
    ...(chosen ? [] : [sentence`Compared with ${candidate}, whose order matches the trace, instead of the plan's choice.`]),
    ...(stages.length < planStages ? [sentence`Of ${counted(planStages, 'stage')} the trace shows ${formatCount(stages.length)}.`] : []),
    ...(foreign === 1 ? [sentence`1 pass of the step is not in the plan.`] : []),
    ...(foreign > 1 ? [sentence`${formatCount(foreign)} passes of the step are not in the plan.`] : []),
  ];
}

/** `stage 2`, `stages 0 to 3`, `3 stages`. */
function stageList(stages: readonly number[]): Sentence {
  const [first = 0] = stages;
  if (stages.length === 1) return sentence`stage ${formatCount(first)}`;
  const last = stages.at(-1) ?? first;
  return last - first === stages.length - 1
    ? sentence`stages ${formatCount(first)} to ${formatCount(last)}`
    : sentence`${formatCount(stages.length)} stages`;
}

const kindNames: Readonly<Record<OperationKind, Sentence>> = {
  [operationKind.forward]: sentence`forward`,
  [operationKind.backward]: sentence`backward`,
  [operationKind.backwardInput]: sentence`input backward`,
  [operationKind.backwardWeight]: sentence`weight backward`,
};

/** `forward 3`, `backward 3.1`, `forward 3 of chunk 5`: a pass as it is named in its timeline. */
export function passText(
  { kind, microBatch, slice, chunk }: PassPlace,
  { units, stageOfChunk, stages }: Pick<Timeline, 'units' | 'stageOfChunk' | 'stages'>,
): Sentence {
  const unit = units.some((other) => other.slice > 0) ? `${microBatch}.${slice}` : microBatch;
  return stageOfChunk.length > stages ? sentence`${kindNames[kind]} ${unit} of chunk ${chunk}` : sentence`${kindNames[kind]} ${unit}`;
}
