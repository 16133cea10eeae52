// Times of an order by arXiv 2401.10241 (zero bubble), section 3, equations 3 to 7: ends, spans and longest paths.
import type { Pipeline } from './pipeline';

/** Times of one order, in columns by step (a position in the orders) and by link (entry `link * microBatches + microBatch`). */
export interface OrderTimes {
  readonly endMs: Float64Array;
  /**
   * From a step's start to the end of the whole, less the start of the stage where that path ends: `start + tail` is the longest span that
   * the step is part of.
   */
  readonly tailMs: Float64Array;
  /** 1 where the link before, 0 where the step before on the same stage, ended last before this step. */
  readonly waitsForLink: Uint8Array;
  readonly microBatch: Int32Array;
  /** Steps in an order in which each comes after what it waits for. */
  readonly sorted: Int32Array;
  readonly linkEndMs: Float64Array;
  readonly linkTailMs: Float64Array;
  readonly linkStep: Int32Array;
  /** From when each stage's span counts. */
  readonly originMs: Float64Array;
  readonly scratch: {
    readonly counts: Int32Array;
    readonly next: Int32Array;
    readonly freeMs: Float64Array;
    readonly awake: Int32Array;
    readonly startMs: Float64Array;
    readonly operationCounts: Int32Array;
  };
}

export function makeTimes(pipeline: Pipeline): OrderTimes {
  const { stages, operationCount, length, links, microBatches } = pipeline;
  const steps = stages * length;
  return {
    endMs: new Float64Array(steps),
    tailMs: new Float64Array(steps),
    waitsForLink: new Uint8Array(steps),
    microBatch: new Int32Array(steps),
    sorted: new Int32Array(steps),
    linkEndMs: new Float64Array(links * microBatches),
    linkTailMs: new Float64Array(links * microBatches),
    linkStep: new Int32Array(links * microBatches),
    originMs: countedFromMs(pipeline),
    scratch: {
      counts: new Int32Array(stages * operationCount),
      next: new Int32Array(stages),
      freeMs: new Float64Array(stages),
      awake: new Int32Array(stages + steps),
      startMs: new Float64Array(length),
      operationCounts: new Int32Array(operationCount),
    },
  };
}

/** From when the span of each stage counts, ms: from its earliest start, or where the makespan is made short from 0. */
export function countedFromMs(pipeline: Pipeline): Float64Array {
  return pipeline.problem.objective === 'makespan' ? new Float64Array(pipeline.stages) : stageOrigins(pipeline);
}

/** When the first micro-batch reaches each stage, ms. */
export function stageOrigins({ stages, operationCount, durationMs, lagMs }: Pipeline): Float64Array {
  const originMs = new Float64Array(stages);
  for (let stage = 1; stage < stages; stage++) {
    originMs[stage] = (originMs[stage - 1] ?? 0) + (durationMs[(stage - 1) * operationCount] ?? 0) + (lagMs[stage] ?? 0);
  }
  return originMs;
}

/**
 * Fills in `times` (all but the tails) for an order whose every step starts as soon as its stage is free and what it needs is ready. Linear
 * in the steps; allocates nothing.
 * @returns longest time from a stage's first start to its last end, ms; `Infinity` when stages wait for each other.
 */
export function timeOrder(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes): number {
  const { stages, microBatches, operationCount, length, links, stageOfLink, operationOfLink, lagMs, linkOfOperation, durationMs } =
    pipeline;
  const { endMs, waitsForLink, microBatch, sorted, linkEndMs, linkStep } = times;
  const { counts, next, freeMs, awake } = times.scratch;
  linkEndMs.fill(-1);
  counts.fill(0);
  next.fill(0);
  freeMs.fill(0);
  let waking = 0;
  for (let stage = stages - 1; stage >= 0; stage--) awake[waking++] = stage;
  let done = 0;
  while (waking > 0) {
    const stage = awake[--waking] ?? 0;
    const base = stage * length;
    let at = next[stage] ?? 0;
    let free = freeMs[stage] ?? 0;
    for (; at < length; at++) {
      const step = base + at;
      const index = stage * operationCount + (orders[step] ?? 0);
      const link = linkOfOperation[index] ?? -1;
      const count = counts[index] ?? 0;
      let waited = 0;
      if (link > 0) {
        const before = (link - 1) * microBatches + count;
        const end = linkEndMs[before] ?? -1;
        if (end < 0) break;
        const ready = end + (lagMs[link] ?? 0);
        if (ready > free) {
          free = ready;
          waited = 1;
        }
      }
      free += durationMs[index] ?? 0;
      endMs[step] = free;
      waitsForLink[step] = waited;
      microBatch[step] = count;
      counts[index] = count + 1;
      sorted[done++] = step;
      if (link < 0) continue;
      linkEndMs[link * microBatches + count] = free;
      linkStep[link * microBatches + count] = step;
      if (link + 1 >= links) continue;
      const other = stageOfLink[link + 1] ?? 0;
      if (other === stage) continue;
      const operation = operationOfLink[link + 1] ?? 0;
      const front = next[other] ?? 0;
      if (front < length && orders[other * length + front] === operation && counts[other * operationCount + operation] === count)
        awake[waking++] = other;
    }
    next[stage] = at;
    freeMs[stage] = free;
  }
  if (done < stages * length) return Infinity;
  return longestMs(pipeline, times);
}

