import type { ChunkPasses } from '../schedules/kind';
import { operationKind, type Schedule, type WorkUnit } from '../schedules/schedule';
import { chunkMemories, judgedMemories, type ChunkMemory, type UnitMemory } from './chunk-memory';
import { livingBytes, maximumUnitsInFlight, nothingAlive, stagePeak, type StagePeak } from './curve';
import { activationsOnHost } from './host-activations';
import {
  gpuCapacity,
  optimizerStepName,
  tightestStage,
  type GpuMemory,
  type MemoryPart,
  type MemoryProfile,
  type StageMemory,
  type StagePeakMemory,
} from './profile';
import { runtimeProfile } from '../domain/runtime';
import { contentsKey, type StageContents } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';
import { headBackwardName, interleavingFactor } from './activation-memory';
import { keepsBlocks, nonAllocatorBytes, limitsOn, reservedAt } from './reserved';
import { optimizerStepBytes, staticBytes, totalBytes } from './static';
import type { StaticBytes } from './held';
import { memoized } from '../records';
import { fragmentation, marginBecause, memoryVerdict, stageFits, type MemoryVerdict } from './verdict';
import { maximum } from '../numbers';

/**
 * Peak memory of every stage, by walking the schedule's order: a unit's saved tensors live from its forward to its backward, or the half of
 * it that frees them, and each backward operation is tried for the peak.
 *
 * @param chunkContents one per chunk of the schedule: its layers and whether it carries the embedding or the head. Where the layout has
 * virtual stages but the schedule one chunk a stage, activations
 *   grow as interleaving makes them.
 * @param gpuMemory what the stages run on.
 * @throws RangeError for another number of shapes.
 */
export function countMemory(
  inputs: MemoryInputs,
  schedule: Schedule,
  chunkContents: readonly StageContents[],
  gpuMemory: GpuMemory,
): MemoryProfile {
  const chunks = chunkMemories(inputs, schedule.units, chunkContents, activationFactor(inputs, schedule, chunkContents));
  const { stageAt } = counting(inputs, schedule, chunkContents, chunks, gpuMemory);
  const stages = Array.from({ length: schedule.stages }, (_, stage) => stageAt(stage));
  const limits = tightestStage(stages) ?? { capacityBytes: 0, usableBytes: 0 };
  return {
    runtime: runtimeProfile(inputs.training).name,
    stages,
    chunks,
    capacityBytes: limits.capacityBytes,
    marginBytes: limits.capacityBytes - limits.usableBytes,
    marginBecause: marginBecause(limits),
  };
}

/** The verdict on what `countMemory` counts, without the tables that only a reader of a plan sees. */
export function countedVerdict(
  inputs: MemoryInputs,
  schedule: Schedule,
  chunkContents: readonly StageContents[],
  gpuMemory: GpuMemory,
): MemoryVerdict {
  const { peakAt } = counting(inputs, schedule, chunkContents, judged(inputs, schedule, chunkContents), gpuMemory);
  return memoryVerdict({ stages: Array.from({ length: schedule.stages }, (_, stage) => peakAt(stage)) });
}

/** Whether every stage fits its GPU's memory: as by `countMemory`, but stops at the first stage that does not. */
export function fitsGpuMemory(
  inputs: MemoryInputs,
  schedule: Schedule,
  chunkContents: readonly StageContents[],
  gpuMemory: GpuMemory,
): boolean {
  const { fitsAt } = counting(inputs, schedule, chunkContents, judged(inputs, schedule, chunkContents), gpuMemory);
  for (let stage = 0; stage < schedule.stages; stage++) if (!fitsAt(stage)) return false;
  return true;
}

function judged(inputs: MemoryInputs, schedule: Schedule, chunkContents: readonly StageContents[]): readonly ChunkMemory[] {
  const isWhole = !schedule.kind.includes(operationKind.backwardInput) && !schedule.kind.includes(operationKind.backwardWeight);
  return judgedMemories(inputs, schedule.units, chunkContents, activationFactor(inputs, schedule, chunkContents), isWhole);
}

