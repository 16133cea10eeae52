import { memoized } from '../records';
import type { WholeSliceTime } from '../domain/slice-cost';
import { placeChunks, toScheduleProblem } from '../schedules/registry';
import type { ScheduleKind } from '../schedules/kind';
import { operationKind } from '../schedules/schedule';
import { maximum, minimum } from '../numbers';

/*
 * docs/model/search.md, Bounds of a point. Bounds for any schedule whose order does not depend on times. The order of a single stage (which
 * passes come before its first backward, before its last forward, after its last input gradient) holds for all pass times, and gives
 * chains of operations that run one after another.
 */

/** Time of one micro-batch on one chunk, ms. `weightMs` is the part of `backwardMs` that makes gradients of weights. */
export interface ChunkTimes extends WholeSliceTime {
  readonly weightMs: number;
}

/**
 * Passes of a stage, by the place of their chunk among its own: entry `kind * chunks + place` with kind 0 forward, 1 input gradient, 2
 * weight gradient (a whole backward is both).
 */
type Passes = Uint32Array;

/** A pass that the chains below depend on. */
interface Pass {
  readonly chunk: number;
  readonly unit: number;
}

/** Micro-batches at one moment, by the place of their chunk: between forward and input gradient, and between input and weight gradient. */
export interface InFlight {
  readonly alive: Uint32Array;
  readonly waiting: Uint32Array;
}

/** Facts on the order of one stage. */
export interface StageOrder {
  /** Its chunks, in order of the layers. */
  readonly own: readonly number[];
  readonly firstForward: Pass;
  readonly firstBackward: Pass;
  readonly beforeFirstBackward: Passes;
  readonly lastForward: Pass;
  readonly beforeLastForward: Passes;
  readonly lastInput: Pass;
  readonly afterLastInput: Passes;
  /**
   * What it holds where that is most: micro-batches before their input gradient, those that wait for weight gradients, and both together.
   */
  readonly held: readonly InFlight[];
}

/** Facts on the order of a schedule: of the stages at the ends and one between. */
export interface Orders {
  readonly stages: number;
  readonly microBatches: number;
  readonly byStage: ReadonlyMap<number, StageOrder>;
}

/**
 * Orders by schedule, stages, chunks and micro-batches, worked out once. Micro-batches are whole sequences; not for schedules that are
 * planned for times.
 */
export function createOrders(): (kind: ScheduleKind, stages: number, chunksPerStage: number, microBatches: number) => Orders {
  const known = new Map<string, Orders>();
  return (kind, stages, chunksPerStage, microBatches) => {
    const key = `${kind.name},${stages},${chunksPerStage},${microBatches}`;
    return memoized(known, key, () => readOrders(kind, stages, chunksPerStage, microBatches));
  };
}

function readOrders(kind: ScheduleKind, stages: number, chunksPerStage: number, microBatches: number): Orders {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [1] }));
  const order = kind.order(toScheduleProblem(scheme, stages, chunksPerStage));
  const stageOfChunk = placeChunks(kind.placement, stages, chunksPerStage);
  const looked = [...new Set([0, 1, stages >> 1, stages - 2, stages - 1])].filter((stage) => stage >= 0 && stage < stages);
  const chunksOnStage = (stage: number): number[] => [...stageOfChunk.keys()].filter((chunk) => stageOfChunk[chunk] === stage);
  return { stages, microBatches, byStage: new Map(looked.map((stage) => [stage, readStage(order, stage, stages, chunksOnStage(stage))])) };
}

