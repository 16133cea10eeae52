import { formatCount, formatDuration, formatNumber, formatPercent, plural } from '../format';
import type { PredictedMeasured, TraceComparison, TransferAgainst } from './against-trace';
import { passText } from './pass-labels';

/** Differences under this share of the step are not worth a sentence. */
const worthSaying = 0.02;

/** What a trace says beside the plan, what matters most first: a sentence each. */
export function traceSentences(comparison: TraceComparison): string[] {
  if (comparison.equal) return ['Measured and predicted are equal, pass by pass.', ...whatWasCompared(comparison)];
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

/** `4.2 % longer`, `1.2x as long`, `as long`: a measured time beside the predicted one. */
export function ratioText({ predictedMs, measuredMs }: PredictedMeasured): string {
  const ratio = measuredMs / predictedMs;
  if (!Number.isFinite(ratio) || Math.abs(ratio - 1) < 0.0005) return 'as predicted';
  if (ratio >= 1.5) return `${formatNumber(ratio)}x the predicted`;
  return `${formatPercent(Math.abs(ratio - 1))} ${ratio > 1 ? 'longer' : 'shorter'} than predicted`;
}

/** Whether a measured time lies in the error bar of the predicted one. */
export function isWithin({ predictedMs, measuredMs }: PredictedMeasured, errorPercent: number): boolean {
  return Math.abs(measuredMs - predictedMs) <= (errorPercent / 100) * predictedMs;
}

function verdict({ pipeline, errorPercent, stages, planStages }: TraceComparison): string {
  const what = stages.length === planStages ? 'The pipeline' : `What the trace shows, ${stageList(stages.map(({ stage }) => stage))},`;
  const bar = isWithin(pipeline, errorPercent) ? 'within' : 'beyond';
  return `${what} takes ${formatDuration(pipeline.measuredMs)}, ${ratioText(pipeline)} (${formatDuration(pipeline.predictedMs)}): ${bar} the error bar of ${formatNumber(errorPercent)} %.`;
}

function stragglerSentence({ straggler, stages }: TraceComparison): string[] {
  const slow = stages.find(({ stage }) => stage === straggler);
  if (slow === undefined) return [];
  const others = stages.filter(({ stage }) => stage !== straggler).map(({ ratio }) => ratio);
  const [low, high] = [Math.min(...others), Math.max(...others)].map((ratio) => formatNumber(ratio)) as [string, string];
  return [
    `Stage ${formatCount(slow.stage)} is the straggler: its passes take ${formatNumber(slow.ratio)}x their predicted time, those of the others ${low === high ? `${low}x` : `${low} to ${high}x`}.`,
  ];
}

/** Passes and pipeline that differ by about such a factor are no matter of the machine's speed. */
const otherPasses = 1.8;

/** Where all stages are off alike, it is the machine, and one measured step mends the plan; unless the pipeline as a whole is not. */
function levelSentence({ ratio, straggler, errorPercent, pipeline }: TraceComparison): string[] {
  if (straggler !== null || Math.abs(ratio - 1) * 100 <= errorPercent) return [];
  const whole = pipeline.measuredMs / pipeline.predictedMs;
  if (Math.max(ratio / whole, whole / ratio) > otherPasses)
    return [
      `Passes take about ${formatNumber(ratio)}x their predicted time, the pipeline ${formatNumber(whole)}x: the trace's are not those of the plan; give the plan the virtual stages and the micro-batch of the run.`,
    ];
  return [
    `All stages take about ${formatNumber(ratio)}x their predicted time: calibrate the plan with the time of one whole step (calibration.iterationMs).`,
  ];
}

function orderSentence({ otherOrder, placed: { measured } }: TraceComparison): string[] {
  if (otherOrder === null) return [];
  const { sliced, several } = shapeOf(measured);
  return [
    `Stage ${formatCount(otherOrder.stage)} runs ${passText(otherOrder.measured, sliced, several)} where the plan has ${passText(otherOrder.predicted, sliced, several)}.`,
  ];
}

function partingSentence({ firstLate, placed: { measured } }: TraceComparison): string[] {
  if (firstLate === null) return [];
  const { sliced, several } = shapeOf(measured);
  const { stage, measuredMs, predictedMs } = firstLate;
  return [
    `They part at ${passText(firstLate, sliced, several)} on stage ${formatCount(stage)}: it begins ${formatDuration(measuredMs - predictedMs)} after its predicted ${formatDuration(predictedMs)}, the first to be later than the error bar allows.`,
  ];
}

function bubbleSentence({ bubble, stages }: TraceComparison): string[] {
  if (Math.abs(bubble.measured - bubble.predicted) < worthSaying || stages.length === 0) return [];
  return [`The bubble is ${formatPercent(bubble.measured)}, predicted ${formatPercent(bubble.predicted)}.`];
}

function transferSentences({ transfers, pipeline }: TraceComparison): string[] {
  const early = transfers.filter(({ measuredMs }) => measuredMs < -1e-3);
  const [clocks] = early.toSorted((a, b) => a.measuredMs - b.measuredMs);
  if (clocks !== undefined)
    return [
      `Stage ${formatCount(clocks.to)} begins ${formatDuration(-clocks.measuredMs)} before stage ${formatCount(clocks.from)} has made what it waits for: the clocks of the ranks differ, or times are those of the host.`,
    ];
  const lost = ({ measuredMs, predictedMs, waits }: TransferAgainst): number => (measuredMs - predictedMs) * waits;
  const [worst] = transfers.toSorted((a, b) => lost(b) - lost(a));
  if (worst === undefined || lost(worst) < worthSaying * pipeline.measuredMs) return [];
  return [
    `From stage ${formatCount(worst.from)} to ${formatCount(worst.to)} it takes ${formatDuration(worst.measuredMs)} from the end of a pass to the start of the one that waits for it, predicted ${formatDuration(worst.predictedMs)}.`,
  ];
}

function whatWasCompared({ placed, chosen, candidate, stages, planStages }: TraceComparison): string[] {
  const { steps, step, warmUp, replicas, foreign } = placed;
  const left = warmUp === 0 ? '' : `; ${warmUp === 1 ? 'the first is' : `the first ${formatCount(warmUp)} are`} left out as warm-up`;
  return [
    ...(steps > 1 ? [`Compared is step ${formatCount(step + 1)} of ${formatCount(steps)} in the trace, the median${left}.`] : []),
    ...(replicas > 1 ? [`The trace has ${formatCount(replicas)} replicas of the pipeline; the first is compared.`] : []),
    ...(chosen ? [] : [`It is laid beside ${candidate}, which runs in its order, not beside what the plan chose.`]),
    ...(stages.length < planStages ? [`Of ${plural(planStages, 'stage')} the trace shows ${formatCount(stages.length)}.`] : []),
    ...(foreign > 0 ? [`${plural(foreign, 'pass', 'passes')} of the step ${foreign === 1 ? 'is' : 'are'} not in the plan.`] : []),
  ];
}

function shapeOf({
  units,
  stageOfChunk,
  stages,
}: {
  readonly units: readonly { readonly slice: number }[];
  readonly stageOfChunk: Uint32Array;
  readonly stages: number;
}) {
  return { sliced: units.some(({ slice }) => slice > 0), several: stageOfChunk.length > stages };
}

/** `stage 2`, `stages 0 to 3`, `3 stages`. */
function stageList(stages: readonly number[]): string {
  const [first = 0] = stages;
  if (stages.length === 1) return `stage ${formatCount(first)}`;
  const last = stages.at(-1) ?? first;
  return last - first === stages.length - 1
    ? `stages ${formatCount(first)} to ${formatCount(last)}`
    : `${formatCount(stages.length)} stages`;
}
