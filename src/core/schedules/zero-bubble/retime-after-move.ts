// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3, step 2: times after a move.
import type { Pipeline } from './pipeline';
import type { OrderTimes } from './order-times';

/** Steps that are to be timed again, first come, first served. */
interface Queue {
  readonly steps: Int32Array;
  readonly queued: Uint8Array;
}

export function makeQueue({ stages, length }: Pipeline): Queue {
  return { steps: new Int32Array(stages * length + 1), queued: new Uint8Array(stages * length) };
}

/**
 * Brings `times`, tails included but `sorted` not, up to date after steps `from` to `to` of one stage have changed places. Times spread
 * from there only as far as they change.
 * @returns how many steps were timed; `Infinity` when there was no end to it (stages wait for each other) or measuring again is quicker:
 * then `times` are of no use.
 */
export function retimeAfterMove(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes, queue: Queue, from: number, to: number): number {
  renumber(pipeline, orders, times, from, to);
  const ends = spread(pipeline, orders, times, queue, from, to, true);
  return ends + (ends === Infinity ? 0 : spread(pipeline, orders, times, queue, from, to, false));
}

/** Micro-batches of steps that have changed places, and steps of their links. */
function renumber(pipeline: Pipeline, orders: Uint8Array, times: OrderTimes, from: number, to: number): void {
  const { operationCount, length, microBatches, linkOfOperation } = pipeline;
  const counts = times.scratch.operationCounts.fill(0);
  const stage = Math.floor(from / length);
  for (let step = stage * length; step <= to; step++) {
    const operation = orders[step] ?? 0;
    const count = counts[operation] ?? 0;
    counts[operation] = count + 1;
    if (step < from) continue;
    times.microBatch[step] = count;
    const link = linkOfOperation[stage * operationCount + operation] ?? -1;
    if (link >= 0) times.linkStep[link * microBatches + count] = step;
  }
}

/**
 * Times again steps `from` to `to`, and what follows from them: `forward` their ends and those after, otherwise their tails and those
 * before.
 */
function spread(
  pipeline: Pipeline,
  orders: Uint8Array,
  times: OrderTimes,
  queue: Queue,
  from: number,
  to: number,
  forward: boolean,
): number {
  const { operationCount, length, links, microBatches, linkOfOperation } = pipeline;
  const { microBatch, linkStep } = times;
  const { steps, queued } = queue;
  const room = steps.length;
  const most = 2 * queued.length;
  let waiting = 0;
  for (let step = from; step <= to; step++) {
    steps[waiting++] = forward ? step : to - (step - from);
    queued[step] = 1;
  }
  let timed = 0;
  for (let head = 0; waiting > 0; head = head + 1 === room ? 0 : head + 1, waiting--) {
    const step = steps[head] ?? 0;
    queued[step] = 0;
    if (timed > most) continue;
    timed++;
    const stage = Math.floor(step / length);
    const place = stage * operationCount + (orders[step] ?? 0);
    const link = linkOfOperation[place] ?? -1;
    const cell = link * microBatches + (microBatch[step] ?? 0);
    if (!(forward ? timeEnd(pipeline, times, step, place, link, cell) : timeTail(pipeline, times, step, place, link, cell))) continue;
    const neighbour = forward ? step + 1 : step - 1;
    if (neighbour >= stage * length && neighbour < (stage + 1) * length && queued[neighbour] === 0) {
      queued[neighbour] = 1;
      steps[(head + waiting++) % room] = neighbour;
    }
    const nextLink = forward ? link + 1 : link - 1;
    if (link < 0 || nextLink < 0 || nextLink >= links) continue;
    const other = linkStep[forward ? cell + microBatches : cell - microBatches] ?? 0;
    if (queued[other] === 0) {
      queued[other] = 1;
      steps[(head + waiting++) % room] = other;
    }
  }
  return timed > most ? Infinity : timed;
}

/** Whether the end of a step has changed. */
function timeEnd(
  { length, microBatches, lagMs, durationMs }: Pipeline,
  times: OrderTimes,
  step: number,
  place: number,
  link: number,
  cell: number,
): boolean {
  const { endMs, waitsForLink, linkEndMs } = times;
  let start = step % length === 0 ? 0 : (endMs[step - 1] ?? 0);
  waitsForLink[step] = 0;
  if (link > 0) {
    const ready = (linkEndMs[cell - microBatches] ?? 0) + (lagMs[link] ?? 0);
    if (ready > start) {
      start = ready;
      waitsForLink[step] = 1;
    }
  }
  const end = start + (durationMs[place] ?? 0);
  const same = end === endMs[step] && (link < 0 || linkEndMs[cell] === end);
  endMs[step] = end;
  if (link >= 0) linkEndMs[cell] = end;
  return !same;
}

/** Whether the tail of a step has changed. */
function timeTail(
  { length, links, operationCount, microBatches, lagMs, durationMs }: Pipeline,
  times: OrderTimes,
  step: number,
  place: number,
  link: number,
  cell: number,
): boolean {
  const { tailMs, linkTailMs, originMs } = times;
  let tail = (step + 1) % length === 0 ? -(originMs[Math.floor(place / operationCount)] ?? 0) : (tailMs[step + 1] ?? 0);
  if (link >= 0 && link + 1 < links) tail = Math.max(tail, (linkTailMs[cell + microBatches] ?? 0) + (lagMs[link + 1] ?? 0));
  tail += durationMs[place] ?? 0;
  const same = tail === tailMs[step] && (link < 0 || linkTailMs[cell] === tail);
  tailMs[step] = tail;
  if (link >= 0) linkTailMs[cell] = tail;
  return !same;
}