function readStage(order: ReturnType<ScheduleKind['order']>, stage: number, stages: number, own: readonly number[]): StageOrder {
  const { forward, backward, backwardWeight } = operationKind;
  const chunks = own.length;
  const done = new Uint32Array(3 * chunks);
  const first: { forward: Pass | null; backward: Pass | null } = { forward: null, backward: null };
  const last = { forward: { chunk: stage, unit: 0 }, input: { chunk: stage, unit: 0 } };
  const [beforeFirstBackward, beforeLastForward, afterLastInput] = [done.slice(), done.slice(), done.slice()];
  const [mostAlive, mostWaiting, mostHeld] = [heldBy(chunks, 0, 1), heldBy(chunks, 1, 2), heldBy(chunks, 0, 2)];
  order(stage, (kind, chunk, unit) => {
    const place = Math.floor(chunk / stages);
    const count = (passes: Passes, part: 0 | 1 | 2): void => {
      passes[part * chunks + place] = (passes[part * chunks + place] ?? 0) + 1;
    };
    if (kind === backwardWeight) {
      count(done, 2);
      count(afterLastInput, 2);
    } else if (kind === forward) {
      first.forward ??= { chunk, unit };
      last.forward = { chunk, unit };
      beforeLastForward.set(done);
      count(done, 0);
    } else {
      if (first.backward === null) beforeFirstBackward.set(done);
      first.backward ??= { chunk, unit };
      last.input = { chunk, unit };
      afterLastInput.fill(0);
      count(done, 1);
      if (kind === backward) count(done, 2);
    }
    if (kind === forward) mostAlive.observe(done);
    else if (kind !== backwardWeight) mostWaiting.observe(done);
    if (kind !== backwardWeight) mostHeld.observe(done);
  });
  return {
    own,
    beforeFirstBackward,
    beforeLastForward,
    afterLastInput,
    held: [mostAlive.held, mostWaiting.held, mostHeld.held],
    firstForward: first.forward ?? last.forward,
    firstBackward: first.backward ?? last.input,
    lastForward: last.forward,
    lastInput: last.input, // prettier-ignore
  };
}

/** Keeps what is held at the moment at which passes of kind `from` less those of kind `to` are most. */
function heldBy(chunks: number, from: 0 | 1, to: 1 | 2): { readonly held: InFlight; readonly observe: (done: Passes) => void } {
  const held = { alive: new Uint32Array(chunks), waiting: new Uint32Array(chunks) };
  let most = 0;
  return {
    held,
    observe: (done) => {
      let sum = 0;
      for (let at = 0; at < chunks; at++) sum += (done[from * chunks + at] ?? 0) - (done[to * chunks + at] ?? 0);
      if (sum <= most) return;
      most = sum;
      for (let at = 0; at < chunks; at++) {
        held.alive[at] = (done[at] ?? 0) - (done[chunks + at] ?? 0);
        held.waiting[at] = (done[chunks + at] ?? 0) - (done[2 * chunks + at] ?? 0);
      }
    },
  };
}

/** Sums over chunks, from the first on. */
interface Sums {
  /** Of the chunks before each, and one entry for the end. */
  readonly forwardMs: Float64Array;
  readonly inputMs: Float64Array;
}

function prefixSums(chunks: readonly ChunkTimes[]): Sums {
  const [forwardMs, inputMs] = [new Float64Array(chunks.length + 1), new Float64Array(chunks.length + 1)];
  chunks.forEach((chunk, index) => {
    forwardMs[index + 1] = (forwardMs[index] ?? 0) + chunk.forwardMs;
    inputMs[index + 1] = (inputMs[index] ?? 0) + chunk.backwardMs - chunk.weightMs;
  });
  return { forwardMs, inputMs };
}

/**
 * Least makespan, ms, of any order of whole micro-batches alike: a stage's work comes after the forwards before its first chunk; and its
 * forwards and input gradients come before the input gradients of the chunks before that one and the weight gradient of the first chunk.
 *
 * @param chunks in order of the layers; chunk s is the first of stage s.
 * @param stages all chunks of each together.
 * @param spans the least of the longest span of a stage, from its first start to its last end, instead of the makespan: then chains count
 * that begin and end on one stage.
 */
