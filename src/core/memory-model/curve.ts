import { lentTo } from '../schedules/activation-copies';
import { memoized } from '../records';
import { operationKind, type Schedule, type Timeline } from '../schedules/schedule';
import { momentBytes, type BusiestMoment, type ChunkMemory, type UnitMemory } from './chunk-memory';
import type { MemoryPart } from './profile';

/** A step curve: from `timeMs[i]` on `bytes[i]` are in use, until `timeMs[i + 1]`. */
export interface LiveCurve {
  readonly timeMs: Float64Array;
  readonly bytes: Float64Array;
}

/** Bytes of all units that are alive on one stage, by what they are. */
interface AliveBytes {
  readonly activations: number;
  readonly keysValues: number;
  readonly keyValueGradients: number;
  readonly logits: number;
  readonly keptForWeights: number;
}

export const nothingAlive: AliveBytes = { activations: 0, keysValues: 0, keyValueGradients: 0, logits: 0, keptForWeights: 0 };

/** Parts of a stage's memory that come and go in a step, in the order they are stacked. */
export const livingParts = [
  'activations',
  'keysValues',
  'logits',
  'keptForWeights',
  'backwardOperation',
] as const satisfies readonly MemoryPart[];
type LivingPart = (typeof livingParts)[number];

/** A step curve by what is in use: at each of its points the parts that come and go, which add up to what is more than the static bytes. */
export interface LiveParts extends LiveCurve {
  readonly parts: Readonly<Record<LivingPart, Float64Array>>;
}

/** Memory by part, bytes: of `alive`, and of what an operation works with. */
export function livingBytes(alive: AliveBytes, working: number): Readonly<Record<LivingPart, number>> {
  // what is freed again bit by bit may end a rounding error below nothing
  return {
    activations: Math.max(0, alive.activations),
    keysValues: Math.max(0, alive.keysValues + alive.keyValueGradients),
    logits: Math.max(0, alive.logits),
    keptForWeights: Math.max(0, alive.keptForWeights),
    backwardOperation: working,
  };
}

/** The point of a stage's order at which most is in use. */
export interface StagePeak {
  /** Row of the operation during which the peak occurs; -1 if there are no operations. Its time is `startMs[row]`. */
  readonly row: number;
  readonly operation: string;
  readonly alive: AliveBytes;
  /** Additionally held by the running operation. */
  readonly working: number;
  /** Of all this, the static parts not included. */
  readonly bytes: number;
}

/**
 * Sees one operation of a walk.
 *
 * @param alive what it finds, a forward's own tensors included.
 * @param duringBytes in use during the operation, its busiest moment taken for all of it.
 * @param afterBytes in use after it.
 */
type Visit = (row: number, own: UnitMemory, moment: BusiestMoment, alive: AliveBytes, duringBytes: number, afterBytes: number) => void;

/** What each kind of unit holds on a chunk, by kind: the numbers that a walk adds up. */
interface UnitColumns {
  readonly activations: Float64Array;
  readonly keysValues: Float64Array;
  readonly logits: Float64Array;
  readonly keyValueGradients: Float64Array;
  readonly keptForWeights: Float64Array;
  /** From a unit's forward to its backward. */
  readonly saved: Float64Array;
  readonly forwardMoment: Float64Array;
  readonly backwardMoment: Float64Array;
  readonly backwardInputMoment: Float64Array;
  readonly backwardWeightWorking: Float64Array;
}

const unitColumns = new WeakMap<ChunkMemory, UnitColumns>();

function columnsOfChunk({ alike }: ChunkMemory): UnitColumns {
  const column = (): Float64Array => new Float64Array(alike.length);
  const columns = {
    activations: column(),
    keysValues: column(),
    logits: column(),
    keyValueGradients: column(),
    keptForWeights: column(),
    saved: column(),
    forwardMoment: column(),
    backwardMoment: column(),
    backwardInputMoment: column(),
    backwardWeightWorking: column(),
  };
  for (let kind = 0; kind < alike.length; kind++) {
    const own = alike[kind];
    if (own === undefined) continue;
    columns.activations[kind] = own.activations;
    columns.keysValues[kind] = own.keysValues;
    columns.logits[kind] = own.logits;
    columns.keyValueGradients[kind] = own.keyValueGradients;
    columns.keptForWeights[kind] = own.keptForWeights;
    columns.saved[kind] = savedBytes(own);
    columns.forwardMoment[kind] = momentBytes(own.forward);
    columns.backwardMoment[kind] = momentBytes(own.backward);
    columns.backwardInputMoment[kind] = momentBytes(own.backwardInput);
    columns.backwardWeightWorking[kind] = own.backwardWeight.working;
  }
  return columns;
}

/**
 * Goes through the operations of one stage in order. They run one after the other, so what is alive depends only on the order; an
 * overlapped pair counts as its forward, then its backward, which is the most it can hold.
 *
 * @param seen operations that hold no more than this are not visited; the visitor may raise it.
 */
