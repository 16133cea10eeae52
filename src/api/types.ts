/** What to read: a path of a config, or its text; or what `load` returned, with the options that it was loaded with. */
export type Source = string | { readonly text: string } | Config;

/** Of every call. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Hears in words how far long work is. */
  readonly onProgress?: ((text: string) => void) | undefined;
}

/** Of calls that read a config: what the files leave open, and what overrides them. */
export interface ConfigOptions extends CallOptions {
  /** Keys of terapipe.json, as `{ 'training.microBatch': 1 }`, which override the files. */
  readonly set?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** GPU where no file names one, as `H100-80GB`. */
  readonly gpu?: string | undefined;
  /** GPUs of all nodes together. */
  readonly gpus?: number | undefined;
  readonly nodes?: number | undefined;
  readonly gpusPerNode?: number | undefined;
  /** Network of a whole node, as `8x400Gb/s`. */
  readonly network?: string | undefined;
  /** Path of a measured profile, or `none`. */
  readonly profile?: string | undefined;
}

/** What a config or a file with a schedule sets; null where it sets nothing. */
export interface InspectAnswer {
  readonly version: 1;
  readonly format: string;
  readonly model: Readonly<Record<string, unknown>> | null;
  readonly layout: Readonly<Record<string, unknown>>;
  readonly training: Readonly<Record<string, unknown>> | null;
  readonly cluster: Readonly<Record<string, unknown>> | null;
  /** Its name; of a file with a schedule what is in it. */
  readonly schedule: string | Readonly<Record<string, unknown>> | null;
  /** What was read, the config first. */
  readonly files?: readonly string[];
}

/** What a config sets, as `terapipe inspect` reads it. */
export interface Config extends Omit<InspectAnswer, 'version'> {
  readonly source: string | { readonly text: string };
  readonly options: ConfigOptions;
}

export type Severity = 'error' | 'warning' | 'information';

/** One thing wrong, or worth knowing, at one place. Lines and columns from 1. */
export interface Finding {
  readonly file: string;
  readonly code: string;
  readonly severity: Severity;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
  readonly message: string;
  readonly remedy: string;
  /** Titles of quick fixes. */
  readonly fixes: readonly string[];
}

/** Sizes of the parallel groups. */
export interface Layout {
  readonly tensor: number;
  readonly pipeline: number;
  readonly data: number;
  readonly context: number;
  readonly expert: number;
  readonly virtualStages: number;
}

/** A chunk of the batch, and the token slices of each of its sequences. */
export interface Chunk {
  readonly batch: number;
  readonly tokens: readonly number[];
}

/** A planned step. Times ms, memory bytes. */
export interface Plan {
  readonly title?: string;
  readonly scenario: {
    readonly gpu: string;
    readonly gpus: number;
    readonly nodes: number;
    readonly sequenceLength: number;
    readonly globalBatch: number;
  };
  /** Settings which, given to the same files, plan just this. */
  readonly set: Readonly<Record<string, unknown>>;
  readonly layout: Layout;
  readonly schedule: string;
  readonly scheme: readonly Chunk[];
  readonly iterationMs: number;
  /** Holds 80 % of measured runs of this kind. */
  readonly rangeMs: readonly [number, number];
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
  readonly fits: boolean;
  /** It does not fit for sure, but may. */
  readonly tight: boolean;
  readonly memory: { readonly peakBytes: number; readonly capacityBytes: number; readonly usableBytes: number };
  readonly cost: { readonly provenance: string; readonly errorPercent: number };
  readonly comparisons: readonly { readonly name: string; readonly iterationMs: number }[];
  readonly reasons: readonly string[];
  readonly assumptions: readonly { readonly key: string; readonly value: string; readonly reason: string }[];
}

export interface PlanAnswer {
  readonly version: 1;
  readonly plan: Plan;
  /** False: a launcher refuses the files as they are written, for which findings give the reason. */
  readonly starts: boolean;
  readonly findings: readonly Finding[];
}

export interface SearchAnswer {
  readonly version: 1;
  /** The best layout that was found. */
  readonly plan: Omit<Plan, 'title'> & { readonly name: string };
  readonly search: {
    readonly gpus: number;
    readonly fixed: readonly string[];
    /** No layout is faster than this. */
    readonly lowerBoundMs: number | null;
    readonly proved: boolean;
    readonly runnersUp: readonly object[];
  };
}

export interface CheckAnswer {
  readonly version: 1;
  readonly findings: readonly Finding[];
  /** Files that were checked. */
  readonly configs: readonly string[];
}

