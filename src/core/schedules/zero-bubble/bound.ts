import { originsOf } from './times';
import type { Pipeline } from './pipeline';

/**
 * docs/model/schedules.md, Planned orders. A time, ms, that the longest stage span of no order can go below, whatever the order:
 * - a stage has its own work to do;
 * - before its first input gradient (in a V, before the first forward of its second chunk) a stage can run no more forwards than the memory limit lets it hold;
 * - what a micro-batch holds on a stage, for as long as it must at the least, is a share of the limit times the span;
 * - when a stage has run its last input gradient, no more weight gradients can be left than the limit lets it hold, and that gradient still has to go up to each stage before.
 */
export function boundMs(pipeline: Pipeline): number {
  const { stages, slots, microBatches, operationCount, links, lagMs, linkOfOperation, durationMs, memory, limit } = pipeline;
  const originMs = originsOf(pipeline);
  const cost = (stage: number, operation: number): number => durationMs[stage * operationCount + operation] ?? 0;
  const workMs = (stage: number): number => {
    let perMicroBatch = 0;
    for (let operation = 0; operation < operationCount; operation++) perMicroBatch += cost(stage, operation);
    return microBatches * perMicroBatch;
  };
  const forward = memory[0] ?? 0;
  const kept = forward + (memory[slots] ?? 0);
  const holds = (each: number, room: number): number => Math.min(slots * microBatches, each > 0 ? Math.floor(room / each) : Infinity);
  const ahead = Math.min(microBatches, holds(forward, limit - (slots - 1) * forward));
  const weightsLeft = Math.min(slots * microBatches, holds(kept, limit - forward) + 1);

  /** When the first micro-batch can have reached each link. */
  const reachedMs = new Float64Array(links);
  for (let link = 1; link < links; link++) reachedMs[link] = (reachedMs[link - 1] ?? 0) + passMs(link - 1) + (lagMs[link] ?? 0);
  let bound = 0;
  for (let stage = 0; stage < stages; stage++) {
    const work = workMs(stage);
    const origin = originMs[stage] ?? 0;
    const firstReturn = linkOfOperation[stage * operationCount + 1] ?? 0;
    bound = Math.max(bound, work, (reachedMs[firstReturn] ?? 0) - origin + work - ahead * cost(stage, 0));
    let held = 0;
    for (let slot = 0; slot < slots; slot++) {
      const link = linkOfOperation[stage * operationCount + slot] ?? 0;
      const back = links - 1 - link;
      held += forward * ((reachedMs[back] ?? 0) + passMs(back) - (reachedMs[link] ?? 0)) + kept * cost(stage, operationCount - 1);
    }
    bound = Math.max(bound, limit > 0 ? (microBatches * held) / limit : 0);
    let lastMs = origin + work - weightsLeft * cost(stage, operationCount - 1);
    for (let before = stage; before >= 0; before--) {
      bound = Math.max(bound, lastMs + cost(before, operationCount - 1) - (originMs[before] ?? 0));
      const link = linkOfOperation[before * operationCount + slots] ?? 0;
      if (link + 1 < links) lastMs += (lagMs[link + 1] ?? 0) + passMs(link + 1);
    }
  }
  return bound;

  function passMs(link: number): number {
    return durationMs[(pipeline.stageOfLink[link] ?? 0) * operationCount + (pipeline.operationOfLink[link] ?? 0)] ?? 0;
  }
}
