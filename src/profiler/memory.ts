import type { Precision } from '../core/domain/cluster';
import type { Cell, LayerShape } from '../core/domain/profile';
import type { ProfilerJob, TimedPart } from '../protocol/profiler';

export type Direction = 'forward' | 'backward';
export type Limits = ProfilerJob['limits'];

/** The part of free memory that may be counted on. */
export const usableShare = 0.85;

/**
 * Copies of its largest constant, in fp32, that ONNX Runtime has at once while it works it out: 3 more than stay (measured on the CPU with
 * version 1.30).
 */
const passingCopies = 3;

/**
 * Bytes that sessions for cells up to `limits` take before they run, at their creation: weights (and their gradients), and for backward the
 * buffers that stand for saved activations. The latter twice, since a graph that only makes its inputs is timed too. An estimate, to be
 * compared with free memory.
 */
export function sessionBytes(job: ProfilerJob, part: TimedPart, direction: Direction, limits: Limits): number {
  const largest = { batch: limits.batch, tokens: limits.tokens, context: limits.sequence - limits.tokens };
  const element = precisionBytes(job.precision);
  const backward = direction === 'backward';
  const weights = weightElements(job.shape, part) * (element + (backward ? gradientBytes(job) : 0));
  const probabilities = backward && keepsScores(job, part) ? scoreElements(job.shape, largest) : 0;
  const passing = passingCopies * Math.max(largestWeightElements(job.shape, part), probabilities) * 4;
  return weights + 2 * savedElements(job, part, direction, largest) * element + passing;
}

/**
 * Bytes that a run of the cell needs on top of its session. An estimate: on the CPU, 10 % above what GPT-2 small takes at 2048 tokens, 40 %
 * above at 1024.
 */
export function runBytes(job: ProfilerJob, part: TimedPart, direction: Direction, cell: Cell): number {
  const rows = cell.batch * cell.tokens;
  const element = precisionBytes(job.precision);
  const results = direction === 'backward' ? weightElements(job.shape, part) * gradientBytes(job) : 0;
  if (part === 'head')
    return (direction === 'forward' ? 2.2 : 2.4) * rows * job.shape.vocab * 4 + 4 * rows * job.shape.hidden * element + results;
  if (part === 'embedding') return 4 * rows * job.shape.hidden * 4 + results;
  const copies = direction === 'forward' && job.attention === 'fused' ? 1 : 3;
  return (
    copies * (rows * rowElements(job.shape) + scoreElements(job.shape, cell)) * element +
    cacheElements(job.shape, cell) * 2 * element +
    results
  );
}

function savedElements(job: ProfilerJob, part: TimedPart, direction: Direction, cell: Cell): number {
  const rows = cell.batch * cell.tokens;
  if (part === 'embedding' || part === 'head') return rows * job.shape.hidden * 2;
  const layers = part === 'layers2' ? 2 : 1;
  const cache = cacheElements(job.shape, cell);
  if (direction === 'forward') return rows * job.shape.hidden + layers * cache;
  const scores = keepsScores(job, part) ? scoreElements(job.shape, cell) : 0;
  return layers * (rows * rowElements(job.shape) + cache + scores);
}

/** Elements that one row has in all activations of a layer together. */
function rowElements({ hidden, heads, kvHeads, headDim, ffn, gatedMlp, experts }: LayerShape): number {
  return 5 * hidden + (2 * heads + 2 * kvHeads) * headDim + (gatedMlp ? 3 : 2) * ffn * (experts?.active ?? 1);
}

/** Attention probabilities. */
function scoreElements({ heads }: LayerShape, { batch, tokens, context }: Cell): number {
  return batch * heads * tokens * (context + tokens);
}

/** Keys and values of the whole prefix. */
function cacheElements({ kvHeads, headDim }: LayerShape, { batch, tokens, context }: Cell): number {
  return 2 * batch * kvHeads * headDim * (context + tokens);
}

function weightElements({ hidden, heads, kvHeads, headDim, ffn, gatedMlp, experts, vocab }: LayerShape, part: TimedPart): number {
  if (part === 'embedding' || part === 'head') return vocab * hidden;
  const attention = hidden * (2 * heads + 2 * kvHeads) * headDim;
  const mlp = (gatedMlp ? 3 : 2) * hidden * ffn * (experts?.count ?? 1);
  return (part === 'layers2' ? 2 : 1) * (attention + mlp);
}

/** Elements of the largest single weight. */
function largestWeightElements({ hidden, heads, kvHeads, headDim, ffn, experts, vocab }: LayerShape, part: TimedPart): number {
  if (part === 'embedding' || part === 'head') return vocab * hidden;
  return hidden * Math.max((heads + 2 * kvHeads) * headDim, ffn * (experts?.count ?? 1));
}

/** Backward of plain attention is given the probabilities of the forward pass. */
function keepsScores({ attention }: ProfilerJob, part: TimedPart): boolean {
  return attention === 'plain' && (part === 'layer' || part === 'layers2');
}

/** Bytes of one element of a weight gradient. */
function gradientBytes({ precision, gradAccumulationFp32 }: ProfilerJob): number {
  return gradAccumulationFp32 ? 4 : precisionBytes(precision);
}

function precisionBytes(precision: Precision): number {
  return precision === 'fp32' ? 4 : 2;
}

/** What went wrong, by the words of ONNX Runtime and the drivers below it. `lost`: the device will run nothing any more. */
export function failureKind(text: string): 'out-of-memory' | 'lost' | 'failed' {
  if (
    /CUDA (failure|error) (4|46|700|702|709|715|716|719|999)\b|device (was |is )?(lost|removed|hung)|DEVICE_LOST|887A000[567]/i.test(text)
  )
    return 'lost';
  const memory =
    /failed to allocate|out of memory|out_of_(device|host)_memory|bad_alloc|CUDA (failure|error) 2\b|ALLOC_FAILED|8007000E|allocation failed/i;
  return memory.test(text) ? 'out-of-memory' : 'failed';
}
