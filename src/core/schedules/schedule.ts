import type { Scheme } from '../domain/scheme';

/**
 * Values of the `kind` column. `backward` is the full one; zero-bubble schedules split it in the gradient of the input, which the stage
 * before waits for, and the gradient of the weights, which nobody waits for (arXiv 2401.10241; F, B, I and W in PyTorch's schedules).
 */
export const operationKind = { forward: 0, backward: 1, backwardInput: 2, backwardWeight: 3 } as const;
export type OperationKind = (typeof operationKind)[keyof typeof operationKind];

/** What flows down the pipeline as one piece: a token slice of a batch chunk. Unsliced schedules have slice 0 only. */
export interface WorkUnit {
  /** Index of the batch chunk (micro-batch), from 0. */
  readonly microBatch: number;
  /** Index of the token slice inside it, from 0. */
  readonly slice: number;
  /** Sequences in the chunk. */
  readonly batch: number;
  /** Tokens of each sequence in this slice, and tokens before it. */
  readonly tokens: number;
  readonly context: number;
  /** The pipeline drains after this unit: the last one of a round, where another follows. */
  readonly endsRound?: true;
  /** Lengths of the documents packed in it; absent: one, or a slice of one. */
  readonly documents?: readonly number[];
}

/**
 * Saved activations that leave a stage's GPU after a forward and come back before their backward, in columns: copies of stage s are
 * `start[s]` to `start[s + 1] - 1`, in the order in which it issues them.
 */
export interface ActivationCopies {
  readonly start: Uint32Array;
  /**
   * Row of the schedule, of the same stage, at whose end a copy may start; one that leaves also waits for what comes back for the next row,
   * so that where it goes there is room.
   */
  readonly after: Uint32Array;
  /** Row that waits until it is done: from then on it is gone, or back. */
  readonly before: Uint32Array;
  readonly chunk: Uint32Array;
  readonly unit: Uint32Array;
  /** 1 where it comes back. */
  readonly back: Uint8Array;
  /** Of each stage, the stage on whose GPU its copies lie; `host` where they lie in host memory. */
  readonly to: Int32Array;
}

/** In place of a stage: host memory. */
export const host = -1;

/**
 * Order of operations per stage, in columns: stage s owns rows `rowStart[s]` to `rowStart[s + 1] - 1`.
 *
 * A stage is one place of the pipeline, with its devices (a rank in PyTorch). It holds one or several model chunks (virtual stages; what
 * PyTorch counts as stages); chunks are numbered in the order of the layers, so that chunk c hands on to chunk c + 1, on whatever stage
 * that lies.
 */
export interface Schedule {
  /** `1F1B`, `ZBVZeroBubble`, ..., or the file it was read from. */
  readonly name: string;
  readonly stages: number;
  /** Stage of each chunk. */
  readonly stageOfChunk: Uint32Array;
  readonly units: readonly WorkUnit[];
  readonly rowStart: Uint32Array;
  /** One of `operationKind` per row. */
  readonly kind: Uint8Array;
  readonly chunk: Uint32Array;
  /** Index into `units` per row. */
  readonly unit: Uint32Array;
  /** 1 on a forward that runs at the same time as the backward in the next row (OVERLAP_F_B of DualPipeV); null where no rows do. */
  readonly overlapsNext: Uint8Array | null;
  /** Activations that leave a stage and come back; absent: none do. */
  readonly copies?: ActivationCopies;
  /** Nothing runs backward: a prompt on its way to its first token. */
  readonly forwardOnly?: true;
}

/**
 * A schedule with times. Rows of a stage ascend in `startMs`; an overlapped pair is placed one after the other, as long as both together.
 */
export interface Timeline extends Schedule {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  /**
   * When what a row sends is ready on the next (or for gradients the previous) chunk: later than its end by waiting for a link and sending.
   * Null where everything is ready as it ends.
   */
  readonly arrivalMs: Float64Array | null;
  readonly makespanMs: number;
  /** When each of `copies` runs; absent where there are none. */
  readonly copyTimes?: CopyTimes;
}

/** In the order of the columns of the copies, ms. */
export interface CopyTimes {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
}

/** The work units of a scheme, in order of batch chunk, then token position. */
export function schemeUnits(scheme: Scheme): WorkUnit[] {
  return scheme.flatMap(({ batch, tokens: lengths, endsRound, documents }, microBatch) => {
    let context = 0;
    return lengths.map((tokens, slice) => {
      const unit = { microBatch, slice, batch, tokens, context, ...(documents === undefined ? {} : { documents }) };
      context += tokens;
      return endsRound === true && slice === lengths.length - 1 ? { ...unit, endsRound } : unit;
    });
  });
}

/** Chunks of one prompt that go down the stages one after the other; nothing comes back. @param chunks tokens of each. */
export function forwardOnlySchedule(chunks: readonly number[], stages: number): Schedule {
  const rows = stages * chunks.length;
  return {
    name: 'prefill',
    stages,
    stageOfChunk: Uint32Array.from({ length: stages }, (_, stage) => stage),
    units: schemeUnits([{ batch: 1, tokens: chunks }]),
    rowStart: Uint32Array.from({ length: stages + 1 }, (_, stage) => stage * chunks.length),
    kind: new Uint8Array(rows).fill(operationKind.forward),
    chunk: Uint32Array.from({ length: rows }, (_, row) => Math.floor(row / chunks.length)),
    unit: Uint32Array.from({ length: rows }, (_, row) => row % chunks.length),
    overlapsNext: null,
    forwardOnly: true,
  };
}
