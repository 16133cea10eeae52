import type { Precision } from '../core/cluster/spec';
import type { Cell } from '../core/profile/profile';
import type { LayerShape } from '../core/profile/shape';
import type { ProfilerJob, TimedPart } from '../protocol/profiler';

export type Direction = 'forward' | 'backward';
export type Limits = ProfilerJob['limits'];

/** What of a free memory may be counted on. */
export const usableShare = 0.85;

/**
 * Bytes that sessions for cells up to `limits` hold before they run: weights (and their gradients), and for backward the buffers that stand for saved activations.
 * Twice those, since a graph that only makes its inputs is timed beside it. An estimate from above, to be compared with free memory.
 */
export function sessionBytes(job: ProfilerJob, part: TimedPart, direction: Direction, limits: Limits): number {
  const largest = { batch: limits.batch, tokens: limits.tokens, context: limits.sequence - limits.tokens };
  const element = bytesOf(job.precision);
  const backward = direction === 'backward';
  const weights = weightElements(job.shape, part) * (element + (backward ? (job.fp32Gradients ? 4 : element) : 0));
  const buffers = savedElements(job, part, direction, largest) * element;
  // Constants are worked out in fp32 when a session is created, one at a time: the largest is there twice.
  return weights + 2 * buffers;
}

/** Bytes that a run of the cell needs on top of its session. An estimate from above. */
export function runBytes(job: ProfilerJob, part: TimedPart, direction: Direction, cell: Cell): number {
  const rows = cell.batch * cell.tokens;
  const element = bytesOf(job.precision);
  if (part === 'head') return (direction === 'forward' ? 2 : 4) * rows * job.shape.vocab * 4 + 4 * rows * job.shape.hidden * element;
  if (part === 'embedding') return 4 * rows * job.shape.hidden * 4 + (direction === 'backward' ? weightElements(job.shape, part) * 4 : 0);
  const copies = direction === 'forward' ? 3 : 4;
  const results = direction === 'backward' ? weightElements(job.shape, part) * (job.fp32Gradients ? 4 : element) : 0;
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
  const scores = job.attention === 'plain' ? scoreElements(job.shape, cell) : 0;
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

function bytesOf(precision: Precision): number {
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
