// What the search of arXiv 2401.10241 (zero bubble), section 3, plans: the pipeline as chains of passes, and orders of them.
import type { ChunkPasses, Emit, ScheduleProblem } from '../kind';
import { operationKind, type OperationKind } from '../schedule';

/**
 * What a zero-bubble planner plans: micro-batches that walk a chain of `links` passes, down the chunks forward and up again backward, and
 * leave a weight gradient at each chunk.
 * Link x is the forward of chunk x, or the input gradient of chunk `links - 1 - x`; it needs link x - 1 of the same micro-batch, and
 * nothing else.
 *
 * The orders of all stages are one array: entries `s * length` to `(s + 1) * length - 1` are the order of stage s. Operation `kind * slots
 * + slot` is the next forward (kind 0), input gradient (1) or weight gradient (2) of the stage's chunk in that slot. Micro-batches are
 * alike, so each operation takes the lowest micro-batch not yet taken.
 */
export interface Pipeline {
  readonly problem: ScheduleProblem;
  readonly stages: number;
  /** Chunks on each stage: chunk s, and with two slots chunk `2 * stages - 1 - s`. */
  readonly slots: 1 | 2;
  readonly microBatches: number;
  /** Different operations of a stage, `3 * slots`. */
  readonly operationCount: number;
  /** Operations in a stage's order. */
  readonly length: number;
  readonly links: number;
  readonly stageOfLink: Uint32Array;
  /** Its operation in the order of its stage. */
  readonly operationOfLink: Uint8Array;
  /** Time of the transfer from the link before, ms. */
  readonly lagMs: Float64Array;
  /** Entry `stage * operationCount + operation`: the link, or -1 for a weight gradient. */
  readonly linkOfOperation: Int32Array;
  /** Entry `stage * operationCount + operation`: the operation of the same stage that must have run as often before, or -1. */
  readonly needs: Int8Array;
  /** Entry `stage * operationCount + operation`. */
  readonly durationMs: Float64Array;
  /** Memory that an operation takes when it starts (forward) or frees when it ends: entry `stage * operationCount + operation`. */
  readonly memory: Float64Array;
  /** Of each stage. */
  readonly limit: Float64Array;
}

/** Kinds of operations, in the order in which they are numbered. */
export const orderedKinds: readonly OperationKind[] = [operationKind.forward, operationKind.backwardInput, operationKind.backwardWeight];

/** @param slots chunks on each stage, 1 or 2 in a V. */
export function toPipeline(problem: ScheduleProblem, slots: 1 | 2): Pipeline {
  const { stages, microBatches } = problem;
  const chunks = stages * slots;
  const links = 2 * chunks;
  const operationCount = orderedKinds.length * slots;
  const chunkOfLink = (link: number): number => (link < chunks ? link : links - 1 - link);
  const stageOfLink = Uint32Array.from({ length: links }, (_, link) => stageOfChunk(chunkOfLink(link), stages));
  const operationOfLink = Uint8Array.from(
    stageOfLink,
    (stage, link) => (link < chunks ? 0 : slots) + (chunkOfLink(link) === stage ? 0 : 1),
  );
  const linkOfOperation = new Int32Array(stages * operationCount).fill(-1);
  stageOfLink.forEach((stage, link) => {
    linkOfOperation[stage * operationCount + (operationOfLink[link] ?? 0)] = link;
  });
  const { times, memory } = problem.chunkPasses ?? sharedOut(problem, slots);
  const perKind = [times.forwardMs, times.backwardInputMs, times.backwardWeightMs];
  // An input gradient that takes memory is counted from its forward on: stricter, and then only forwards have to look at the limit.
  const held = [
    memory.forward.map((bytes, chunk) => bytes + Math.max(0, memory.backwardInput[chunk] ?? 0)),
    memory.backwardInput.map((bytes) => Math.min(0, bytes)),
    memory.backwardWeight,
  ];
  const ofOperations = (columns: readonly Float64Array[]): Float64Array =>
    Float64Array.from(linkOfOperation, (_, index) => {
      const [stage, operation] = [Math.floor(index / operationCount), index % operationCount];
      const chunk = operation % slots === 0 ? stage : 2 * stages - 1 - stage;
      return columns[Math.floor(operation / slots)]?.[chunk] ?? 0;
    });
  return {
    problem,
    stages,
    slots,
    microBatches,
    operationCount,
    length: operationCount * microBatches,
    links,
    stageOfLink,
    operationOfLink,
    lagMs: Float64Array.from(stageOfLink, (stage, link) => (link === 0 || stageOfLink[link - 1] === stage ? 0 : problem.times.sendMs)),
    linkOfOperation,
    needs: Int8Array.from(linkOfOperation, (link, index) => {
      const operation = index % operationCount;
      if (link > 0 && stageOfLink[link - 1] === Math.floor(index / operationCount)) return operationOfLink[link - 1] ?? -1;
      return operation < slots ? -1 : operation - slots;
    }),
    durationMs: lengthened(ofOperations(perKind)),
    memory: ofOperations(held),
    limit: memory.limit.map((limit) => limit + roundingError(limit)),
  };
}

