import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatRate } from '../../../core/format';
import type { RequestDifference } from './request-diff';
import type { PartDifference, PlanComparison, PlanOutcome } from './plans';
import { joinClauses, counted, listOf, sentence, type Sentence, type Value } from '../../../core/sentence';
import { isAsFast, worthSaying } from '../../../core/planner/explain/slower';
import { own } from '../../../core/records';

/** Peaks this close are alike. */
const sameMemory = 0.02;

/** The differences of two plans, what matters most first: a sentence each. */
export function planSentences(comparison: PlanComparison): Sentence[] {
  const { a, b, requestDiff } = comparison;
  if (requestDiff.length === 0 && a.iterationMs === b.iterationMs && a.peakBytes === b.peakBytes)
    return [sentence`${a.name} and ${b.name} are the same plan: ${formatDuration(a.iterationMs)} a step.`];
  return [
    ...gpuSentence(comparison),
    ...batchSentence(comparison),
    speedSentence(comparison),
    ...fitSentences(comparison),
    ...modelSentence(comparison),
  ];
}

function speedSentence(comparison: PlanComparison): Sentence {
  const { a, b, speedup, tie, errorPercent } = comparison;
  const times = isSameWork(comparison)
    ? sentence`${formatDuration(b.iterationMs)} compared with ${formatDuration(a.iterationMs)} per step`
    : sentence`${formatRate(b.tokensPerSecond)} compared with ${formatRate(a.tokensPerSecond)} tokens/s`;
  const why = whyClause(comparison);
  const because = (result: Sentence): Sentence => (why === null ? sentence`${result}.` : sentence`${result}: ${why}.`);
  if (isAsFast(speedup)) return because(sentence`Within error: ${b.name} is as fast as ${a.name} (${times})`);
  const factor = speedup >= 1 ? speedup : 1 / speedup;
  const amount = factor < 1.1 ? formatPercent(factor - 1) : `${formatNumber(factor)}x`;
  const apart = speedup > 1 ? sentence`${amount} faster` : sentence`${amount} slower`;
  return because(
    tie
      ? sentence`Within error: ${b.name} is predicted ${apart} (${times}), within the error bar of ${formatNumber(errorPercent)} %`
      : sentence`${b.name} is ${apart} (${times})`,
  );
}

/** `310 ms less bubble, since 16 slices instead of 1`, and what goes the other way; null where no part differs. */
function whyClause(comparison: PlanComparison): Value | null {
  const { a, b, parts, speedup } = comparison;
  if (!isSameWork(comparison)) return null;
  const least = worthSaying * Math.max(a.iterationMs, b.iterationMs);
  const sign = speedup >= 1 ? -1 : 1;
  const differences = parts.filter(({ aMs, bMs }) => Math.abs(bMs - aMs) >= least);
  const along = differences.filter(({ aMs, bMs }) => sign * (bMs - aMs) > 0).sort((x, y) => sign * (y.bMs - y.aMs - (x.bMs - x.aMs)));
  const against = differences.filter(({ aMs, bMs }) => sign * (bMs - aMs) < 0).sort((x, y) => sign * (x.bMs - x.aMs - (y.bMs - y.aMs)));
  const [first, ...more] = along.slice(0, 2);
  if (first === undefined) return null;
  const cause = differenceCause(first, comparison.requestDiff);
  const main = cause === null ? partText(first) : sentence`${partText(first)}, since ${cause}`;
  const texts = [main, ...more.map(partText)];
  return joinClauses([...(cause === null ? [listOf(texts)] : texts), ...against.slice(0, 1).map(partText)]);
}

function partText({ name, aMs, bMs }: PartDifference): Sentence {
  const ms = formatDuration(Math.abs(bMs - aMs));
  return bMs > aMs ? sentence`${ms} more ${name}` : sentence`${ms} less ${name}`;
}

/** What is asked for that changes a part of the step, likeliest first: `+` where more of it makes the part longer, `-` shorter. */
const causes: Readonly<Record<PartDifference['part'], readonly string[]>> = {
  bubble: ['-slices', 'schedule', '-microBatches', '-chunksPerStage', '+layout.pipeline', '+training.microBatch', '+layout.data'],
  recompute: ['training.recompute', 'training.recomputeLayers', 'training.recomputeGroup', 'training.recomputeModules'],
  exchange: ['+layout.tensor', '+layout.context', '+layout.expert', 'training.contextParallelComm', 'training.sequenceParallel', 'slices'],
  offload: ['training.activationOffloadLayers', 'cluster.links.hostGBps', 'training.microBatch'],
  send: ['layout.pipeline', 'slices', 'microBatches', 'chunksPerStage'],
  gradientExchange: ['+layout.data', 'training.zeroStage', '-layout.tensor', '-layout.pipeline'],
  optimizer: [
    'training.offloadOptimizer',
    'training.optimizer',
    'training.zeroStage',
    '-layout.data',
    '-layout.tensor',
    '-layout.pipeline',
  ],
  math: [
    'cluster.gpu',
    'training.precision',
    'cluster.gpu.gemmEfficiency',
    '-layout.pipeline',
    '-layout.tensor',
    '-layout.data',
    'training.attention',
  ],
  memory: ['cluster.gpu', 'training.attention', '-layout.tensor', '-layout.pipeline', '+slices', '-training.microBatch'],
  issue: ['+slices', '-training.microBatch', '+microBatches', '-layout.pipeline', 'cost.issueFloorUs'],
  layers: ['cost.profile', 'layout.pipeline', 'layout.tensor', 'slices', 'training.microBatch'],
};