/** By what the activations of a chunk are multiplied. @throws RangeError for another number of chunks. */
function activationFactor(
  { layout }: MemoryInputs,
  { stageOfChunk, stages, units }: Schedule,
  chunkContents: readonly StageContents[],
): (chunk: number) => number {
  if (chunkContents.length !== stageOfChunk.length)
    throw new RangeError(`${chunkContents.length} shapes for a schedule of ${stageOfChunk.length} chunks`);
  return stageOfChunk.length === stages ? (chunk) => interleavingFactor(layout, chunk, units.length) : () => 1;
}

function counting(
  inputs: MemoryInputs,
  schedule: Schedule,
  chunkContents: readonly StageContents[],
  chunks: readonly ChunkMemory[],
  gpuMemory: GpuMemory,
): {
  readonly stageAt: (stage: number) => StageMemory;
  /** What its verdict is made of; of stages asked for in order. */
  readonly peakAt: (stage: number) => StagePeakMemory;
  /** Whether the stage fits its GPU; of stages asked for in order. */
  readonly fitsAt: (stage: number) => boolean;
} {
  const contentsOfStages = joinStageContents(schedule.stages, schedule.stageOfChunk, chunkContents);
  const held = heldAlways(inputs);
  let last: { readonly memory: StageMemory; readonly held: HeldAlways } | null = null;
  let fitting: { readonly stage: number; readonly held: HeldAlways } | null = null;
  let lastPeak: { readonly memory: StagePeakMemory; readonly held: HeldAlways } | null = null;
  return {
    peakAt: (stage) => {
      const own = held(contentsOfStages[stage] ?? noContents);
      const isLike = lastPeak?.held === own && isAlike(schedule, chunks, gpuMemory, lastPeak.memory.stage, stage);
      const memory =
        lastPeak !== null && isLike
          ? { ...lastPeak.memory, ...onGpu(stage, gpuMemory) }
          : stagePeakMemory(inputs, schedule, stage, own, chunks, gpuMemory).memory;
      lastPeak = { memory, held: own };
      return memory;
    },
    fitsAt: (stage) => {
      const own = held(contentsOfStages[stage] ?? noContents);
      if (fitting?.held !== own || !isAlike(schedule, chunks, gpuMemory, fitting.stage, stage)) {
        const { peakBytes } = stageParts(schedule, stage, own, chunks);
        if (!stageFits({ peakBytes, ...limitsOn(inputs, gpuCapacity(gpuMemory, stage)) })) return false;
      }
      fitting = { stage, held: own };
      return true;
    },
    stageAt: (stage) => {
      const own = held(contentsOfStages[stage] ?? noContents);
      const memory =
        last?.held === own && isAlike(schedule, chunks, gpuMemory, last.memory.stage, stage)
          ? onStage(last.memory, schedule, stage, gpuMemory)
          : stageMemory(inputs, schedule, stage, own, chunks, gpuMemory);
      last = { memory, held: own };
      return memory;
    },
  };
}

const noContents: StageContents = { layers: 0, first: false, last: false };

/** What a stage holds whatever it runs, bytes. */
interface HeldAlways {
  readonly contents: StageContents;
  readonly always: StaticBytes;
  readonly optimizerStep: number;
}

/** Counts it once for stages of the same shape. */
function heldAlways(inputs: MemoryInputs): (contents: StageContents) => HeldAlways {
  const known = new Map<string, HeldAlways>();
  return (contents) =>
    memoized(known, contentsKey(contents), () => ({
      contents,
      always: staticBytes(inputs, contents),
      optimizerStep: optimizerStepBytes(inputs, contents),
    }));
}

