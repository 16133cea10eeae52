import { operationKind, type Schedule } from '../../../core/schedules/schedule';
import type { LayerShape } from '../../../core/domain/profile';
import { peakHeldBytes, type Item } from './handling';
import { maximum } from '../../../core/numbers';

/** Layers of a chunk: this many from `first` on. */
export interface ChunkLayers {
  readonly first: number;
  readonly count: number;
  /** This many of the first keep only their input: backward runs them forward once more. */
  readonly recomputed: number;
}

/** What is run, as far as its size goes. */
export interface RehearsedSizes {
  readonly shape: LayerShape;
  readonly schedule: Schedule;
  /** Of each chunk, in the order of the model. */
  readonly chunks: readonly ChunkLayers[];
  /** Attention keeps its probabilities for backward. */
  readonly keepsProbabilities: boolean;
  /** Of a sequence. */
  readonly tokens: number;
}

/** Everything runs in fp32. */
const elementBytes = 4;
/** Node.js, ONNX Runtime and its sessions, measured: a process that holds nothing yet. */
const processBytes = 224 * 2 ** 20;
/** Weights, their gradients, and those gradients once more while a pass adds to them. */
const weightCopies = 2;
/** A multiplication and an addition for each weight and token; twice as many backward. */
const flopsForward = 2;
/** What one thread computes in a second with matrices of these sizes, cautiously. */
const flopsPerSecond = 2e10;

/** Memory that the process of a stage takes at most, bytes. An estimate, to be compared with free memory. */
export function stageBytes(sizes: RehearsedSizes, stage: number): number {
  const { schedule } = sizes;
  const own = [...schedule.stageOfChunk.keys()].filter((chunk) => schedule.stageOfChunk[chunk] === stage);
  const weights = own.reduce((sum, chunk) => sum + chunkWeights(sizes, chunk), 0);
  const largest = Math.max(maximum(own.map((chunk) => (hasEnd(sizes, chunk) ? endWeights(sizes) : 0))), layerWeights(sizes.shape));
  const reference = weights;
  const held = peakHeldBytes(schedule, stage, (item) => itemBytes(sizes, item));
  return processBytes + elementBytes * (weightCopies * weights + reference + largest) + held + 2 * workingBytes(sizes);
}

/** How long one thread computes for one step of all stages, ms. A guess from the arithmetic, before anything was measured. */
function stepMs(sizes: RehearsedSizes): number {
  const { schedule, chunks, shape } = sizes;
  const layers = chunks.reduce((sum, { count }) => sum + count, 0);
  const again = chunks.reduce((sum, { recomputed }) => sum + recomputed, 0);
  const flops = schedule.units.reduce((sum, { batch, tokens, context }) => {
    const rows = batch * tokens;
    const scores = 2 * shape.heads * shape.headDim * (context + tokens / 2);
    return sum + flopsForward * rows * ((3 * layers + again) * (layerWeights(shape) + scores) + 3 * shape.vocab * shape.hidden);
  }, 0);
  return (1000 * flops) / flopsPerSecond;
}

/** Whether some backward is split in input and weight gradients. */
export function splitsBackward({ kind }: Pick<Schedule, 'kind'>): boolean {
  return kind.some((what) => what === operationKind.backwardWeight);
}

function hasEnd({ chunks }: RehearsedSizes, chunk: number): boolean {
  return chunk === 0 || chunk === chunks.length - 1;
}

function chunkWeights(sizes: RehearsedSizes, chunk: number): number {
  const { chunks, shape } = sizes;
  const ends = (chunk === 0 ? 1 : 0) + (chunk === chunks.length - 1 ? 1 : 0);
  return (chunks[chunk]?.count ?? 0) * layerWeights(shape) + ends * endWeights(sizes);
}

function endWeights({ shape, tokens }: RehearsedSizes): number {
  return (shape.vocab + (shape.learnedPositions ? tokens : 0)) * shape.hidden;
}

function layerWeights({ hidden, heads, kvHeads, headDim, ffn, gatedMlp }: LayerShape): number {
  return hidden * headDim * (2 * heads + 2 * kvHeads) + (gatedMlp ? 3 : 2) * hidden * ffn;
}

function itemBytes(sizes: RehearsedSizes, { what, chunk, unit }: Item): number {
  const { shape, schedule, chunks, keepsProbabilities } = sizes;
  const { batch = 0, tokens = 0, context = 0 } = schedule.units[unit] ?? {};
  const rows = batch * tokens;
  const { count: layers, recomputed } = chunks[chunk] ?? { count: 0, recomputed: 0 };
  const isLast = chunk === chunks.length - 1;
  const wide = (shape.gatedMlp ? 2 : 1) * shape.ffn;
  const query = shape.heads * shape.headDim;
  const keyValues = 2 * shape.kvHeads * shape.headDim;
  const probabilities = keepsProbabilities ? shape.heads * (context + tokens) : 0;
  /** What a layer saves of a token. */
  const layer = 4 * shape.hidden + 2 * query + wide + shape.ffn + probabilities;
  switch (what) {
    case 'activation':
    case 'gradient':
      return elementBytes * rows * shape.hidden;
    case 'keys':
    case 'keyGradient':
      return elementBytes * layers * batch * (context + tokens) * keyValues;
    case 'saved': {
      const kept = (layers - recomputed) * layer + recomputed * shape.hidden;
      return elementBytes * rows * (kept + (isLast ? 2 * shape.hidden + shape.vocab : 0));
    }
    case 'weightInputs':
      return (
        elementBytes *
        rows *
        (recomputed * layer + layers * (2 * shape.hidden + query + keyValues + wide) + (isLast ? shape.vocab : shape.hidden))
      );
  }
}

/** What a pass takes while it runs: the scores of the largest unit, or its logits. */
function workingBytes({ shape, schedule }: RehearsedSizes): number {
  return schedule.units.reduce((most, { batch, tokens, context }) => {
    const rows = batch * tokens;
    return Math.max(most, elementBytes * rows * Math.max(shape.heads * (context + tokens), shape.vocab, 4 * shape.ffn));
  }, 0);
}

/** How often each pass is run by itself for the prediction, the warm-up included. */
const runsOfCell = 6;

/**
 * How long a rehearsal of this many steps takes, ms: the unsliced step, each cell by itself, a step to warm up, the steps. A guess from the
 * arithmetic, before anything was measured.
 * @param processes stages that run at a time.
 */
export function rehearsalMs(sizes: RehearsedSizes, steps: number, processes: number): number {
  const { schedule } = sizes;
  const cells = new Set(schedule.units.map(({ batch, tokens, context }) => `${batch},${tokens},${context}`)).size;
  const cellSteps = (runsOfCell * (splitsBackward(schedule) ? 2 : 1) * cells) / schedule.units.length;
  const oneByOne = 1;
  return stepMs(sizes) * (oneByOne + (1 + steps + cellSteps) / Math.max(1, processes));
}