/** What a plan has of what is counted: `it has 16 slices a sequence, not 1`. */
const countTexts: Readonly<Record<string, (count: number, before: number) => Sentence>> = {
  slices: (count, before) => sentence`it has ${counted(count, 'slice', 'slices', String)} a sequence, not ${before}`,
  microBatches: (count, before) => sentence`it has ${counted(count, 'micro-batch', 'micro-batches', String)} a replica, not ${before}`,
  chunksPerStage: (count, before) => sentence`it has ${counted(count, 'chunk', 'chunks', String)} of layers per stage, not ${before}`,
  'layout.pipeline': (count, before) => sentence`it has ${counted(count, 'stage', 'stages', String)}, not ${before}`,
  'layout.data': (count, before) => sentence`it has ${counted(count, 'replica', 'replicas', String)}, not ${before}`,
};

function differenceCause({ part, aMs, bMs }: PartDifference, requestDiff: readonly RequestDifference[]): Sentence | null {
  const found = causes[part]
    .map((cause) => {
      const key = cause.replace(/^[+-]/, '');
      const sign = cause.startsWith('+') ? 1 : cause.startsWith('-') ? -1 : 0;
      const difference = requestDiff.find((other) => other.key === key);
      const isBackwards = difference !== undefined && sign * (Number(difference.b) - Number(difference.a)) * (bMs - aMs) < 0;
      return isBackwards ? undefined : difference;
    })
    .find((difference) => difference !== undefined);
  if (found === undefined) return null;
  const counts = own(countTexts, found.key);
  return counts === undefined ? sentence`${found.key} is ${found.b}, not ${found.a}` : counts(Number(found.b), Number(found.a));
}

function fitSentences({ a, b }: PlanComparison): Sentence[] {
  const bytes = b.peakBytes - a.peakBytes;
  const where = ({ peakBytes, peakStage }: PlanOutcome): Sentence => sentence`${formatBytes(peakBytes)} on stage ${formatCount(peakStage)}`;
  const amount = formatBytes(Math.abs(bytes));
  const more = bytes > 0 ? sentence`${b.name} needs ${amount} more memory` : sentence`${b.name} needs ${amount} less memory`;
  const difference = Math.abs(bytes) < sameMemory * a.peakBytes ? [] : [sentence`${more}: ${where(b)}, ${a.name} ${where(a)}.`];
  if (a.fits && b.fits) return difference;
  return [...difference, a.fits === b.fits ? sentence`Neither fits the GPU.` : sentence`${(a.fits ? b : a).name} does not fit the GPU.`];
}

/** Steps that are not the same work are not times to compare: first how much each is. */
function batchSentence({ a, b }: PlanComparison): Sentence[] {
  return a.tokensPerStep === b.tokensPerStep
    ? []
    : [
        sentence`A step of ${b.name} has ${formatCount(b.tokensPerStep)} tokens, one of ${a.name} ${formatCount(a.tokensPerStep)}; tokens per second are compared.`,
      ];
}

function modelSentence({ requestDiff }: PlanComparison): Sentence[] {
  const model = requestDiff.filter(({ key }) => key.startsWith('model.')).map(({ key }) => key.slice('model.'.length));
  return model.length === 0
    ? []
    : [sentence`The models differ (${model.slice(0, 4).join(', ')}${model.length > 4 ? ', …' : ''}): tokens are not the same work.`];
}

function gpuSentence({ a, b }: PlanComparison): Sentence[] {
  if (a.gpus === b.gpus) return [];
  const perGpu = (plan: PlanOutcome): number => plan.tokensPerSecond / plan.gpus;
  return [
    sentence`${b.name} gives ${formatNumber(perGpu(b) / perGpu(a))}x the tokens/s per GPU, on ${formatCount(b.gpus)} GPUs instead of ${formatCount(a.gpus)}.`,
  ];
}

function isSameWork({ a, b }: PlanComparison): boolean {
  return a.tokensPerStep === b.tokensPerStep;
}
