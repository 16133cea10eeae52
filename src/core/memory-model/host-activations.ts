import { memoized } from '../records';
import { awayByRow } from '../schedules/activation-copies';
import { host, operationKind, type Schedule } from '../schedules/schedule';
import type { ChunkMemory, UnitMemory } from './chunk-memory';

/**
 * Most bytes of activations of a stage that are in the memory of its host at once: of each unit and chunk what is offloaded there from its
 * forward to its backward, or the input half of it, and what the schedule copies there (PipeOffload), from the start of the copy that takes
 * it away to the end of the one that brings it back. See docs/model/memory.md, Memory of the host.
 */
export function activationsOnHost(schedule: Schedule, chunks: readonly ChunkMemory[], stage: number): number {
  const bytes = (chunk: number, unit: number): number => unitOn(chunks, chunk, unit)?.activations ?? 0;
  const away = schedule.copies?.to[stage] === host ? awayByRow(schedule, stage, bytes) : new Map<number, number>();
  if (away.size === 0 && !memoized(knownOffloads, chunks, () => chunks.some(offloads))) return 0;
  const { rowStart, kind, chunk, unit } = schedule;
  let [held, most] = [0, 0];
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    held += away.get(row) ?? 0;
    const offloaded = unitOn(chunks, chunk[row] ?? 0, unit[row] ?? 0)?.offloaded ?? 0;
    if (kind[row] === operationKind.forward) held += offloaded;
    most = Math.max(most, held);
    if (kind[row] === operationKind.backward || kind[row] === operationKind.backwardInput) held -= offloaded;
  }
  return most;
}

const knownOffloads = new WeakMap<readonly ChunkMemory[], boolean>();

const offloads = ({ alike }: ChunkMemory): boolean => alike.some(({ offloaded }) => offloaded !== undefined);

function unitOn(chunks: readonly ChunkMemory[], chunk: number, unit: number): UnitMemory | undefined {
  const memory = chunks[chunk];
  return memory?.alike[memory.unitKinds[unit] ?? 0];
}
