import type { PassMemory } from '../schedules/kind';
import type { Schedule, WorkUnit } from '../schedules/schedule';
import { chunkMemories, unitMemory, type ChunkMemory, type UnitMemory } from './chunk-memory';
import { maximumUnitsInFlight, stagePeak } from './curve';
import { capacityOf, tightestOf, type Cards, type MemoryPart, type MemoryProfile, type StageMemory } from './profile';
import { runtimeOf } from '../spec/runtime';
import type { StageShape } from './layer-tensors';
import type { MemoryInputs } from './memory-inputs';
import { interleavingFactor } from './activation-memory';
import { staticBytes, totalBytes } from './static';
import { contextBytes, fragmentation, marginBecause, stageFits, usablePeakBytes } from './verdict';

/**
 * Peak memory of every stage, by walking the schedule's order: a unit's saved tensors live from its forward to its backward, or the half of it that frees them, and each backward operation
 * is tried for the peak.
 *
 * @param shapes one per chunk of the schedule: its layers and whether it carries the embedding or the head. Where the layout has virtual stages but the schedule one chunk a stage, activations
 *   grow as interleaving makes them.
 * @param cards what the stages run on.
 * @throws RangeError for another number of shapes.
 */
export function countMemory(inputs: MemoryInputs, schedule: Schedule, shapes: readonly StageShape[], cards: Cards): MemoryProfile {
  const { chunks, stageAt } = counting(inputs, schedule, shapes, cards);
  const stages = Array.from({ length: schedule.stages }, (_, stage) => stageAt(stage));
  const capacityBytes = tightestOf(stages)?.capacityBytes ?? 0;
  return {
    runtime: runtimeOf(inputs.training).name,
    stages,
    chunks,
    capacityBytes,
    marginBytes: capacityBytes - usablePeakBytes(capacityBytes),
    marginBecause,
  };
}

/** Whether every stage stays within its card: `fitsMemory` of `countMemory`, which stops at the first stage that does not. */
export function fitsCards(inputs: MemoryInputs, schedule: Schedule, shapes: readonly StageShape[], cards: Cards): boolean {
  const { stageAt } = counting(inputs, schedule, shapes, cards);
  for (let stage = 0; stage < schedule.stages; stage++) if (!stageFits(stageAt(stage))) return false;
  return true;
}

function counting(
  inputs: MemoryInputs,
  schedule: Schedule,
  shapes: readonly StageShape[],
  cards: Cards,
): { readonly chunks: readonly ChunkMemory[]; readonly stageAt: (stage: number) => StageMemory } {
  if (shapes.length !== schedule.stageOfChunk.length)
    throw new RangeError(`${shapes.length} shapes for a schedule of ${schedule.stageOfChunk.length} chunks`);
  const whole = schedule.stageOfChunk.length === schedule.stages;
  const chunks = chunkMemories(inputs, schedule.units, shapes, (chunk) =>
    whole ? interleavingFactor(inputs.layout, chunk, schedule.units.length) : 1,
  );
  const stageShapes = stageShapesOf(schedule.stages, schedule.stageOfChunk, shapes);
  const none: StageShape = { layers: 0, first: false, last: false };
  return { chunks, stageAt: (stage) => stageMemory(inputs, schedule, stage, stageShapes[stage] ?? none, chunks, cards) };
}

/**
 * What schedules that plan with memory count: bytes that the passes of one unit take and give back on one stage, and how much of them there is room for. Of the stage where fewest units
 * fit; a stage has all its chunks of `shapes`.
 */
export function passMemory(
  inputs: MemoryInputs,
  unit: WorkUnit,
  sliced: boolean,
  shapes: readonly StageShape[],
  stageOfChunk: Uint32Array,
  cards: Cards,
): PassMemory {
  const shapeOf = stageShapesOf(Math.max(0, ...stageOfChunk) + 1, stageOfChunk, shapes);
  const rooms = shapeOf.map((shape, stage): PassMemory => {
    const units = shapes.filter((_, chunk) => stageOfChunk[chunk] === stage).map((chunk) => unitMemory(inputs, chunk, unit, sliced, 1));
    const sum = (bytes: (memory: UnitMemory) => number): number => units.reduce((total, memory) => total + bytes(memory), 0);
    const forward = sum(({ activations, keysValues, logits }) => activations + keysValues + logits);
    const kept = sum(({ keptForWeights }) => keptForWeights);
    const working = Math.max(...units.map(({ forward: first, backwardInput }) => Math.max(first.working, backwardInput.working)));
    const limit = usablePeakBytes(capacityOf(cards, stage)) - totalBytes(staticBytes(inputs, shape)) - working;
    return { forward, backwardInput: kept - forward, backwardWeight: -kept, limit };
  });
  return rooms.reduce((least, room) => (room.limit * least.forward < least.limit * room.forward ? room : least));
}

/** What each stage holds of the model: all its chunks together. */
export function stageShapesOf(stages: number, stageOfChunk: Uint32Array, shapes: readonly StageShape[]): StageShape[] {
  return Array.from({ length: stages }, (_, stage) =>
    shapes
      .filter((__, chunk) => stageOfChunk[chunk] === stage)
      .reduce<StageShape>((all, shape) => joined(all, shape), { layers: 0, first: false, last: false }),
  );
}

function joined(a: StageShape, b: StageShape): StageShape {
  const groups = b.groups === undefined ? {} : { groups: [...(a.groups ?? []), ...b.groups] };
  const turns = {
    ...(a.encoderEnd === true || b.encoderEnd === true ? { encoderEnd: true } : {}),
    ...(a.decoderStart === true || b.decoderStart === true ? { decoderStart: true } : {}),
  };
  return { layers: a.layers + b.layers, first: a.first || b.first, last: a.last || b.last, ...groups, ...turns };
}

function stageMemory(
  inputs: MemoryInputs,
  schedule: Schedule,
  stage: number,
  shape: StageShape,
  chunks: readonly ChunkMemory[],
  cards: Cards,
): StageMemory {
  const always = staticBytes(inputs, shape);
  const { row, operation, alive, working } = stagePeak(schedule, chunks, stage);
  const parts: Record<MemoryPart, number> = {
    ...always,
    // what is freed again bit by bit may end a rounding error below nothing
    activations: Math.max(0, alive.activations),
    keysValues: Math.max(0, alive.keysValues + alive.keyValueGradients),
    logits: Math.max(0, alive.logits),
    keptForWeights: Math.max(0, alive.keptForWeights),
    backwardOperation: working,
  };
  const peakBytes = Object.values(parts).reduce((sum, bytes) => sum + bytes, 0);
  const reservedBytes = (1 + fragmentation) * peakBytes;
  return {
    stage,
    parts,
    peakBytes,
    capacityBytes: capacityOf(cards, stage),
    ...(typeof cards === 'number' ? {} : { gpu: cards[stage]?.name ?? '' }),
    reservedBytes,
    cardBytes: reservedBytes + contextBytes,
    peakOperation: operation,
    peakRow: row,
    staticBytes: totalBytes(always),
    unitsInFlight: maximumUnitsInFlight(schedule, stage),
  };
}
