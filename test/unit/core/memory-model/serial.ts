import type { ChunkMemory, UnitMemory } from '../../../../src/core/memory-model/chunk-memory';
import { schemeUnits, type OperationKind, type Timeline } from '../../../../src/core/schedules/schedule';

/**
 * A unit that holds 10 bytes of activations, 4 kept for the weight gradient, and backwards, whole and in halves, that work with 1, 2 and 3
 * more.
 */
export function unitMemory(changed: Partial<UnitMemory> = {}): UnitMemory {
  const saved = { activations: 10, keysValues: changed.keysValues ?? 0, logits: 0, keptForWeights: 0 };
  return {
    activations: 10,
    keysValues: 0,
    logits: 0,
    keyValueGradients: 0,
    keptForWeights: 4,
    forward: { ...saved, activations: changed.activations ?? 10, operation: 'forward', working: 0 },
    backward: { ...saved, operation: 'whole', working: 1 },
    backwardInput: { ...saved, operation: 'input', working: 2 },
    backwardWeight: { ...saved, activations: 0, keysValues: 0, keptForWeights: 4, operation: 'weight', working: 3 },
    ...changed,
  };
}

/** One stage that runs the given operations, one millisecond each, on chunk 0 unless given. */
export function serial(tokens: readonly number[][], rows: readonly (readonly [OperationKind, number, number?])[]): Timeline {
  const units = schemeUnits(tokens.map((lengths) => ({ batch: 1, tokens: lengths })));
  const chunks = Math.max(...rows.map(([, , chunk]) => chunk ?? 0)) + 1;
  return {
    name: 'by hand',
    stages: 1,
    stageOfChunk: new Uint32Array(chunks),
    units,
    rowStart: Uint32Array.from([0, rows.length]),
    kind: Uint8Array.from(rows, ([kind]) => kind),
    unit: Uint32Array.from(rows, ([, unit]) => unit),
    chunk: Uint32Array.from(rows, ([, , chunk]) => chunk ?? 0),
    overlapsNext: null,
    startMs: Float64Array.from(rows, (_, row) => row),
    endMs: Float64Array.from(rows, (_, row) => row + 1),
    makespanMs: rows.length,
    arrivalMs: null,
  };
}

/** Units that all hold the same. */
export function alike(timeline: Timeline, memory: UnitMemory): ChunkMemory {
  return { alike: [memory], unitKinds: new Uint32Array(timeline.units.length) };
}
