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
  /** It may fit or not. */
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
  /** Memory of the host on the node that takes most, bytes; `checkpointBytes` more while one is saved asynchronously. */
  readonly host: {
    readonly node: number;
    readonly parts: { readonly optimizer: number; readonly activations: number; readonly dataLoader: number };
    readonly peakBytes: number;
    readonly checkpointBytes: number;
    readonly nvmeBytes: number;
  };
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

/** One error of the input. */
export interface InputError {
  readonly code: string;
  readonly message: string;
  readonly remedy: string;
  /** Null: it is in no file. Line and column from 1. */
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
}

/** What is wrong with the input. */
export interface ErrorAnswer {
  readonly version: 1;
  readonly error: InputError & {
    /** Others for which the config does not start; left out: there are none. */
    readonly further?: readonly InputError[];
  };
}
