import type { Scheme } from '../solver/slicing';

export const scheduleNames = ['TeraPipe', 'GPipe', '1F1B'] as const;
export type ScheduleName = (typeof scheduleNames)[number];

/** Values of the `kind` column. Backward is the full one; the split kinds come with the zero-bubble schedules. */
export const operationKind = { forward: 0, backward: 1 } as const;
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
}

/** Order of operations per stage, in columns: stage s owns rows `rowStart[s]` to `rowStart[s + 1] - 1`. */
export interface Schedule {
  readonly name: ScheduleName;
  readonly stages: number;
  readonly units: readonly WorkUnit[];
  readonly rowStart: Uint32Array;
  /** One of `operationKind` per row. */
  readonly kind: Uint8Array;
  /** Index into `units` per row. */
  readonly unit: Uint32Array;
}

/** A schedule with times. Rows of a stage ascend in `startMs` and do not overlap. */
export interface Timeline extends Schedule {
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  readonly makespanMs: number;
}

/** The work units of a scheme, in order of batch chunk, then token position. */
export function unitsOf(scheme: Scheme): WorkUnit[] {
  return scheme.flatMap(({ batch, tokens: lengths }, microBatch) => {
    let context = 0;
    return lengths.map((tokens, slice) => {
      const unit = { microBatch, slice, batch, tokens, context };
      context += tokens;
      return unit;
    });
  });
}
