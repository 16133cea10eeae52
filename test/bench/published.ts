/**
 * The published algorithm, as a baseline for `npm run bench`: TeraPipe (arXiv 2102.07988) eq. 6 to 8 with both optimisations of section 3.3
 * (t_max ascending until K t_max exceeds the best; t_max only when epsilon above the last one) and section 3.4 (the batch is composed of
 * chunks by a knapsack), on typed arrays.
 */

/**
 * `times[b - 1]`: slices of b sequences; the slice from unit `start` to unit `end` lies at `end * (end - 1) / 2 + start`, so that the inner
 * loop runs along memory.
 */
export interface SliceGrid {
  readonly batch: number;
  readonly units: number;
  readonly times: readonly Float64Array[];
}

export interface ScanOptions {
  /** Number of pipeline cells, K. */
  readonly stages: number;
  readonly epsilonMs: number;
  /** The released code puts the slowest slice of the plan found into the objective where the paper puts t_max. */
  readonly objective: 'threshold' | 'slowest';
}

export interface ScanResult {
  readonly latencyMs: number;
  readonly thresholds: number;
  readonly chunks: readonly { readonly batch: number; readonly lengths: readonly number[] }[];
}

/** Every slice time of a cost, ms. `tokens` must be a multiple of `unit`. */
export function gridOf(
  { batch, tokens, unit }: { readonly batch: number; readonly tokens: number; readonly unit: number },
  cost: (batch: number, tokens: number, context: number) => number,
): SliceGrid {
  const units = tokens / unit;
  const times = Array.from({ length: batch }, (_, index) => {
    const column = new Float64Array((units * (units + 1)) / 2);
    for (let end = 1, at = 0; end <= units; end++)
      for (let start = 0; start < end; start++) column[at++] = cost(index + 1, (end - start) * unit, start * unit);
    return column;
  });
  return { batch, units, times };
}

/** Scans thresholds as published. */
export function epsilonScan({ batch, units, times }: SliceGrid, { stages, epsilonMs, objective }: ScanOptions): ScanResult {
  const thresholds = ascending(times, wholeMs({ batch, units, times }, stages) / stages);
  const totals = new Float64Array(units + 1);
  const from = times.map(() => new Uint32Array(units + 1));
  const chunkTotals = new Float64Array(batch);
  let best = Infinity;
  let chunks: ScanResult['chunks'] = [];
  let last = -Infinity;
  let tried = 0;
  for (const threshold of thresholds) {
    if (stages * threshold > best) break;
    if (threshold < last + epsilonMs) continue;
    last = threshold;
    tried++;
    times.forEach((column, index) => {
      chunkTotals[index] = tokenProgram(column, units, threshold, totals, from[index]!);
    });
    const { total, sizes } = knapsack(batch, chunkTotals);
    if (total === Infinity) continue;
    const slowest = objective === 'threshold' ? threshold : slowestOf(sizes, times, from, units);
    const latency = total + (stages - 1) * slowest;
    if (latency >= best) continue;
    best = latency;
    chunks = sizes.map((size) => ({ batch: size, lengths: lengthsOf(from[size - 1]!, units) }));
  }
  return { latencyMs: best, thresholds: tried, chunks };
}

/** Algorithm 1: eq. 8 for one threshold. */
function tokenProgram(column: Float64Array, units: number, threshold: number, totals: Float64Array, from: Uint32Array): number {
  totals[0] = 0;
  for (let end = 1, at = 0; end <= units; end++) {
    let best = Infinity;
    let bestStart = 0;
    for (let start = 0; start < end; start++, at++) {
      const ms = column[at]!;
      if (ms > threshold) continue;
      const total = totals[start]! + ms;
      if (total < best) {
        best = total;
        bestStart = start;
      }
    }
    totals[end] = best;
    from[end] = bestStart;
  }
  return totals[units]!;
}

function knapsack(batch: number, chunkTotals: Float64Array): { readonly total: number; readonly sizes: readonly number[] } {
  const totals = new Float64Array(batch + 1).fill(Infinity);
  const last = new Uint32Array(batch + 1);
  totals[0] = 0;
  for (let done = 1; done <= batch; done++)
    for (let size = 1; size <= done; size++) {
      const total = totals[done - size]! + chunkTotals[size - 1]!;
      if (total < totals[done]!) {
        totals[done] = total;
        last[done] = size;
      }
    }
  const sizes: number[] = [];
  if (totals[batch]! < Infinity) for (let left = batch; left > 0; left -= last[left]!) sizes.push(last[left]!);
  return { total: totals[batch]!, sizes };
}

function slowestOf(sizes: readonly number[], times: readonly Float64Array[], from: readonly Uint32Array[], units: number): number {
  let slowest = 0;
  for (const size of new Set(sizes))
    for (let end = units; end > 0; end = from[size - 1]![end]!)
      slowest = Math.max(slowest, times[size - 1]![(end * (end - 1)) / 2 + from[size - 1]![end]!]!);
  return slowest;
}

function lengthsOf(from: Uint32Array, units: number): number[] {
  const lengths: number[] = [];
  for (let end = units; end > 0; end = from[end]!) lengths.push(end - from[end]!);
  return lengths.reverse();
}

function wholeMs({ batch, units, times }: SliceGrid, stages: number): number {
  return (batch + stages - 1) * times[0]![(units * (units - 1)) / 2]!;
}

/** Times that a threshold can be, ascending: none above `most` can pass the first optimisation. */
function ascending(times: readonly Float64Array[], most: number): Float64Array {
  const counts = times.map((column) => column.reduce((count, ms) => (ms <= most ? count + 1 : count), 0));
  const values = new Float64Array(counts.reduce((sum, count) => sum + count, 0));
  let count = 0;
  for (const column of times) for (const ms of column) if (ms <= most) values[count++] = ms;
  return values.sort();
}
