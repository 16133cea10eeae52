// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3, step 2: the order improved by simulated annealing.
import { throwIfCancelled } from '../../errors';
import { fits, type Pipeline } from './pipeline';
import { criticalPath, longestMs, estimateSpanMs, timeOrder, timeTails, makeTimes, type OrderTimes } from './order-times';
import { makeQueue, retimeAfterMove } from './retime-after-move';

/** An order and its longest stage span. */
export interface TimedOrder {
  readonly orders: Uint8Array;
  readonly spanMs: number;
}

interface Effort {
  /** Steps that may be timed. */
  readonly work: number;
  /** A span that is good enough to stop at. */
  readonly enoughMs: number;
  /** How much longer a move may make the span at the start of the search; less and less later. */
  readonly toleranceMs: number;
  readonly seed: number;
}

/** Share of the work after which a search that has found nothing better gives up. */
const patience = 0.4;

/** Moves between two polls of the signal: about a millisecond. */
const movesBetweenPolls = 256;

/**
 * Moves single steps of a longest path within their stage, and keeps what makes the longest span no longer, at first also what makes it a
 * little longer (simulated annealing on the neighbourhood of job-shop scheduling). A move is timed only when its estimate promises
 * something. The same for the same arguments.
 * @throws CancelledError.
 */
export function anneal(pipeline: Pipeline, start: TimedOrder, { work, enoughMs, toleranceMs, seed }: Effort): TimedOrder {
  const { stages, length, operationCount } = pipeline;
  const orders = start.orders.slice();
  const counts = new Int32Array(operationCount);
  const path = new Int32Array(stages * length);
  const random = createRandom(seed);
  const times = makeTimes(pipeline);
  const queue = makeQueue(pipeline);
  measureAll(pipeline, orders, times);
  let { steps, spanMs } = criticalPath(pipeline, orders, times, path);
  let best = start;
  let left = work;
  let until = work - patience * work;
  for (let moves = 0; left > until && best.spanMs > enoughMs; moves++) {
    if (moves % movesBetweenPolls === 0) throwIfCancelled(pipeline.problem.signal);
    const step = path[Math.floor(random() * steps)] ?? 0;
    const stage = Math.floor(step / length);
    const to = step + distance(random, length);
    // What a look at a candidate costs next to timing one step.
    left -= 20;
    if (to < stage * length || to >= (stage + 1) * length || (orders[to] === orders[step] && Math.abs(to - step) === 1)) continue;
    const allowedMs = spanMs - toleranceMs * (left / work) * Math.log(random() + 1e-12);
    const low = Math.min(step, to);
    const high = Math.max(step, to);
    moveStep(orders, step, to);
    left -= high - low;
    if (estimateSpanMs(pipeline, orders, times, stage, low, high) > allowedMs || !fits(pipeline, orders, stage, counts)) {
      moveStep(orders, to, step);
      continue;
    }
    const timed = retimeAfterMove(pipeline, orders, times, queue, low, high);
    const runs = timed < Infinity || measureAll(pipeline, orders, times);
    left -= Math.min(timed, 4 * stages * length);
    if (!runs || longestMs(pipeline, times) > allowedMs) {
      moveStep(orders, to, step);
      measureAll(pipeline, orders, times);
      left -= 2 * stages * length;
    }
    ({ steps, spanMs } = criticalPath(pipeline, orders, times, path));
    left -= steps;
    if (spanMs >= best.spanMs) continue;
    best = { orders: orders.slice(), spanMs };
    until = Math.max(0, left - patience * work);
  }
  return best;
}

/** Whether the order runs. */
function measureAll(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes): boolean {
  if (timeOrder(pipeline, orders, times) === Infinity) return false;
  timeTails(pipeline, orders, times);
  return true;
}

/** Mostly a few places, sometimes anywhere in the stage's order. */
function distance(random: () => number, length: number): number {
  const reach = random() < 0.5 ? 8 * random() : length * random() ** 2;
  const places = 1 + Math.floor(reach * random());
  return random() < 0.5 ? -places : places;
}

function moveStep(orders: Uint8Array, from: number, to: number): void {
  const operation = orders[from] ?? 0;
  if (from < to) orders.copyWithin(from, from + 1, to + 1);
  else orders.copyWithin(to + 1, to, from);
  orders[to] = operation;
}

/** Numbers from 0 to below 1, the same for the same seed (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
