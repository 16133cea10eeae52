/** Sizes that the estimate takes: batch of one replica, tokens, hidden size, heads, tensor-parallel GPUs, layers of a stage. */
interface ShardSizes {
  readonly batch: number;
  readonly tokens: number;
  readonly hidden: number;
  readonly heads: number;
  readonly tensor: number;
  readonly layers: number;
}

/** TeraPipe's evaluation skips a setting that its own estimate puts above this, GiB; twice that with checkpointed gradients. */
export const skippedAboveGiB = 14;

/** What TeraPipe's `memory_model.py` (at 1a17aa26) estimates for a GPU, GiB: all sequences in flight, the attention matrix stored. */
export function estimatedPeakGiB({ batch, tokens, hidden, heads, tensor, layers }: ShardSizes): number {
  const tensorBytes = 2 * batch * tokens * hidden;
  const scores = batch * heads * tokens ** 2;
  const activations = tensorBytes * (4 + 9 / tensor) + (6 * scores) / tensor;
  const square = hidden ** 2;
  const parameters = 4 * hidden + (3 * (square + hidden) + square + hidden + 4 * (square + hidden) + 4 * square + hidden) / tensor;
  return (2 * tensorBytes + layers * (14 * parameters + Math.max(activations, 4 * parameters))) / 2 ** 30;
}