export function anyOrderBound(chunks: readonly ChunkTimes[], stages: readonly ChunkTimes[], microBatches: number, spans: boolean): number {
  const sums = prefixSums(chunks);
  const firstWeightMs = chunks[0]?.weightMs ?? 0;
  return stages.reduce((most, { forwardMs, backwardMs, weightMs }, stage) => {
    const before = sums.forwardMs[stage] ?? 0;
    const drain = (sums.inputMs[stage] ?? 0) + firstWeightMs;
    const work = microBatches * (forwardMs + backwardMs);
    return Math.max(most, spans ? work : before + work, before + work - microBatches * weightMs + drain);
  }, 0);
}

/** Bytes that the micro-batches on each stage may hold together, and that one saves on each chunk. */
export interface Room {
  readonly stageBytes: readonly number[];
  readonly savedBytes: readonly number[];
}

/**
 * Least makespan, ms, of any order that holds no more than `room` on any stage:
 * - a micro-batch is on a chunk from its forward on through the later chunks and back, and what all of them hold, for as long, is no more
 *   than the room for the whole time;
 * - before the first input gradient on a stage there is room for this many forwards.
 *
 * @param own chunks of each stage, in order of the layers.
 * @param spans as in `anyOrderBound`.
 */
export function roomBound(
  chunks: readonly ChunkTimes[],
  own: readonly (readonly number[])[],
  microBatches: number,
  { stageBytes, savedBytes }: Room,
  spans: boolean,
): number {
  const sums = prefixSums(chunks);
  const [allForward, allInput] = [sums.forwardMs.at(-1) ?? 0, sums.inputMs.at(-1) ?? 0];
  const from = (sum: Float64Array, all: number, chunk: number): number => all - (sum[chunk] ?? 0);
  const total = (mine: readonly number[], value: (chunk: number) => number): number => mine.reduce((sum, chunk) => sum + value(chunk), 0);
  return own.reduce((most, mine, stage) => {
    const room = stageBytes[stage] ?? 0;
    const saved = (chunk: number): number => savedBytes[chunk] ?? 0;
    const forwardMs = (chunk: number): number => chunks[chunk]?.forwardMs ?? 0;
    const fitting = (chunk: number): number => (saved(chunk) > 0 ? room / saved(chunk) : Infinity);
    const ahead = Math.min(
      microBatches * total(mine, forwardMs),
      minimum(
        mine.length === 1
          ? mine.map((chunk) => Math.floor(fitting(chunk)) * forwardMs(chunk))
          : [maximum(mine.map((chunk) => fitting(chunk) * forwardMs(chunk)))],
      ),
    );
    const work = total(mine, (chunk) => microBatches * wholeMs(chunks[chunk]));
    const held = total(mine, (chunk) => saved(chunk) * (from(sums.forwardMs, allForward, chunk) + from(sums.inputMs, allInput, chunk)));
    const reached = spans ? (sums.forwardMs[mine[0] ?? 0] ?? 0) : 0;
    const returned = allForward - reached + from(sums.inputMs, allInput, (mine.at(-1) ?? 0) + 1);
    return Math.max(most, room > 0 ? (microBatches * held) / room : 0, returned + work - ahead);
  }, 0);
}

/**
 * Least makespan, ms, of a schedule whose orders are known, micro-batches all alike: the longest of these chains over the stages read. A
 * stage's work is cut at its first backward, its last forward and its last input gradient:
 * - `reached + total + ending`: the first forward reaches the stage, which does all its work;
 * - `returned + total - early + ending`: a micro-batch goes through all chunks and comes back for the stage's first backward, which leaves
 *   all work but the passes before it (`early`);
 * - `reached + through + turned`: the stage works up to its last forward (`through`), whose micro-batch continues through the later chunks
 *   and back through all;
 * - `returned + through - early + turned`, where the first backward comes before the last forward;
 * - `reached + through + back + total - early + ending`, where it does not and is of the last forward's micro-batch: `back` is that one's
 *   way from there to the first backward.
 *
 * `ending` is what the input gradients of the earlier chunks and a weight gradient of the first chunk take beyond the stage's own weight
 * gradients, after its last input gradient.
 *
 * @param boundaryMs that the first forward and the last backward of stage 0 wait at each boundary between the stages' first chunks.
 * @param spans as in `anyOrderBound`.
 */
