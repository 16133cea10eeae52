import { operationKind, type Schedule, type WorkUnit } from '../schedule/schedule';
import { maximumUnitsInFlight } from './live-curve';
import type { MemoryPart, MemoryProfile, StageMemory } from './profile';
import {
  embeddingBackwardBytes,
  headBackward,
  keyValueBytes,
  layerOperations,
  savedBytes,
  type MemoryInputs,
  type SavedBytes,
  type StageShape,
  type WorkingSet,
} from './runtime';
import { staticBytes } from './static';
import { runtimeOf } from '../model/runtimes';

const contextBytes = 2 ** 30;
/** Mean of max_reserved over max_allocated on all measured B200 ranks, which lie between 1.01 and 1.09. */
const fragmentation = 0.05;

/**
 * Peak memory of every stage, by walking the schedule's order: a unit's saved tensors live from its forward to its backward, and each backward operation is tried for the peak.
 *
 * @param shapes one per stage: its layers and whether it carries the embedding or the head.
 * @param capacityBytes of one GPU.
 */
export function countMemory(inputs: MemoryInputs, schedule: Schedule, shapes: readonly StageShape[], capacityBytes: number): MemoryProfile {
  const perShape = new Map<string, UnitTables>();
  const stages = shapes.map((shape, stage) => {
    const key = shapeKey(shape);
    let tables = perShape.get(key);
    if (tables === undefined) perShape.set(key, (tables = unitTables(inputs, schedule.units, shape)));
    return stageMemory(inputs, schedule, stage, shape, tables);
  });
  const worst = Math.max(...stages.map((stage) => stage.peakBytes));
  return {
    runtime: runtimeOf(inputs.training).name,
    stages,
    capacityBytes,
    marginBytes: contextBytes + fragmentation * worst,
    marginBecause:
      "1 GiB for the CUDA context and NCCL buffers (0.5 to 2 GB on real runs) and 5 % of the peak for the allocator's fragmentation",
  };
}

/** Equal for stages of the same shape. */
export function shapeKey({ layers, first, last, groups }: StageShape): string {
  return `${layers},${first},${last},${groups === undefined ? '' : JSON.stringify(groups)}`;
}

/** Whether the worst stage and the margin stay within the card. */
export function fitsMemory(profile: MemoryProfile): boolean {
  return Math.max(...profile.stages.map((stage) => stage.peakBytes)) + profile.marginBytes <= profile.capacityBytes;
}

interface UnitTables {
  readonly saved: readonly SavedBytes[];
  readonly total: Float64Array;
  readonly head: readonly WorkingSet[];
  /** Largest operation of a layer's forward and of its backward, per unit. */
  readonly layer: readonly { readonly forward: WorkingSet; readonly backward: WorkingSet }[];
  /** Gradients of the keys and values of the unit's whole sequence, alive in its backward; 0 when it is not sliced. */
  readonly keyValueGradients: Float64Array;
}

/** Byte tables per unit; equal unit shapes are computed once. */
function unitTables(inputs: MemoryInputs, units: readonly WorkUnit[], shape: StageShape): UnitTables {
  const slicesOf = new Map<number, { slices: number; tokens: number }>();
  for (const unit of units) {
    const chunk = slicesOf.get(unit.microBatch) ?? { slices: 0, tokens: 0 };
    slicesOf.set(unit.microBatch, { slices: chunk.slices + 1, tokens: chunk.tokens + unit.tokens });
  }
  const known = new Map<
    string,
    { saved: SavedBytes; head: WorkingSet; layer: { forward: WorkingSet; backward: WorkingSet }; gradients: number }
  >();
  const rows = units.map((unit) => {
    const chunk = slicesOf.get(unit.microBatch);
    const sliced = chunk !== undefined && chunk.slices > 1;
    const key = `${unit.batch},${unit.tokens},${unit.context},${sliced ? chunk.tokens : 0}`;
    let row = known.get(key);
    if (row === undefined) {
      row = {
        saved: savedBytes(inputs, shape, unit, sliced),
        head: headBackward(inputs, shape, unit),
        layer: largestOperations(inputs, shape, unit),
        gradients: sliced ? shape.layers * keyValueBytes(inputs, (unit.batch * chunk.tokens) / inputs.layout.context) : 0,
      };
      known.set(key, row);
    }
    return row;
  });
  return {
    saved: rows.map((row) => row.saved),
    total: Float64Array.from(rows, ({ saved }) => saved.activations + saved.keysValues + saved.logits),
    head: rows.map((row) => row.head),
    layer: rows.map((row) => row.layer),
    keyValueGradients: Float64Array.from(rows, (row) => row.gradients),
  };
}

