// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3, step 3: the steady state repeated for more micro-batches.
import type { Pipeline } from './pipeline';
import type { OrderTimes } from './order-times';

/**
 * Longer orders made of one for fewer micro-batches: at a moment of it every stage's next steps, one of each kind, are repeated. Moments
 * are the starts of stage 0's steps; where a stage has no such steps soon, none is made. Memory stays within what the short order holds,
 * since what is repeated gives back what it takes; times are for the caller to measure.
 * @param times of the short order
 */
export function* repeatSteadyState(short: Pipeline, orders: Uint8Array, times: OrderTimes, microBatches: number): Generator<Uint8Array> {
  const { stages, length } = short;
  const after = periodsAfter(short, orders);
  let before = '';
  for (let step = 0; step < length; step++) {
    const from = Array.from({ length: stages }, (_, stage) => after[firstFrom(short, times, stage, stepStart(times, step))] ?? -1);
    const places = from.join();
    if (places === before || from.includes(-1)) continue;
    before = places;
    yield insert(short, orders, from, microBatches);
  }
}

/**
 * For each step (and the end of each stage), the first one at or after it with one operation of each kind in a row from there; -1 for none.
 */
function periodsAfter({ stages, length, operationCount }: Pipeline, orders: Uint8Array): Int32Array {
  const after = new Int32Array(stages * length).fill(-1);
  for (let stage = 0; stage < stages; stage++) {
    let found = -1;
    for (let step = (stage + 1) * length - operationCount; step >= stage * length; step--) {
      let seen = 0;
      for (let at = step; at < step + operationCount; at++) seen |= 1 << (orders[at] ?? 0);
      if (seen === (1 << operationCount) - 1) found = step;
      after[step] = found;
    }
  }
  return after;
}

function stepStart({ endMs }: OrderTimes, step: number): number {
  return step === 0 ? 0 : (endMs[step - 1] ?? 0);
}

/** A stage's first step that ends after a moment, by halving. */
function firstFrom({ length }: Pipeline, { endMs }: OrderTimes, stage: number, momentMs: number): number {
  let low = stage * length;
  let high = low + length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((endMs[middle] ?? 0) > momentMs) high = middle;
    else low = middle + 1;
  }
  return low;
}

function insert(
  { stages, length, operationCount, microBatches }: Pipeline,
  orders: Uint8Array,
  from: readonly number[],
  wanted: number,
): Uint8Array {
  const pieces = Array.from({ length: stages }, (_, stage) => {
    const start = from[stage] ?? 0;
    const period = orders.subarray(start, start + operationCount);
    const more = Array.from({ length: wanted - microBatches }, () => period);
    return [orders.subarray(stage * length, start), ...more, orders.subarray(start, (stage + 1) * length)];
  }).flat();
  const result = new Uint8Array(stages * operationCount * wanted);
  let at = 0;
  for (const piece of pieces) {
    result.set(piece, at);
    at += piece.length;
  }
  return result;
}
