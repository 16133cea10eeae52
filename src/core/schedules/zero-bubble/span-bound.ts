// Lower bound on the span that arXiv 2401.10241 (zero bubble), section 3, minimises.
import { countedFromMs, stageOrigins } from './order-times';
import type { Pipeline } from './pipeline';
import { maximum, minimum } from '../../numbers';

/**
 * docs/model/schedules.md, Planned orders. A time, ms, that the longest stage span of no order can go below, whatever the order:
 * - a stage has its own work to do;
 * - before its first input gradient (in a V, before the first forward of its second chunk) a stage can run no more forwards than the memory
 *   limit lets it hold;
 * - what a micro-batch holds on a stage, for as long as it must at the least, is a share of the limit times the span;
 * - when a stage has run its last input gradient, no more weight gradients can be left than the limit lets it hold, and that gradient still
 *   has to go up to each stage before;
 * - between its last forward and that one's input gradient a stage with one chunk can have no more to do than the limit lets it hold.
 */
export function spanBoundMs(pipeline: Pipeline): number {
  const { stages, slots, microBatches, operationCount, links, lagMs, linkOfOperation, durationMs, memory, limit } = pipeline;
  const originMs = stageOrigins(pipeline);
  const fromMs = countedFromMs(pipeline);
  const cost = (stage: number, operation: number): number => durationMs[stage * operationCount + operation] ?? 0;
  const workMs = (stage: number): number => {
    let perMicroBatch = 0;
    for (let operation = 0; operation < operationCount; operation++) perMicroBatch += cost(stage, operation);
    return microBatches * perMicroBatch;
  };
  /** When the first micro-batch can have reached each link. */
  const reachedMs = new Float64Array(links);
  for (let link = 1; link < links; link++) reachedMs[link] = (reachedMs[link - 1] ?? 0) + passMs(link - 1) + (lagMs[link] ?? 0);
  let bound = 0;
  for (let stage = 0; stage < stages; stage++) {
    const work = workMs(stage);
    const origin = originMs[stage] ?? 0;
    const from = fromMs[stage] ?? 0;
    const firstReturn = linkOfOperation[stage * operationCount + 1] ?? 0;
    const { room, ahead, weightsLeftMs } = holding(stage);
    const waitsMs = ahead < microBatches ? lastReturnWaitsMs(stage, room) : 0;
    bound = Math.max(bound, origin - from + work, (reachedMs[firstReturn] ?? 0) - from + work - ahead * cost(stage, 0) + waitsMs);
    let held = 0;
    for (let slot = 0; slot < slots; slot++) {
      const link = linkOfOperation[stage * operationCount + slot] ?? 0;
      const back = links - 1 - link;
      held +=
        taken(stage, slot) * ((reachedMs[back] ?? 0) + passMs(back) - (reachedMs[link] ?? 0)) +
        kept(stage, slot) * cost(stage, 2 * slots + slot);
    }
    bound = Math.max(bound, room > 0 ? (microBatches * held) / room : 0);
    let lastMs = origin + work - weightsLeftMs;
    for (let before = stage; before >= 0; before--) {
      const lastWeightMs = minimum(Array.from({ length: slots }, (_, slot) => cost(before, 2 * slots + slot)));
      bound = Math.max(bound, lastMs + lastWeightMs - (fromMs[before] ?? 0));
      const link = linkOfOperation[before * operationCount + slots] ?? 0;
      if (link + 1 < links) lastMs += (lagMs[link + 1] ?? 0) + passMs(link + 1);
    }
  }
  return bound;

  /** What a forward takes on a stage, and the part that stays until the weight gradient. */
  function taken(stage: number, slot: number): number {
    return memory[stage * operationCount + slot] ?? 0;
  }
  function kept(stage: number, slot: number): number {
    return taken(stage, slot) + (memory[stage * operationCount + slots + slot] ?? 0);
  }

  /**
   * What a stage may hold; this many forwards before its first input gradient, or in a V before the first forward of its second chunk; and
   * the weight gradients that it can leave after its last input gradient, ms.
   */
  function holding(stage: number): { readonly room: number; readonly ahead: number; readonly weightsLeftMs: number } {
    const room = limit[stage] ?? 0;
    const own = Array.from({ length: slots }, (_, slot) => slot);
    const count = (each: number, left: number): number => (each > 0 ? Math.floor(left / each) : Infinity);
    const last = slots === 1 ? 0 : taken(stage, 1);
    const ahead = Math.min(microBatches, count(taken(stage, 0), room - last));
    const leastKept = minimum(own.map((slot) => kept(stage, slot)));
    const leastTaken = minimum(own.map((slot) => taken(stage, slot)));
    const left = Math.min(slots * microBatches, count(leastKept, room - leastTaken) + 1);
    return { room, ahead, weightsLeftMs: left * maximum(own.map((slot) => cost(stage, 2 * slots + slot))) };
  }

  /**
   * What a stage waits at the least between the last forward and its input gradient: the way there and back, less all that the limit can
   * have left to do by then. One chunk a stage only.
   */
  function lastReturnWaitsMs(stage: number, room: number): number {
    if (slots > 1) return 0;
    const link = linkOfOperation[stage * operationCount] ?? 0;
    const back = links - 1 - link;
    const [forward, waiting] = [taken(stage, 0), kept(stage, 0)];
    const freed = Math.max(0, -waiting - (memory[stage * operationCount + 2] ?? 0));
    const before = room + freed * microBatches - forward;
    let busyMs = 0;
    for (let inputs = 0; inputs < microBatches && inputs * forward <= before; inputs++) {
      const weights = Math.min(microBatches - 1, inputs + (waiting > 0 ? Math.floor((before - inputs * forward) / waiting) : microBatches));
      busyMs = Math.max(busyMs, (inputs + 1) * cost(stage, 1) + weights * cost(stage, 2));
    }
    return Math.max(0, (reachedMs[back] ?? 0) + passMs(back) - (reachedMs[link] ?? 0) - cost(stage, 0) - busyMs);
  }

  function passMs(link: number): number {
    return durationMs[(pipeline.stageOfLink[link] ?? 0) * operationCount + (pipeline.operationOfLink[link] ?? 0)] ?? 0;
  }
}
