import { operationKind, unitsOf, type Schedule } from './schedule';

/** Chunks of one prompt that go down the stages one after the other; nothing comes back. @param chunks tokens of each. */
export function forwardOnlySchedule(chunks: readonly number[], stages: number): Schedule {
  const rows = stages * chunks.length;
  return {
    name: 'prefill',
    stages,
    stageOfChunk: Uint32Array.from({ length: stages }, (_, stage) => stage),
    units: unitsOf([{ batch: 1, tokens: chunks }]),
    rowStart: Uint32Array.from({ length: stages + 1 }, (_, stage) => stage * chunks.length),
    kind: new Uint8Array(rows).fill(operationKind.forward),
    chunk: Uint32Array.from({ length: rows }, (_, row) => Math.floor(row / chunks.length)),
    unit: Uint32Array.from({ length: rows }, (_, row) => row % chunks.length),
    overlapsNext: null,
    forwardOnly: true,
  };
}