function walkStage(
  schedule: Schedule,
  chunks: readonly ChunkMemory[],
  stage: number,
  visit: Visit,
  seen: { bytes: number } = { bytes: -Infinity },
): void {
  const { units, rowStart, kind, chunk, unit, copies } = schedule;
  const copied = copiedByRow(schedule, stage, (on, of) => chunks[on]?.alike[chunks[on].unitKinds[of] ?? 0]?.activations ?? 0);
  const columns: UnitColumns[] = [];
  let [activations, keysValues, keyValueGradients, logits, keptForWeights] = [copied.lent, 0, 0, 0, 0];
  const { forward, backward, backwardWeight } = operationKind;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const index = unit[row] ?? 0;
    const on = chunk[row] ?? 0;
    if (copies !== undefined) activations += copied.change(row);
    const memory = chunks[on];
    if (memory === undefined) continue;
    const own = (columns[on] ??= memoized(unitColumns, memory, () => columnsOfChunk(memory)));
    const alike = memory.unitKinds[index] ?? 0;
    if (alike >= own.saved.length) continue;
    const what = kind[row];
    const isForward = what === forward;
    const isWeight = what === backwardWeight;
    const whole = what === backward;
    const kept = own.keptForWeights[alike] ?? 0;
    const saved = own.saved[alike] ?? 0;
    const gradients = own.keyValueGradients[alike] ?? 0;
    if (isForward) {
      activations += own.activations[alike] ?? 0;
      keysValues += own.keysValues[alike] ?? 0;
      logits += own.logits[alike] ?? 0;
    } else if (!isWeight && gradients > 0 && units[index + 1]?.microBatch !== units[index]?.microBatch)
      keyValueGradients += sequenceGradients(memory, index, units[index]?.slice ?? 0);
    const bytes = activations + keysValues + logits + keyValueGradients + keptForWeights;
    const others = bytes - saved;
    const duringBytes = isForward
      ? bytes + ((own.forwardMoment[alike] ?? 0) - saved)
      : isWeight
        ? bytes + (own.backwardWeightWorking[alike] ?? 0)
        : others + ((whole ? own.backwardMoment : own.backwardInputMoment)[alike] ?? 0);
    const memoryOfUnit = duringBytes > seen.bytes ? memory.alike[alike] : undefined;
    if (memoryOfUnit !== undefined) {
      const alive = { activations, keysValues, keyValueGradients, logits, keptForWeights };
      const afterBytes = isForward ? bytes : isWeight ? bytes - kept : others - gradients + (whole ? 0 : kept);
      visit(row, memoryOfUnit, momentOfKind(memoryOfUnit, what), alive, duringBytes, afterBytes);
    }
    if (isForward) continue;
    if (isWeight) {
      keptForWeights -= kept;
      continue;
    }
    activations -= own.activations[alike] ?? 0;
    keysValues -= own.keysValues[alike] ?? 0;
    logits -= own.logits[alike] ?? 0;
    keyValueGradients -= gradients;
    if (!whole) keptForWeights += kept;
  }
}

function momentOfKind(own: UnitMemory, kind: number | undefined): BusiestMoment {
  const { forward, backward, backwardWeight } = operationKind;
  if (kind === forward) return own.forward;
  if (kind === backwardWeight) return own.backwardWeight;
  return kind === backward ? own.backward : own.backwardInput;
}

/** What copies change on a stage. */
interface CopiedActivations {
  /** What other stages lend it, all the time. */
  readonly lent: number;
  /** What has left (-) or comes back (+) from a row on. */
  readonly change: (row: number) => number;
}

function copiedByRow({ copies }: Schedule, stage: number, size: (chunk: number, unit: number) => number): CopiedActivations {
  if (copies === undefined) return nothingCopied;
  const { start, after, before, back, chunk, unit } = copies;
  const changes = new Map<number, number>();
  for (let copy = start[stage] ?? 0; copy < (start[stage + 1] ?? 0); copy++) {
    const own = size(chunk[copy] ?? 0, unit[copy] ?? 0);
    const row = back[copy] === 1 ? (after[copy] ?? 0) + 1 : (before[copy] ?? 0);
    changes.set(row, (changes.get(row) ?? 0) + (back[copy] === 1 ? own : -own));
  }
  return { lent: lentTo({ copies }, stage, size), change: (row) => changes.get(row) ?? 0 };
}

const nothingCopied: CopiedActivations = { lent: 0, change: () => 0 };

/** Gradients of the keys and values of all slices of a sequence; unit `last` is its last, slice `slice`. */
function sequenceGradients({ alike, unitKinds }: ChunkMemory, last: number, slice: number): number {
  let bytes = 0;
  for (let index = last - slice; index <= last; index++) bytes += alike[unitKinds[index] ?? 0]?.keyValueGradients ?? 0;
  return bytes;
}

/** Held by a unit between its forward and its backward. */
function savedBytes({ activations, keysValues, logits }: UnitMemory): number {
  return activations + keysValues + logits;
}