/**
 * Passes without a length, of chunks without a layer, get a tiny one: in a circle of such passes that wait for each other times would not
 * grow, and it would pass for an order that runs.
 */
function lengthened(durationMs: Float64Array): Float64Array {
  const least = 1e-12 * durationMs.reduce((most, ms) => Math.max(most, ms), 0);
  return durationMs.map((ms) => Math.max(ms, least));
}

/** Each chunk has its share of its stage's time and memory. */
export function sharedOut({ stages, times, memory }: ScheduleProblem, slots: 1 | 2): ChunkPasses {
  const ofChunks = (perStage: Float64Array): Float64Array =>
    Float64Array.from({ length: stages * slots }, (_, chunk) => (perStage[stageOfChunk(chunk, stages)] ?? 0) / slots);
  const alike = (bytes: number): Float64Array => new Float64Array(stages * slots).fill(bytes / slots);
  return {
    times: {
      forwardMs: ofChunks(times.forwardMs),
      backwardInputMs: ofChunks(times.backwardInputMs),
      backwardWeightMs: ofChunks(times.backwardWeightMs),
    },
    memory: {
      forward: alike(memory.forward),
      backwardInput: alike(memory.backwardInput),
      backwardWeight: alike(memory.backwardWeight),
      limit: new Float64Array(stages).fill(memory.limit),
    },
  };
}

/** The same pipeline for the first micro-batches only. */
export function withMicroBatches({ problem, slots }: Pipeline, microBatches: number): Pipeline {
  const { units, firstUnit } = problem;
  return toPipeline(
    { ...problem, microBatches, units: units.slice(0, microBatches), firstUnit: firstUnit.slice(0, microBatches + 1) },
    slots,
  );
}

/** An existing order as one array; a whole backward becomes its two halves, one after the other. */
export function toOrderArray({ stages, slots, length }: Pipeline, order: (stage: number, emit: Emit) => void): Uint8Array {
  const orders = new Uint8Array(stages * length);
  for (let stage = 0; stage < stages; stage++) {
    let at = stage * length;
    order(stage, (kind, chunk) => {
      const slot = chunk === stage ? 0 : 1;
      const halves = kind === operationKind.backward ? [operationKind.backwardInput, operationKind.backwardWeight] : [kind];
      for (const half of halves) orders[at++] = orderedKinds.indexOf(half) * slots + slot;
    });
  }
  return orders;
}

/** Stage of a chunk that is the only one of its stage, or in a V. */
function stageOfChunk(chunk: number, stages: number): number {
  return chunk < stages ? chunk : 2 * stages - 1 - chunk;
}

/** What sums of thousands of shares may be off by. */
function roundingError(limit: number): number {
  return Number.isFinite(limit) ? 1e-9 * Math.abs(limit) : 0;
}

/**
 * Whether a stage's order takes each step after the one it needs on the same stage, and holds no more than the limit at any moment.
 * `counts` is scratch, one entry per operation.
 */
export function fits(pipeline: Pipeline, orders: Uint8Array, stage: number, counts: Int32Array): boolean {
  const { operationCount, length, memory, limit, needs } = pipeline;
  counts.fill(0);
  const most = limit[stage] ?? 0;
  let held = 0;
  for (let at = stage * length; at < (stage + 1) * length; at++) {
    const operation = orders[at] ?? 0;
    const count = (counts[operation] ?? 0) + 1;
    counts[operation] = count;
    const needed = needs[stage * operationCount + operation] ?? -1;
    if (needed >= 0 && count > (counts[needed] ?? 0)) return false;
    const change = memory[stage * operationCount + operation] ?? 0;
    held += change;
    if (change > 0 && held > most) return false;
  }
  return true;
}
