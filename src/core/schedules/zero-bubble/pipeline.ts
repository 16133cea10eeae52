import type { Emit, ScheduleProblem } from '../kind';
import { operationKind, type OperationKind } from '../schedule';

/**
 * What a zero-bubble planner plans: micro-batches that walk a chain of `links` passes, down the chunks forward and up again backward, and leave a weight gradient at each chunk.
 * Link x is the forward of chunk x, or the input gradient of chunk `links - 1 - x`; it needs link x - 1 of the same micro-batch, and nothing else.
 *
 * An order is written in words: stage s owns letters `s * length` to `(s + 1) * length - 1`, and letter `kind * slots + slot` is the next forward (kind 0), input gradient (1) or weight
 * gradient (2) of the stage's chunk in that slot. Micro-batches are alike, so each letter takes the lowest micro-batch not yet taken.
 */
export interface Pipeline {
  readonly problem: ScheduleProblem;
  readonly stages: number;
  /** Chunks on each stage: chunk s, and with two slots chunk `2 * stages - 1 - s`. */
  readonly slots: 1 | 2;
  readonly microBatches: number;
  /** Different letters, `3 * slots`. */
  readonly letters: number;
  /** Letters in a stage's word. */
  readonly length: number;
  readonly links: number;
  readonly stageOfLink: Uint32Array;
  /** Its letter in the word of its stage. */
  readonly letterOfLink: Uint8Array;
  /** Time to hand over from the link before, ms. */
  readonly lagMs: Float64Array;
  /** Entry `stage * letters + letter`: the link, or -1 for a weight gradient. */
  readonly linkOfLetter: Int32Array;
  /** Entry `stage * letters + letter`: the letter of the same stage that must have come as often before, or -1. */
  readonly needs: Int8Array;
  /** Entry `stage * letters + letter`. */
  readonly durationMs: Float64Array;
  /** Memory that a letter takes when it starts (forward) or gives back when it ends. */
  readonly memory: Float64Array;
  readonly limit: number;
}

/** Kinds of operations, in the order of their letters. */
export const wordKinds: readonly OperationKind[] = [operationKind.forward, operationKind.backwardInput, operationKind.backwardWeight];

/** @param slots chunks on each stage, 1 or 2 in a V: each has its share of the stage's time and memory. */
export function pipelineOf(problem: ScheduleProblem, slots: 1 | 2): Pipeline {
  const { stages, microBatches, times, memory } = problem;
  const chunks = stages * slots;
  const links = 2 * chunks;
  const letters = wordKinds.length * slots;
  const chunkOfLink = (link: number): number => (link < chunks ? link : links - 1 - link);
  const stageOfLink = Uint32Array.from({ length: links }, (_, link) => stageOfChunk(chunkOfLink(link), stages));
  const letterOfLink = Uint8Array.from(stageOfLink, (stage, link) => (link < chunks ? 0 : slots) + (chunkOfLink(link) === stage ? 0 : 1));
  const linkOfLetter = new Int32Array(stages * letters).fill(-1);
  stageOfLink.forEach((stage, link) => {
    linkOfLetter[stage * letters + (letterOfLink[link] ?? 0)] = link;
  });
  const perKind = [times.forwardMs, times.backwardInputMs, times.backwardWeightMs];
  const kindOf = (letter: number): number => Math.floor(letter / slots);
  // An input gradient that takes memory is counted from its forward on: stricter, and then only forwards have to look at the limit.
  const held = [memory.forward + Math.max(0, memory.backwardInput), Math.min(0, memory.backwardInput), memory.backwardWeight];
  return {
    problem,
    stages,
    slots,
    microBatches,
    letters,
    length: letters * microBatches,
    links,
    stageOfLink,
    letterOfLink,
    lagMs: Float64Array.from(stageOfLink, (stage, link) => (link === 0 || stageOfLink[link - 1] === stage ? 0 : times.sendMs)),
    linkOfLetter,
    needs: Int8Array.from(linkOfLetter, (link, index) => {
      const letter = index % letters;
      if (link > 0 && stageOfLink[link - 1] === Math.floor(index / letters)) return letterOfLink[link - 1] ?? -1;
      return letter < slots ? -1 : letter - slots;
    }),
    durationMs: Float64Array.from(
      linkOfLetter,
      (_, index) => (perKind[kindOf(index % letters)]?.[Math.floor(index / letters)] ?? 0) / slots,
    ),
    memory: Float64Array.from({ length: letters }, (_, letter) => (held[kindOf(letter)] ?? 0) / slots),
    limit: memory.limit + roundingOf(memory.limit),
  };
}

/** The same pipeline for the first micro-batches only. */
export function withMicroBatches({ problem, slots }: Pipeline, microBatches: number): Pipeline {
  const { units, firstUnit } = problem;
  return pipelineOf(
    { ...problem, microBatches, units: units.slice(0, microBatches), firstUnit: firstUnit.slice(0, microBatches + 1) },
    slots,
  );
}

/** The words of an order that is there already. */
export function wordsOf({ stages, slots, length }: Pipeline, order: (stage: number, emit: Emit) => void): Uint8Array {
  const words = new Uint8Array(stages * length);
  for (let stage = 0; stage < stages; stage++) {
    let at = stage * length;
    order(stage, (kind, chunk) => {
      words[at++] = wordKinds.indexOf(kind) * slots + (chunk === stage ? 0 : 1);
    });
  }
  return words;
}

/** Stage of a chunk that lies alone on its stage, or in a V. */
function stageOfChunk(chunk: number, stages: number): number {
  return chunk < stages ? chunk : 2 * stages - 1 - chunk;
}

/** What sums of thousands of shares may be off by. */
function roundingOf(limit: number): number {
  return Number.isFinite(limit) ? 1e-9 * Math.abs(limit) : 0;
}

/** Whether a stage's word takes each step after the one it needs on the same stage, and holds no more than the limit at any moment. `counts` is scratch, one entry per letter. */
export function fits(pipeline: Pipeline, words: Uint8Array, stage: number, counts: Int32Array): boolean {
  const { letters, length, memory, limit, needs } = pipeline;
  counts.fill(0);
  let held = 0;
  for (let at = stage * length; at < (stage + 1) * length; at++) {
    const letter = words[at] ?? 0;
    const count = (counts[letter] ?? 0) + 1;
    counts[letter] = count;
    const needed = needs[stage * letters + letter] ?? -1;
    if (needed >= 0 && count > (counts[needed] ?? 0)) return false;
    const change = memory[letter] ?? 0;
    held += change;
    if (change > 0 && held > limit) return false;
  }
  return true;
}
