import type { LogFacts } from './facts';

/** The trainers whose logs are read. */
export type LogProgram = 'megatron' | 'torchtitan' | 'deepspeed' | 'trainer';

/** One line of a log with a step, or the mean of the steps since the line before it. */
export interface LoggedStep {
  /** Number of the last iteration that the line covers; null: the line has none. */
  readonly iteration: number | null;
  readonly ms: number;
  /** Sequences of the step, if the line has them. */
  readonly globalBatch: number | null;
  /** Model TFLOP/s of a GPU, as the trainer counts them. */
  readonly tflopsPerGpu: number | null;
  /** The optimizer skipped steps of it (loss scale). */
  readonly skipped: boolean;
}

/** The highest memory that a rank logged, bytes; null: it logs none of it, or does not give which rank it is. */
export interface LoggedMemory {
  readonly rank: number | null;
  readonly allocatedBytes: number | null;
  readonly reservedBytes: number | null;
}

/** What was read from the log of a training run: the last run in it, if it has several. */
export interface RunLog {
  readonly program: LogProgram;
  readonly facts: LogFacts;
  /** The iteration that the process began after (a checkpoint); null: the log does not have it. */
  readonly startsAfter: number | null;
  readonly steps: readonly LoggedStep[];
  readonly memory: readonly LoggedMemory[];
  /** Runs in the log. */
  readonly runs: number;
}

/** Reads the lines of a log in order. */
export interface LogLines {
  /** @param line without colours and its end. */
  readonly push: (line: string) => void;
  /** Null: no line has a step. */
  readonly end: () => RunLog | null;
}

/** How a trainer logs. */
export interface LogFormat {
  readonly program: LogProgram;
  /** As people know it. */
  readonly name: string;
  /** Matches a text only if it has a step of this trainer. */
  readonly stepLine: RegExp;
  /** Matches every line that it reads and few others: most lines of a log have nothing to read. */
  readonly anyLine: RegExp;
  readonly read: () => LogLines;
}