function largestOperations(inputs: MemoryInputs, shape: StageShape, unit: WorkUnit) {
  const { forward, backward } = layerOperations(inputs, shape, unit);
  const largest = (sets: readonly WorkingSet[]) => sets.reduce((a, b) => (b.bytes > a.bytes ? b : a), { name: 'forward', bytes: 0 });
  return { forward: largest(forward), backward: largest(backward) };
}

function stageMemory(inputs: MemoryInputs, schedule: Schedule, stage: number, shape: StageShape, tables: UnitTables): StageMemory {
  const always = staticBytes(inputs, shape);
  const embedding = embeddingBackwardBytes(inputs, shape);
  const start = schedule.rowStart[stage] ?? 0;
  const end = schedule.rowStart[stage + 1] ?? start;

  let live: SavedBytes = { activations: 0, keysValues: 0, logits: 0 };
  let peak = { bytes: -1, operation: 'none', working: 0, gradients: 0, live };
  const consider = (operation: string, working: number, gradients: number) => {
    const bytes = live.activations + live.keysValues + live.logits + working + gradients;
    if (bytes > peak.bytes) peak = { bytes, operation, working, gradients, live };
  };
  for (let row = start; row < end; row++) {
    const unit = schedule.unit[row] ?? 0;
    const saved = tables.saved[unit];
    const head = tables.head[unit];
    const layer = tables.layer[unit];
    if (saved === undefined || head === undefined || layer === undefined) continue;
    if (schedule.kind[row] === operationKind.forward) {
      live = plus(live, { ...saved, logits: 0 }, 1);
      if (layer.forward.bytes > 0) consider(layer.forward.name, layer.forward.bytes, 0);
      live = { ...live, logits: live.logits + saved.logits };
    } else {
      const gradients = tables.keyValueGradients[unit] ?? 0;
      if (head.bytes > 0) consider(head.name, head.bytes, gradients);
      live = { ...live, logits: live.logits - saved.logits };
      consider(layer.backward.name, layer.backward.bytes, gradients);
      live = plus(live, { ...saved, logits: 0 }, -1);
      if (embedding > 0) consider('embedding backward', embedding, gradients);
    }
  }
  const parts: Record<MemoryPart, number> = {
    ...always,
    activations: peak.live.activations,
    keysValues: peak.live.keysValues + peak.gradients,
    logits: peak.live.logits,
    backwardOperation: peak.working,
  };
  const peakBytes = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
  const reservedBytes = (1 + fragmentation) * peakBytes;
  return {
    stage,
    parts,
    peakBytes,
    reservedBytes,
    cardBytes: reservedBytes + contextBytes,
    peakOperation: peak.operation,
    staticBytes: Object.values<number>({ ...always }).reduce((sum, bytes) => sum + bytes, 0),
    unitBytes: tables.total,
    unitsInFlight: maximumUnitsInFlight(schedule, stage),
  };
}

function plus(live: SavedBytes, unit: SavedBytes, sign: 1 | -1): SavedBytes {
  return {
    activations: live.activations + sign * unit.activations,
    keysValues: live.keysValues + sign * unit.keysValues,
    logits: live.logits + sign * unit.logits,
  };
}