/** Whether two stages run the same passes of the same units in the same order, on chunks and GPUs that are alike. */
function isAlike(
  { rowStart, kind, chunk, unit, copies }: Schedule,
  chunks: readonly ChunkMemory[],
  gpuMemory: GpuMemory,
  a: number,
  b: number,
): boolean {
  if (copies !== undefined) return false;
  const [first, other, end] = [rowStart[a] ?? 0, rowStart[b] ?? 0, rowStart[b + 1] ?? 0];
  if ((rowStart[a + 1] ?? 0) - first !== end - other || gpuCapacity(gpuMemory, a) !== gpuCapacity(gpuMemory, b)) return false;
  for (let row = other, twin = first; row < end; row++, twin++) {
    if (kind[row] !== kind[twin] || unit[row] !== unit[twin]) return false;
    if (chunks[chunk[row] ?? 0] !== chunks[chunk[twin] ?? 0]) return false;
  }
  return true;
}

/** The memory of a stage as that of another one that is like it. */
function onStage(memory: StageMemory, { rowStart }: Schedule, stage: number, gpuMemory: GpuMemory): StageMemory {
  const shift = (rowStart[stage] ?? 0) - (rowStart[memory.stage] ?? 0);
  return {
    ...memory,
    ...onGpu(stage, gpuMemory),
    peakRow: memory.peakRow < 0 ? memory.peakRow : memory.peakRow + shift,
  };
}

/**
 * What schedules that plan with memory count: bytes that the passes of one unit take and give back on each chunk, and how much of them
 * there is room for on each stage, less what is always present and what operations work with.
 */
export function passMemory(
  inputs: MemoryInputs,
  unit: WorkUnit,
  chunkContents: readonly StageContents[],
  stageOfChunk: Uint32Array,
  gpuMemory: GpuMemory,
): ChunkPasses['memory'] {
  const contentsOfStages = joinStageContents(Math.max(0, maximum(stageOfChunk)) + 1, stageOfChunk, chunkContents);
  const chunks = chunkMemories(inputs, [unit], chunkContents).map(({ alike: [own] }) => own);
  const ofChunks = (bytes: (memory: UnitMemory) => number): Float64Array =>
    Float64Array.from(chunks, (memory) => (memory === undefined ? 0 : bytes(memory)));
  const saved = ({ activations, keysValues, logits }: UnitMemory): number => activations + keysValues + logits;
  const working = ofChunks(({ forward, backwardInput }) => Math.max(forward.working, backwardInput.working));
  return {
    forward: ofChunks(saved),
    backwardInput: ofChunks((memory) => memory.keptForWeights - saved(memory)),
    backwardWeight: ofChunks(({ keptForWeights }) => -keptForWeights),
    limit: Float64Array.from(contentsOfStages, (contents, stage) => {
      const most = working.reduce((bytes, own, chunk) => (stageOfChunk[chunk] === stage ? Math.max(bytes, own) : bytes), 0);
      return limitsOn(inputs, gpuCapacity(gpuMemory, stage)).usableBytes - totalBytes(staticBytes(inputs, contents)) - most;
    }),
  };
}

/** What each stage holds of the model: the contents of all its chunks. */
export function joinStageContents(stages: number, stageOfChunk: Uint32Array, chunkContents: readonly StageContents[]): StageContents[] {
  const all = Array.from({ length: stages }, (): StageContents => ({ layers: 0, first: false, last: false }));
  chunkContents.forEach((contents, chunk) => {
    const stage = stageOfChunk[chunk] ?? stages;
    const before = all[stage];
    if (before !== undefined) all[stage] = joined(before, contents);
  });
  return all;
}

function joined(a: StageContents, b: StageContents): StageContents {
  const groups = b.groups === undefined ? {} : { groups: [...(a.groups ?? []), ...b.groups] };
  const turns = {
    ...(a.encoderEnd === true || b.encoderEnd === true ? { encoderEnd: true } : {}),
    ...(a.decoderStart === true || b.decoderStart === true ? { decoderStart: true } : {}),
  };
  const isSpread = a.headShare !== undefined || b.headShare !== undefined;
  const head = isSpread ? { headShare: (a.headShare ?? 0) + (b.headShare ?? 0) } : {};
  return { layers: a.layers + b.layers, first: a.first || b.first, last: a.last || b.last, ...groups, ...turns, ...head };
}