/** Longest span of a stage, ms. */
export function longestMs({ stages, length }: Pipeline, { endMs, originMs }: OrderTimes): number {
  let longest = 0;
  for (let stage = 0; stage < stages; stage++) longest = Math.max(longest, (endMs[(stage + 1) * length - 1] ?? 0) - (originMs[stage] ?? 0));
  return longest;
}

/** Fills in the tails of the order last measured. */
export function timeTails(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes): void {
  const { microBatches, operationCount, length, links, lagMs, linkOfOperation, durationMs } = pipeline;
  const { tailMs, microBatch, sorted, linkTailMs, originMs } = times;
  for (let index = sorted.length - 1; index >= 0; index--) {
    const step = sorted[index] ?? 0;
    const stage = Math.floor(step / length);
    const place = stage * operationCount + (orders[step] ?? 0);
    const link = linkOfOperation[place] ?? -1;
    let tail = step + 1 < (stage + 1) * length ? (tailMs[step + 1] ?? 0) : -(originMs[stage] ?? 0);
    const cell = link * microBatches + (microBatch[step] ?? 0);
    if (link >= 0 && link + 1 < links) tail = Math.max(tail, (linkTailMs[cell + microBatches] ?? 0) + (lagMs[link + 1] ?? 0));
    tail += durationMs[place] ?? 0;
    tailMs[step] = tail;
    if (link >= 0) linkTailMs[cell] = tail;
  }
}

/**
 * Estimate of the span, ms, after operations `from` to `to` (positions in the orders) of a stage have changed places, and nothing else:
 * `times`, tails included, are of the order before, and what other stages wait for is taken to be as it was then.
 */
export function estimateSpanMs(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes, stage: number, from: number, to: number): number {
  const { microBatches, operationCount, length, links, lagMs, linkOfOperation, durationMs } = pipeline;
  const { endMs, tailMs, linkEndMs, linkTailMs, originMs } = times;
  const { startMs, operationCounts } = times.scratch;
  const base = stage * length;
  operationCounts.fill(0);
  for (let step = base; step < from; step++) operationCounts[orders[step] ?? 0] = (operationCounts[orders[step] ?? 0] ?? 0) + 1;
  let free = from > base ? (endMs[from - 1] ?? 0) : 0;
  for (let step = from; step <= to; step++) {
    const operation = orders[step] ?? 0;
    const link = linkOfOperation[stage * operationCount + operation] ?? -1;
    const count = operationCounts[operation] ?? 0;
    operationCounts[operation] = count + 1;
    if (link > 0) free = Math.max(free, (linkEndMs[(link - 1) * microBatches + count] ?? 0) + (lagMs[link] ?? 0));
    startMs[step - base] = free;
    free += durationMs[stage * operationCount + operation] ?? 0;
  }
  let tail = to + 1 < base + length ? (tailMs[to + 1] ?? 0) : -(originMs[stage] ?? 0);
  let estimate = 0;
  for (let step = to; step >= from; step--) {
    const operation = orders[step] ?? 0;
    const link = linkOfOperation[stage * operationCount + operation] ?? -1;
    const count = (operationCounts[operation] ?? 0) - 1;
    operationCounts[operation] = count;
    if (link >= 0 && link + 1 < links) tail = Math.max(tail, (linkTailMs[(link + 1) * microBatches + count] ?? 0) + (lagMs[link + 1] ?? 0));
    tail += durationMs[stage * operationCount + operation] ?? 0;
    estimate = Math.max(estimate, (startMs[step - base] ?? 0) + tail);
  }
  return estimate;
}

/** The longest span, ms, of the order that `times` are of, and the steps of a path as long, the last first, in `path`. */
export function criticalPath(
  pipeline: Pipeline,
  orders: Uint8Array,
  times: OrderTimes,
  path: Int32Array,
): { readonly spanMs: number; readonly steps: number } {
  const { stages, operationCount, length, microBatches, linkOfOperation } = pipeline;
  const { endMs, waitsForLink, microBatch, linkStep, originMs } = times;
  let step = 0;
  let spanMs = -Infinity;
  for (let stage = 0; stage < stages; stage++) {
    const last = (stage + 1) * length - 1;
    const stageMs = (endMs[last] ?? 0) - (originMs[stage] ?? 0);
    if (stageMs <= spanMs) continue;
    spanMs = stageMs;
    step = last;
  }
  let steps = 0;
  for (;;) {
    path[steps++] = step;
    if (waitsForLink[step] === 0) {
      if (step % length === 0) return { spanMs, steps };
      step--;
      continue;
    }
    const link = linkOfOperation[Math.floor(step / length) * operationCount + (orders[step] ?? 0)] ?? 0;
    step = linkStep[(link - 1) * microBatches + (microBatch[step] ?? 0)] ?? 0;
  }
}
