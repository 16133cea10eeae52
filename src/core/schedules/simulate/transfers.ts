/** Busy time of each unit on each chunk, ms: entry `chunk * units.length + unit`. A full backward takes input and weight together. */
export interface Durations {
  readonly forwardMs: Float64Array;
  readonly backwardInputMs: Float64Array;
  readonly backwardWeightMs: Float64Array;
}

/**
 * How long the link from one stage to another is taken by a unit, ms per unit: bytes over bandwidth. Sends over one link wait for each
 * other, first in, first out.
 */
export interface LinkTimes {
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
}

/**
 * Time to hand a unit's activations to the next chunk and its gradients to the previous one, ms per unit; chunks on one stage hand over at
 * once. `forwardMs` and `backwardMs` are latency; what the mode means for them:
 * - `edge`: the receiver may start only that much later; the sender is free and sends are overlapped.
 * - `sending`: as `edge`, but the sender is busy while its send takes the link (`link`).
 * - `blocking`: it is busy time of the operation, on every stage alike, the ends included (TeraPipe's runtime and cost grid:
 *   docs/model/schedules.md, Transfers).
 * - `fill-and-drain`: as `edge`, but only for the first forward and the last backward of stage 0, and of these only between the first
 *   chunks of the stages, the others being hidden behind other work (Megatron's 1F1B).
 *
 * `link` is left out where links are wide; under `blocking` and `fill-and-drain` it adds to the latency. `held` is further busy time of
 * every pass, except under `blocking`.
 */
export interface Transfers {
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
  readonly link?: LinkTimes;
  readonly held?: LinkTimes;
  /**
   * All columns have an entry for each unit on each chunk, `chunk * units.length + unit`: what that chunk hands on. Absent: one for each
   * unit, alike on all chunks.
   */
  readonly perChunk?: true;
  /** Of each copy of activations of the schedule, ms; absent: they take no time. */
  readonly copyMs?: Float64Array;
  readonly mode: 'edge' | 'sending' | 'blocking' | 'fill-and-drain';
}