function onGpu(stage: number, gpuMemory: GpuMemory): Pick<StageMemory, 'stage' | 'gpu'> {
  return { stage, ...(typeof gpuMemory === 'number' ? {} : { gpu: gpuMemory[stage]?.name ?? '' }) };
}

function stagePeakMemory(
  inputs: MemoryInputs,
  schedule: Schedule,
  stage: number,
  held: HeldAlways,
  chunks: readonly ChunkMemory[],
  gpuMemory: GpuMemory,
): ReturnType<typeof stageParts> & { readonly memory: StagePeakMemory; readonly reservedBytes: number } {
  const { contents, always } = held;
  const found = stageParts(schedule, stage, held, chunks);
  const { peak, peakBytes } = found;
  const { row, operation } = peak;
  const capacityBytes = gpuCapacity(gpuMemory, stage);
  const atHead = operation === headBackwardName ? (schedule.units[schedule.unit[row] ?? 0] ?? null) : null;
  const wanted = Math.max(peakBytes, reservedAt(inputs, contents, totalBytes(always) + peak.walkedBytes, atHead));
  // what is cached is given back before memory runs out
  const roomBytes = capacityBytes - nonAllocatorBytes(inputs);
  return {
    ...found,
    memory: {
      ...onGpu(stage, gpuMemory),
      peakBytes,
      ...limitsOn(inputs, capacityBytes),
      crowdedBytes: keepsBlocks(inputs) ? Math.max(0, wanted - roomBytes) : 0,
    },
    reservedBytes: Math.max(Math.min(wanted, roomBytes), Math.min(wanted, (1 + fragmentation) * peakBytes)),
  };
}

function stageMemory(
  inputs: MemoryInputs,
  schedule: Schedule,
  stage: number,
  held: HeldAlways,
  chunks: readonly ChunkMemory[],
  gpuMemory: GpuMemory,
): StageMemory {
  const { memory, peak, parts, reservedBytes } = stagePeakMemory(inputs, schedule, stage, held, chunks, gpuMemory);
  return {
    ...memory,
    parts,
    reservedBytes,
    inUseBytes: reservedBytes + nonAllocatorBytes(inputs),
    peakOperation: peak.operation,
    peakRow: peak.row,
    staticBytes: totalBytes(held.always),
    unitsInFlight: maximumUnitsInFlight(schedule, stage),
    hostBytes: activationsOnHost(schedule, chunks, stage),
  };
}

/** The peak of a stage, and the parts of memory that it adds up from. */
function stageParts(
  schedule: Schedule,
  stage: number,
  { always, optimizerStep }: HeldAlways,
  chunks: readonly ChunkMemory[],
): {
  readonly peak: ReturnType<typeof schedulePeak>;
  readonly parts: Readonly<Record<MemoryPart, number>>;
  readonly peakBytes: number;
} {
  const peak = schedulePeak(schedule, stage, optimizerStep, chunks);
  const parts: Record<MemoryPart, number> = { ...always, ...livingBytes(peak.alive, peak.working) };
  return { peak, parts, peakBytes: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0) };
}

/** The peak of forwards and backwards, or what the optimizer's step holds, where that is more: at the end of the stage's last operation. */
function schedulePeak(
  schedule: Schedule,
  stage: number,
  working: number,
  chunks: readonly ChunkMemory[],
): StagePeak & { readonly walkedBytes: number } {
  const walked = stagePeak(schedule, chunks, stage);
  if (working <= walked.bytes) return { ...walked, walkedBytes: walked.bytes };
  const row = (schedule.rowStart[stage + 1] ?? 0) - 1;
  return { ...walked, row, operation: optimizerStepName, alive: nothingAlive, working, bytes: working, walkedBytes: walked.bytes };
}