/** The most that the operations of a stage hold at once; the first such point. */
export function stagePeak(schedule: Schedule, chunks: readonly ChunkMemory[], stage: number): StagePeak {
  interface PeakPoint {
    readonly row: number;
    readonly own: UnitMemory;
    readonly moment: BusiestMoment;
    readonly alive: AliveBytes;
  }
  const peak = { bytes: 0 };
  let found: PeakPoint | null = null;
  const visit: Visit = (row, own, moment, alive, duringBytes) => {
    peak.bytes = duringBytes;
    found = { row, own, moment, alive };
  };
  walkStage(schedule, chunks, stage, visit, peak);
  const at = ((): PeakPoint | null => found)();
  if (at === null) return { row: -1, operation: 'none', alive: nothingAlive, working: 0, bytes: peak.bytes };
  const { row, own, moment, alive } = at;
  return {
    row,
    operation: moment.operation,
    working: moment.working,
    bytes: peak.bytes,
    alive: aliveAt(alive, own, moment, schedule.kind[row]),
  };
}

/** What is alive at the busiest moment of an operation that found `alive`. */
function aliveAt(alive: AliveBytes, own: UnitMemory, moment: BusiestMoment, kind: number | undefined): AliveBytes {
  if (kind === operationKind.backwardWeight) return { ...alive };
  return {
    activations: alive.activations - own.activations + moment.activations,
    keysValues: alive.keysValues - own.keysValues + moment.keysValues,
    keyValueGradients: alive.keyValueGradients,
    logits: alive.logits - own.logits + moment.logits,
    keptForWeights: alive.keptForWeights + moment.keptForWeights,
  };
}

/** What is alive after an operation that found `alive`. */
function aliveAfter(alive: AliveBytes, own: UnitMemory, kind: number | undefined): AliveBytes {
  const { forward, backward, backwardWeight } = operationKind;
  if (kind === forward) return alive;
  if (kind === backwardWeight) return { ...alive, keptForWeights: alive.keptForWeights - own.keptForWeights };
  return {
    activations: alive.activations - own.activations,
    keysValues: alive.keysValues - own.keysValues,
    keyValueGradients: alive.keyValueGradients - own.keyValueGradients,
    logits: alive.logits - own.logits,
    keptForWeights: alive.keptForWeights + (kind === backward ? 0 : own.keptForWeights),
  };
}

/**
 * Bytes in use on one stage over time: `staticBytes` always, what units hold, and during each operation what it additionally holds at its
 * busiest moment. One point at 0, one at the start of each operation and one at the end of each backward, and of each forward that held
 * more; the highest is the stage's peak.
 *
 * @param chunks one per chunk of the timeline.
 */
export function liveCurve(timeline: Timeline, chunks: readonly ChunkMemory[], stage: number, staticBytes: number): LiveCurve {
  const { rowStart, kind, startMs, endMs } = timeline;
  const rows = (rowStart[stage + 1] ?? 0) - (rowStart[stage] ?? 0);
  const timeMs = new Float64Array(2 * rows + 1);
  const bytes = new Float64Array(2 * rows + 1);
  bytes[0] = staticBytes;
  let points = 1;
  walkStage(timeline, chunks, stage, (row, _own, _moment, _alive, duringBytes, afterBytes) => {
    timeMs[points] = startMs[row] ?? 0;
    bytes[points++] = staticBytes + duringBytes;
    if (kind[row] === operationKind.forward && afterBytes === duringBytes) return;
    timeMs[points] = endMs[row] ?? 0;
    bytes[points++] = staticBytes + afterBytes;
  });
  return { timeMs: timeMs.slice(0, points), bytes: bytes.slice(0, points) };
}

/** `liveCurve` with the parts of memory at each point. */
export function liveParts(timeline: Timeline, chunks: readonly ChunkMemory[], stage: number, staticBytes: number): LiveParts {
  const { timeMs, bytes } = liveCurve(timeline, chunks, stage, staticBytes);
  const parts = Object.fromEntries(livingParts.map((part) => [part, new Float64Array(timeMs.length)])) as Record<LivingPart, Float64Array>;
  let points = 1;
  const put = (alive: AliveBytes, working: number): void => {
    const living = livingBytes(alive, working);
    for (const part of livingParts) parts[part][points] = living[part];
    points++;
  };
  walkStage(timeline, chunks, stage, (row, own, moment, alive, duringBytes, afterBytes) => {
    const kind = timeline.kind[row];
    put(aliveAt(alive, own, moment, kind), moment.working);
    if (kind === operationKind.forward && afterBytes === duringBytes) return;
    put(aliveAfter(alive, own, kind), 0);
  });
  return { timeMs, bytes, parts };
}

/**
 * Most units that are on one stage at once, from the start of their forward to the end of their backward, the weight gradient included; a
 * unit counts once for each chunk that it is on. What other stages have lent counts too.
 * Depends only on the order.
 */
export function maximumUnitsInFlight(schedule: Schedule, stage: number): number {
  const { rowStart, kind } = schedule;
  const { forward, backwardInput } = operationKind;
  const copied = copiedByRow(schedule, stage, () => 1);
  let live = copied.lent;
  let most = 0;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    live += copied.change(row);
    if (kind[row] === forward) most = Math.max(most, ++live);
    else if (kind[row] !== backwardInput) live--;
  }
  return most;
}