export interface MemoryAnswer {
  readonly version: 1;
  readonly stages: readonly {
    readonly stage: number;
    readonly weightsBytes: number;
    readonly gradientsBytes: number;
    readonly optimizerBytes: number;
    readonly activationsBytes: number;
    readonly otherBytes: number;
    readonly peakBytes: number;
    readonly usableBytes: number;
    readonly capacityBytes: number;
  }[];
  readonly parameters: number;
  readonly schedule: string;
  readonly layout: Layout;
  readonly fits: boolean;
  readonly tight: boolean;
  readonly findings: readonly Finding[];
}

export interface SolveAnswer {
  readonly version: 1;
  readonly latencyMs: number;
  readonly lowerBoundMs: number;
  readonly totalMs: number;
  readonly slowestMs: number;
  readonly exact: boolean;
  readonly scheme: readonly Chunk[];
  readonly evaluations: number;
  readonly elapsedMs: number;
}

export interface SimulateAnswer {
  readonly version: 1;
  readonly schedule: string;
  readonly makespanMs: number;
  readonly bubbleRate: number;
  readonly stages: readonly {
    readonly busyMs: number;
    readonly idleMs: number;
    readonly spanMs: number;
    readonly peakMemory?: number | null;
  }[];
  /** Actions of each stage in PyTorch's syntax. */
  readonly order: readonly (readonly string[])[];
}

export interface PrefillAnswer {
  readonly version: 1;
  readonly prefill: {
    readonly chunks: readonly number[];
    readonly chunkMs: readonly number[];
    readonly timeToFirstTokenMs: number;
    readonly lowerBoundMs: number;
    readonly p50Ms: number;
    readonly p99Ms: number;
    readonly memory: { readonly fits: boolean; readonly usableBytes: number };
    readonly decode: {
      /** Null: the model keeps no keys and values. */
      readonly capacityTokens: number | null;
      /** Null: nothing limits it. */
      readonly longestContext: number | null;
      readonly rows: readonly {
        readonly sequences: number;
        readonly tokenMs: { readonly low: number; readonly usual: number; readonly high: number };
        readonly tokensPerSecond: number;
      }[];
    };
  };
  readonly layout: Layout;
}

export interface ElasticAnswer {
  readonly version: 1;
  readonly title: string;
  readonly epochs: readonly {
    readonly epoch: number;
    readonly frozenLayers: number;
    readonly pipelineLength: number;
    readonly replicas: number;
    readonly epochMs: number;
    readonly fits: boolean;
  }[];
  readonly speedup: number;
  readonly totalMs: number;
}

export interface ExportAnswer {
  readonly version: 1;
  readonly to: string;
  /** The file, where none was written. */
  readonly text?: string | null;
  readonly written: string | null;
  /** What the file does not have of the plan: an error where it trains another model. */
  readonly gaps?: readonly { readonly what: string; readonly reason: string; readonly severity: Severity }[];
}

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
    /** Of a GPU-hour. */
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
  /** Null: nothing fits. */
  readonly value: number | null;
  /** Values are multiples of it; null: they divide something. */
  readonly step: number | null;
  readonly sets: readonly string[] | null;
  /** The next size, which does not fit; null: none was found. */
  readonly next: { readonly value: number; readonly overBytes: number; readonly limit: MemoryLimit } | null;
  /** Sizes that were planned. */
  readonly tried: number;
  readonly searched: boolean;
  readonly plan: {
    readonly fits: boolean;
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

/** The figures of a config on one side. */
export interface DiffFigures {
  readonly stepMs: number;
  readonly tokensPerSecond: number;
  readonly peakBytes: number;
  readonly usableBytes: number;
  readonly fit: string;
  readonly globalBatch: number;
  readonly sequenceLength: number;
  readonly layout: string;
  readonly schedule: string;
}

export interface DiffAnswer {
  readonly version: 1;
  readonly base: string | null;
  readonly head: string | null;
  readonly compared: number;
  readonly summary: string;
  readonly configs: readonly {
    readonly file: string;
    readonly renamedFrom: string | null;
    readonly status: 'changed' | 'added' | 'removed';
    readonly effects: readonly string[];
    readonly changesConvergence: boolean;
    readonly base: DiffFigures | null;
    readonly head: DiffFigures | null;
    readonly speedup: number | null;
    readonly settings: readonly { readonly key: string; readonly base: string; readonly head: string }[];
    readonly added: readonly Finding[];
    readonly resolved: readonly Finding[];
  }[];
}

/** What is wrong with the input. */
export interface ErrorAnswer {
  readonly version: 1;
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly remedy: string;
    /** Null: it is in no file. Line and column from 1. */
    readonly file: string | null;
    readonly line: number | null;
    readonly column: number | null;
  };
}
