import type { Layout } from './types';

/** The machines that a run may be trained on, best first. */
export interface WhereAnswer {
  readonly version: 1;
  readonly title: string;
  /** Of the whole run. */
  readonly tokens: number | null;
  readonly machines: readonly {
    readonly machine: string;
    readonly gpu: string;
    readonly gpus: number;
    readonly iterationMs: number;
    readonly tokensPerSecond: number;
    readonly fits: boolean;
    /** Measured over predicted, of 80 % of runs. */
    readonly range: readonly [number, number];
    readonly layout: Layout;
    readonly schedule: string;
    readonly peakBytes: number;
    /** Of a GPU hour. */
    readonly price: number | null;
    readonly gpuHoursPerBillion: number;
    readonly costPerBillion: number | null;
    readonly days: number | null;
    readonly cost: number | null;
    readonly shortfall: 'does-not-fit' | 'over-budget' | 'too-slow' | null;
    readonly isOnFront: boolean;
    /** Settings of `plan --search` for the same plan. */
    readonly sets: readonly string[];
  }[];
  readonly notPlanned: readonly {
    readonly machine: string;
    readonly error: { readonly code: string; readonly message: string; readonly remedy: string };
  }[];
}

/** A figure with its ends; `low` is that of the shortest run. */
export interface RangedFigure {
  readonly low: number;
  readonly usual: number;
  readonly high: number;
}

/** What a whole run takes, its failures and checkpoints included. */
export interface DaysAnswer {
  readonly version: 1;
  readonly title: string;
  readonly fits: boolean;
  readonly gpus: number;
  readonly tokens: number;
  readonly checkpointBytes: number;
  readonly trainingDays: RangedFigure;
  readonly days: RangedFigure;
  readonly goodput: RangedFigure;
  readonly failures: RangedFigure;
  readonly hoursBetweenFailures: RangedFigure;
  readonly saveSeconds: RangedFigure;
  readonly intervalMinutes: RangedFigure;
  readonly gpuHours: RangedFigure;
  /** Null: the power of the GPU is not known. */
  readonly megawattHours: RangedFigure | null;
  /** Null: no price is given. */
  readonly cost: RangedFigure | null;
}

/** Why a run ran out of memory, and what to do. Bytes; null: the log does not have it. */
export interface OomAnswer {
  readonly version: 1;
  readonly source: 'log' | 'snapshot';
  readonly cause: string;
  readonly because: string;
  /** Other causes that hold. */
  readonly also: readonly string[];
  readonly fix: { readonly first: string; readonly cost: string } | null;
  readonly rank: number | null;
  /** Ranks that ran out. */
  readonly ranks: number;
  readonly lastStep: number | null;
  readonly account: Readonly<Record<string, number | null>>;
  readonly peak: Readonly<Record<string, number | null>>;
  readonly growth: object | null;
  readonly holders: readonly object[];
  readonly parts: Readonly<Record<string, number>> | null;
  /** Null: no config was given. */
  readonly plan: {
    readonly title: string;
    /** Memory of the stage, measured and planned. */
    readonly against: {
      readonly stage: number;
      readonly stages: number;
      readonly isOfRank: boolean;
      readonly plannedFits: boolean;
      readonly plannedTight: boolean;
      readonly rows: readonly { readonly name: string; readonly measuredBytes: number | null; readonly plannedBytes: number }[];
    } | null;
    readonly priced: readonly {
      readonly text: string;
      readonly sets: readonly string[];
      readonly freesBytes: number;
      readonly slower: number;
    }[];
  } | null;
}

/** What limits the memory of a plan. */
export interface MemoryLimit {
  readonly stage: number;
  readonly stages: number;
  readonly part: string;
  readonly partBytes: number;
  readonly peakBytes: number;
  readonly usableBytes: number;
}

/** The most that fits of one size. */
export interface MaxAnswer {
  readonly version: 1;
  readonly title: string;
  readonly what: string;
  /** Null: nothing fits for certain. */
  readonly value: number | null;
  /** Values are multiples of it; null: they divide something. */
  readonly step: number | null;
  readonly sets: readonly string[] | null;
  /** The next size, which does not fit, or may not (`tight`); `overBytes` is null where only cached blocks do not. Null: none was found. */
  readonly next: { readonly value: number; readonly tight: boolean; readonly overBytes: number | null; readonly limit: MemoryLimit } | null;
  /** The largest that may fit, or the fewest GPUs; null: none beyond `value`. */
  readonly mayFit: number | null;
  /** Sizes that were planned. */
  readonly tried: number;
  readonly searched: boolean;
  readonly plan: {
    readonly fits: boolean;
    readonly tight: boolean;
    readonly limit: MemoryLimit;
    readonly gpus: number;
    readonly layout: string;
    readonly schedule: string;
    readonly iterationMs: number;
    readonly tokensPerSecond: number;
    readonly sets: readonly string[];
  } | null;
  /** Why the first size that could not be planned could not. */
  readonly because: string | null;
  readonly notes: readonly string[];
}