export function orderBound(
  chunks: readonly ChunkTimes[],
  { stages, microBatches, byStage }: Orders,
  boundaryMs: number,
  spans: boolean,
): number {
  const sums = prefixSums(chunks);
  const ends = byStage.get(0);
  const at = (sum: Float64Array, index: number): number => sum[index] ?? 0;
  const allForward = at(sums.forwardMs, chunks.length);
  const allInput = at(sums.inputMs, chunks.length);
  const firstWeightMs = chunks[0]?.weightMs ?? 0;
  /** Waits at the boundaries between two chunks of those below `stages`. */
  const hops = (from: number, to: number): number => boundaryMs * (Math.min(to, stages - 1) - Math.min(from, stages - 1));
  const downMs = ({ unit }: Pass, from: number, to: number): number => (unit === ends?.firstForward.unit ? hops(from, to) : 0);
  const upMs = ({ unit }: Pass, from: number, to: number): number => (unit === ends?.lastInput.unit ? hops(to, from) : 0);
  let most = 0;
  for (const { own, ...order } of byStage.values()) {
    const passesTime = (passes: Passes): number => passesMs(passes, own, chunks);
    const total = own.reduce((sum, chunk) => sum + microBatches * wholeMs(chunks[chunk]), 0);
    const { firstForward, firstBackward, lastForward, lastInput } = order;
    const reached = at(sums.forwardMs, firstForward.chunk) + downMs(firstForward, 0, firstForward.chunk);
    const returned =
      allForward +
      downMs(firstBackward, 0, stages) +
      allInput -
      at(sums.inputMs, firstBackward.chunk + 1) +
      upMs(firstBackward, stages, firstBackward.chunk);
    const drained = at(sums.inputMs, lastInput.chunk) + (lastInput.chunk > 0 ? firstWeightMs : 0) + upMs(lastInput, lastInput.chunk, 0);
    const ending = Math.max(spans ? -Infinity : 0, drained - passesTime(order.afterLastInput));
    const early = passesTime(order.beforeFirstBackward);
    const through = passesTime(order.beforeLastForward);
    const turned =
      allForward -
      at(sums.forwardMs, lastForward.chunk) +
      downMs(lastForward, lastForward.chunk, stages) +
      allInput +
      firstWeightMs +
      upMs(lastForward, stages, 0);
    most = Math.max(most, total, reached + total + ending, returned + total - early + ending, reached + through + turned);
    if (through > early) most = Math.max(most, returned + through - early + turned);
    else if (lastForward.unit === firstBackward.unit) {
      const back = allForward - at(sums.forwardMs, lastForward.chunk) + allInput - at(sums.inputMs, firstBackward.chunk + 1);
      most = Math.max(most, reached + through + back + total - early + ending);
    }
  }
  return most;
}

function wholeMs(chunk: ChunkTimes | undefined): number {
  return chunk === undefined ? 0 : chunk.forwardMs + chunk.backwardMs;
}

function passesMs(passes: Passes, own: readonly number[], chunks: readonly ChunkTimes[]): number {
  return own.reduce((sum, chunk, place) => {
    const { forwardMs = 0, backwardMs = 0, weightMs = 0 } = chunks[chunk] ?? {};
    const of = (part: 0 | 1 | 2): number => passes[part * own.length + place] ?? 0;
    return sum + of(0) * forwardMs + of(1) * (backwardMs - weightMs) + of(2) * weightMs;
  }, 0);
}
