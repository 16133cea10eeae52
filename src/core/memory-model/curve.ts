import { lentTo } from '../schedules/activation-copies';
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

/** What of `alive` and of what an operation works with is which part of memory, bytes. */
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
 * Sees one operation of a walk; no object is made for each.
 *
 * @param alive what it finds, a forward's own tensors included; valid during the call.
 * @param duringBytes in use during the operation, its busiest moment taken for all of it.
 * @param afterBytes in use after it.
 */
type Visit = (row: number, own: UnitMemory, moment: BusiestMoment, alive: AliveBytes, duringBytes: number, afterBytes: number) => void;

/**
 * Goes through the operations of one stage in order. They run one after the other, so what is alive depends only on the order; an
 * overlapped pair counts as its forward, then its backward, which is the most it can hold.
 */
function walkStage(schedule: Schedule, chunks: readonly ChunkMemory[], stage: number, visit: Visit): void {
  const { units, rowStart, kind, chunk, unit } = schedule;
  const copied = copiedByRow(schedule, stage, (on, of) => chunks[on]?.alike[chunks[on].unitKinds[of] ?? 0]?.activations ?? 0);
  const alive = { activations: copied.lent, keysValues: 0, keyValueGradients: 0, logits: 0, keptForWeights: 0 };
  const { forward, backward, backwardWeight } = operationKind;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const index = unit[row] ?? 0;
    alive.activations += copied.change(row);
    const memory = chunks[chunk[row] ?? 0];
    const own = memory?.alike[memory.unitKinds[index] ?? 0];
    if (memory === undefined || own === undefined) continue;
    if (kind[row] === forward) {
      alive.activations += own.activations;
      alive.keysValues += own.keysValues;
      alive.logits += own.logits;
      const bytes = aliveBytes(alive);
      const duringBytes = bytes + (momentBytes(own.forward) - savedBytes(own));
      visit(row, own, own.forward, alive, duringBytes, bytes);
      continue;
    }
    if (kind[row] === backwardWeight) {
      const bytes = aliveBytes(alive);
      const moment = own.backwardWeight;
      visit(row, own, moment, alive, bytes + moment.working, bytes - own.keptForWeights);
      alive.keptForWeights -= own.keptForWeights;
      continue;
    }
    const whole = kind[row] === backward;
    const moment = whole ? own.backward : own.backwardInput;
    const kept = whole ? 0 : own.keptForWeights;
    if (own.keyValueGradients > 0 && units[index + 1]?.microBatch !== units[index]?.microBatch)
      alive.keyValueGradients += sequenceGradients(memory, index, units[index]?.slice ?? 0);
    const others = aliveBytes(alive) - savedBytes(own);
    visit(row, own, moment, alive, others + momentBytes(moment), others - own.keyValueGradients + kept);
    alive.activations -= own.activations;
    alive.keysValues -= own.keysValues;
    alive.logits -= own.logits;
    alive.keyValueGradients -= own.keyValueGradients;
    alive.keptForWeights += kept;
  }
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

/** Gradients of the keys and values of all slices of a sequence, of which unit `last` is the last, slice `slice`. */
function sequenceGradients({ alike, unitKinds }: ChunkMemory, last: number, slice: number): number {
  let bytes = 0;
  for (let index = last - slice; index <= last; index++) bytes += alike[unitKinds[index] ?? 0]?.keyValueGradients ?? 0;
  return bytes;
}

/** Held by a unit between its forward and its backward. */
function savedBytes({ activations, keysValues, logits }: UnitMemory): number {
  return activations + keysValues + logits;
}

function aliveBytes({ activations, keysValues, keyValueGradients, logits, keptForWeights }: AliveBytes): number {
  return activations + keysValues + logits + keyValueGradients + keptForWeights;
}

/** The most that the operations of a stage hold at once; the first such point. */
export function stagePeak(schedule: Schedule, chunks: readonly ChunkMemory[], stage: number): StagePeak {
  // Where all forwards come first each is a new peak: only its numbers are kept.
  const at = { row: -1, own: null as UnitMemory | null, moment: null as BusiestMoment | null };
  const found = { ...nothingAlive };
  let bytes = 0;
  walkStage(schedule, chunks, stage, (row, own, moment, alive, duringBytes) => {
    if (duringBytes <= bytes) return;
    bytes = duringBytes;
    at.row = row;
    at.own = own;
    at.moment = moment;
    found.activations = alive.activations;
    found.keysValues = alive.keysValues;
    found.keyValueGradients = alive.keyValueGradients;
    found.logits = alive.logits;
    found.keptForWeights = alive.keptForWeights;
  });
  const { row, own, moment } = at;
  if (own === null || moment === null) return { row, operation: 'none', alive: nothingAlive, working: 0, bytes };
  const { operation, working } = moment;
  return { row, operation, working, bytes, alive: aliveAt(found, own, moment, schedule.kind[row]) };
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
