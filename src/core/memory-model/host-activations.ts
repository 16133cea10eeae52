import { host, operationKind, type Schedule } from '../schedules/schedule';
import type { ChunkMemory, UnitMemory } from './chunk-memory';

/**
 * Most bytes of activations of a stage that are in the memory of its host at once: of each unit and chunk what is offloaded there from its
 * forward to its backward, or the input half of it, and what the schedule copies there (PipeOffload), from the start of the copy that takes
 * it away to the end of the one that brings it back. See docs/model/memory.md, Memory of the host.
 */
export function activationsOnHost(schedule: Schedule, chunks: readonly ChunkMemory[], stage: number): number {
  const copies = copiedByRow(schedule, chunks, stage);
  if (copies.size === 0 && chunks.every(({ alike }) => alike.every(({ offloaded }) => offloaded === undefined))) return 0;
  const { rowStart, kind, chunk, unit } = schedule;
  let [held, most] = [0, 0];
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const { returned = 0, left = 0 } = copies.get(row) ?? {};
    held += left - returned;
    const offloaded = unitOn(chunks, chunk[row] ?? 0, unit[row] ?? 0)?.offloaded ?? 0;
    if (kind[row] === operationKind.forward) held += offloaded;
    most = Math.max(most, held);
    if (kind[row] === operationKind.backward || kind[row] === operationKind.backwardInput) held -= offloaded;
  }
  return most;
}

/** Bytes that start to leave for the host in a row, and that are back before it. */
interface CopiedBytes {
  left: number;
  returned: number;
}

function copiedByRow({ copies }: Schedule, chunks: readonly ChunkMemory[], stage: number): ReadonlyMap<number, CopiedBytes> {
  const byRow = new Map<number, CopiedBytes>();
  if (copies?.to[stage] !== host) return byRow;
  const { start, after, before, back, chunk, unit } = copies;
  for (let copy = start[stage] ?? 0; copy < (start[stage + 1] ?? 0); copy++) {
    const bytes = unitOn(chunks, chunk[copy] ?? 0, unit[copy] ?? 0)?.activations ?? 0;
    const isBack = back[copy] === 1;
    const row = isBack ? (before[copy] ?? 0) : (after[copy] ?? 0) + 1;
    const own = byRow.get(row) ?? { left: 0, returned: 0 };
    if (isBack) own.returned += bytes;
    else own.left += bytes;
    byRow.set(row, own);
  }
  return byRow;
}

function unitOn(chunks: readonly ChunkMemory[], chunk: number, unit: number): UnitMemory | undefined {
  const memory = chunks[chunk];
  return memory?.alike[memory.unitKinds[unit] ?? 0];
}
