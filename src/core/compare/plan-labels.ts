import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent } from '../format';
import type { RequestDifference } from './request-diff';
import type { PartDifference, PlanComparison, PlanOutcome } from './plans';

/** Parts that differ by less than this share of the longer step are not worth a word. */
const worthSaying = 0.005;
/** Peaks this close are alike. */
const sameMemory = 0.02;

/** What two plans come to beside each other, what matters most first: a sentence each. */
export function planSentences(comparison: PlanComparison): string[] {
  const { a, b, requestDiff } = comparison;
  if (requestDiff.length === 0 && a.iterationMs === b.iterationMs && a.peakBytes === b.peakBytes)
    return [`${a.name} and ${b.name} are the same plan: ${formatDuration(a.iterationMs)} a step.`];
  return [speedSentence(comparison), ...fitSentences(comparison), ...workSentences(comparison), ...gpuSentence(comparison)];
}

function speedSentence(comparison: PlanComparison): string {
  const { a, b, speedup, tie, errorPercent } = comparison;
  const times = isSameWork(comparison)
    ? `${formatDuration(b.iterationMs)} against ${formatDuration(a.iterationMs)} a step`
    : `${formatCount(b.tokensPerSecond)} against ${formatCount(a.tokensPerSecond)} tokens/s`;
  const reason = whyClause(comparison);
  if (Math.abs(speedup - 1) < 0.0005) return `Within error: ${b.name} is as fast as ${a.name} (${times})${reason}.`;
  const factor = speedup >= 1 ? speedup : 1 / speedup;
  const apart = `${factor < 1.1 ? formatPercent(factor - 1) : `${formatNumber(factor)}x`} ${speedup > 1 ? 'faster' : 'slower'}`;
  return tie
    ? `Within error: ${b.name} is predicted ${apart} (${times}), within the error bar of ${formatNumber(errorPercent)} %${reason}.`
    : `${b.name} is ${apart} (${times})${reason}.`;
}

/** `: 310 ms less bubble, since 16 slices instead of 1`, and what goes the other way. */
function whyClause(comparison: PlanComparison): string {
  const { a, b, parts, speedup } = comparison;
  if (!isSameWork(comparison)) return '';
  const least = worthSaying * Math.max(a.iterationMs, b.iterationMs);
  const sign = speedup >= 1 ? -1 : 1;
  const differences = parts.filter(({ aMs, bMs }) => Math.abs(bMs - aMs) >= least);
  const along = differences.filter(({ aMs, bMs }) => sign * (bMs - aMs) > 0).sort((x, y) => sign * (y.bMs - y.aMs - (x.bMs - x.aMs)));
  const against = differences.filter(({ aMs, bMs }) => sign * (bMs - aMs) < 0).sort((x, y) => sign * (x.bMs - x.aMs - (y.bMs - y.aMs)));
  const [first, ...more] = along.slice(0, 2);
  if (first === undefined) return '';
  const cause = causeOf(first, comparison.requestDiff);
  const rest = more.map((part) => `, ${partText(part)}`).join('');
  const other = against.slice(0, 1).map((part) => `; ${partText(part)}`).join(''); // prettier-ignore
  return `: ${partText(first)}${cause === null ? '' : `, since ${cause}`}${rest}${other}`;
}

function partText({ name, aMs, bMs }: PartDifference): string {
  return `${formatDuration(Math.abs(bMs - aMs))} ${bMs > aMs ? 'more' : 'less'} ${name}`;
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

/** What is counted, one of it and what follows: `1 slice a sequence`. */
const keyNames: Readonly<Record<string, readonly [one: string, many: string, of: string]>> = {
  slices: ['slice', 'slices', ' a sequence'],
  microBatches: ['chunk', 'chunks', ' of the batch'],
  chunksPerStage: ['chunk', 'chunks', ' of layers per stage'],
  'layout.pipeline': ['stage', 'stages', ''],
  'layout.data': ['replica', 'replicas', ''],
};

function causeOf({ part, aMs, bMs }: PartDifference, requestDiff: readonly RequestDifference[]): string | null {
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
  const name = keyNames[found.key];
  if (name !== undefined) return `it has ${found.b} ${found.b === '1' ? name[0] : name[1]}${name[2]}, not ${found.a}`;
  return `${found.key} is ${found.b}, not ${found.a}`;
}

function fitSentences({ a, b }: PlanComparison): string[] {
  const bytes = b.peakBytes - a.peakBytes;
  const where = `${formatBytes(b.peakBytes)} on stage ${formatCount(b.peakStage)}`;
  const difference =
    Math.abs(bytes) < sameMemory * a.peakBytes
      ? []
      : [
          `${b.name} needs ${formatBytes(Math.abs(bytes))} ${bytes > 0 ? 'more' : 'less'} memory: ${where}, ${a.name} ${formatBytes(a.peakBytes)} on stage ${formatCount(a.peakStage)}.`,
        ];
  if (a.fits && b.fits) return difference;
  return [...difference, a.fits === b.fits ? 'Neither fits the GPU.' : `${(a.fits ? b : a).name} does not fit the GPU.`];
}

function workSentences({ requestDiff, a, b }: PlanComparison): string[] {
  const model = requestDiff.filter(({ key }) => key.startsWith('model.')).map(({ key }) => key.slice('model.'.length));
  return [
    ...(model.length > 0
      ? [`The models differ (${model.slice(0, 4).join(', ')}${model.length > 4 ? ', …' : ''}): tokens are not the same work.`]
      : []),
    ...(a.tokensPerStep === b.tokensPerStep
      ? []
      : [
          `A step of ${b.name} has ${formatCount(b.tokensPerStep)} tokens, one of ${a.name} ${formatCount(a.tokensPerStep)}; compared are tokens per second.`,
        ]),
  ];
}

function gpuSentence({ a, b }: PlanComparison): string[] {
  if (a.gpus === b.gpus) return [];
  const perGpu = (plan: PlanOutcome): number => plan.tokensPerSecond / plan.gpus;
  return [
    `${b.name} uses ${formatCount(b.gpus)} GPUs, ${a.name} ${formatCount(a.gpus)}: ${formatNumber(perGpu(b) / perGpu(a))}x the tokens per GPU.`,
  ];
}

function isSameWork({ a, b }: PlanComparison): boolean {
  return a.tokensPerStep === b.tokensPerStep;
}
