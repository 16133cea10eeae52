import { operationKind, type Schedule, type WorkUnit } from '../../../core/schedules/schedule';

/**
 * The step that nobody doubts, on the same chunks and stages: one micro-batch after the other, each whole sequences, forward through the
 * whole model and backward.
 */
export function unslicedSchedule({ stages, stageOfChunk, units }: Schedule): Schedule {
  const whole: WorkUnit[] = [];
  for (const unit of units) {
    const last = whole.at(-1);
    if (last?.microBatch === unit.microBatch) whole[whole.length - 1] = { ...last, tokens: last.tokens + unit.tokens };
    else whole.push({ ...unit, slice: 0, context: 0 });
  }
  const rowStart = new Uint32Array(stages + 1);
  const [kind, chunk, unit]: [number[], number[], number[]] = [[], [], []];
  for (let stage = 0; stage < stages; stage++) {
    const own = [...stageOfChunk.keys()].filter((each) => stageOfChunk[each] === stage);
    for (const index of whole.keys()) {
      for (const [what, chunks] of [
        [operationKind.forward, own],
        [operationKind.backward, own.toReversed()],
      ] as const) {
        for (const each of chunks) {
          kind.push(what);
          chunk.push(each);
          unit.push(index);
        }
      }
    }
    rowStart[stage + 1] = kind.length;
  }
  return {
    name: 'unsliced',
    stages,
    stageOfChunk,
    units: whole,
    rowStart,
    kind: Uint8Array.from(kind),
    chunk: Uint32Array.from(chunk),
    unit: Uint32Array.from(unit),
    overlapsNext: null,
  };
}
