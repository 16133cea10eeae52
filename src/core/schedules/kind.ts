import type { CancelSignal } from '../errors';
import type { Runtime } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { operationKind, type ActivationCopies, type OperationKind, type Schedule, type WorkUnit } from './schedule';
import type { Sentence } from '../sentence';

/**
 * How chunks lie on stages: one each; in turn (chunk c on stage c mod p); down and up again (chunk c on stage c, then on stage 2p - 1 - c).
 */
export type Placement = 'one' | 'loop' | 'v';

/**
 * Times of one micro-batch or slice on one whole stage, all its chunks together, ms: one entry per stage. What the planners plan with;
 * orders that are fixed ignore it.
 */
export interface PassTimes {
  readonly forwardMs: Float64Array;
  readonly backwardInputMs: Float64Array;
  readonly backwardWeightMs: Float64Array;
  /** From one stage to the next. */
  readonly sendMs: number;
}

/**
 * Memory that one pass of one unit over one whole stage takes (+) or gives back (-), in any one unit, and what a stage may hold at most.
 */
export interface PassMemory {
  readonly forward: number;
  readonly backwardInput: number;
  readonly backwardWeight: number;
  /** `Infinity` for none. */
  readonly limit: number;
}

/**
 * The same of each chunk, where stages or chunks differ: times of one micro-batch by chunk, ms; what its passes take and give back by
 * chunk, and what a stage may hold by stage.
 */
export interface ChunkPasses {
  readonly times: Readonly<Record<'forwardMs' | 'backwardInputMs' | 'backwardWeightMs', Float64Array>>;
  readonly memory: Readonly<Record<'forward' | 'backwardInput' | 'backwardWeight' | 'limit', Float64Array>>;
}

/** What a schedule is made for. */
export interface ScheduleProblem {
  readonly stages: number;
  /** In order of micro-batch, then slice. */
  readonly units: readonly WorkUnit[];
  readonly microBatches: number;
  /** Index of the first unit of each micro-batch, and one entry for the end. */
  readonly firstUnit: Uint32Array;
  /** Micro-batches of each round of filling and draining the pipeline, where a schedule has rounds; absent: one of all. */
  readonly rounds?: readonly number[];
  readonly chunksPerStage: number;
  /** Micro-batches that run forward one after another, of schedules that are `grouped`; absent: 1. */
  readonly groupedMicroBatches?: number | undefined;
  readonly times: PassTimes;
  readonly memory: PassMemory;
  /** What planners count instead of both; absent: each chunk has its share of its stage's. */
  readonly chunkPasses?: ChunkPasses | undefined;
  /** What planners make short: the longest span of a stage, from its first start to its last end, or the makespan; absent: the span. */
  readonly objective?: 'span' | 'makespan';
  /** What planners look at while they plan. */
  readonly signal?: CancelSignal | undefined;
}

/** Adds the next operation of a stage; `overlapsNext` joins it with the one after. */
export type Emit = (kind: OperationKind, chunk: number, unit: number, overlapsNext?: boolean) => void;

/** What makes a problem impossible for a schedule, and what to do. */
export interface Unmet {
  readonly message: Sentence;
  readonly remedy: Sentence;
}

/**
 * How the search for layouts bounds the time of this kind from below (docs/model/search.md, Bounds of a point):
 * - `drained`, `alternating`, `interleaved`, `sliced`: a formula of `layout-search/pipeline-bounds` (`alternating` is 1F1B, `sliced` the
 *   same over token slices);
 * - `order`: what is read off its order of whole micro-batches, which does not depend on times;
 * - `work`: the work of a stage, after a first slice forward on those before it: of any order;
 * - `room`: what the memory there is allows any order.
 */
type TimeBound = 'drained' | 'alternating' | 'interleaved' | 'sliced' | 'work' | 'order' | 'room';

/**
 * Runtimes that split backward: Megatron-LM with the orders of sail-sg or Primus, PyTorch's pipelines, and DeepSeek's own, for models with
 * experts.
 */
export type SplitRuntime = 'megatron' | 'pytorch' | 'dualpipe';

/** A schedule that people use. CONTRIBUTING.md, Recipes, shows how to add one. */
export interface ScheduleKind {
  /** As PyTorch, the papers and `terapipe.json` spell it. */
  readonly name: ScheduleName;
  readonly placement: Placement;
  /** Chunks (virtual stages) on each stage: a number where it is fixed, `several` for two and more. */
  readonly chunksPerStage: number | 'several';
  /**
   * Can run token slices of a micro-batch one by one, where a caller gives it some; plans give it whole micro-batches unless it is
   * `sliced`.
   */
  readonly slices: boolean;
  /** Made for token slices: it runs them unless set otherwise. */
  readonly sliced: boolean;
  /** Of those: the most equal slices of a sequence that searches try. */
  readonly mostSlices?: number;
  /** Of those: its authors' rule for cutting a sequence, where it is none that every plan compares. */
  readonly ownCut?: 'equal-work';
  /**
   * Of those: equal slices, of which all that are under way at one time have their attention evened over the stages, and a head that is
   * spread over all of them (docs/model/schedules.md, Attention exchanged).
   */
  readonly exchangesAttention?: true;
  /** Runs micro-batches in groups, of a size that a file sets or a plan chooses: the larger, the more memory. */
  readonly grouped?: true;
  /** Its order is planned for given times within the memory there is, which takes a thousand times as long as simulating it. */
  readonly planned: boolean;
  /** Whether backward is split in input and weight gradients. */
  readonly splitsBackward: boolean;
  /** Which runtimes split its backward, of those of which `split-runtimes.ts` lists what they do not have together with that. */
  readonly splitIn?: readonly SplitRuntime[];
  /**
   * A zero-bubble order of sail-sg's Megatron-LM, whose optimizer steps before the norm of all stages' gradients is known and is put right
   * afterwards (arXiv 2401.10241, section 4): a stage begins the next step as soon as it has ended this one.
   */
  readonly postValidated: boolean;
  /** Overlaps the experts' exchange of a forward with the compute of a backward, which it is made for. */
  readonly hidesExpertExchange?: true;
  /** The runtime that it is planned for where it is asked for and no runtime is named, with all that it is compared with. */
  readonly ownRuntime?: Runtime;
  /** The schedule that it runs on virtual stages, and by whose name launchers ask for it there. */
  readonly interleaves?: ScheduleName;
  /** By the memory of which fixed order layouts are judged before this one is made; absent: by its own. */
  readonly judgedAs?: ScheduleName;
  readonly bound: TimeBound;
  /**
   * Slices (micro-batches, where they are whole) of which a stage holds everything saved at one time, at least. Rises or falls with the
   * stage.
   */
  readonly slicesInFlight: (of: StageOfRun) => number;
  /** Beyond what the fields above say; null when it can run. */
  readonly unmet: (problem: ScheduleProblem) => Unmet | null;
  /** Activations that leave a stage and come back in its order. */
  readonly copies?: (schedule: Schedule) => ActivationCopies;
  /** Where its copies lie in host memory: searches of all schedules try it where nothing fits. */
  readonly keepsOnHost?: true;
  /** The order of each stage's operations. What all stages share is worked out once, before the returned function is called for each. */
  readonly order: (problem: ScheduleProblem) => (stage: number, emit: Emit) => void;
}

/** Of which stage it is asked how much it holds. */
export interface StageOfRun {
  readonly stage: number;
  readonly stages: number;
  readonly microBatches: number;
  /** Of each micro-batch, alike. */
  readonly slices: number;
}

/** All of them: backward begins when the last forward is done. */
export function allInFlight({ microBatches, slices }: StageOfRun): number {
  return slices * microBatches;
}

/**
 * A micro-batch for the stage and each behind it. Interleaving, with or without a split backward, has done as many forwards of its last
 * chunks as plain 1F1B before its first backward (arXiv 2205.05198, section 4.2.1).
 */
export function stagesBehindInFlight({ stage, stages, microBatches, slices }: StageOfRun): number {
  return slices * Math.min(microBatches, stages - stage);
}

/** A micro-batch for the stage and each before it: what a V holds on its second chunks. */
export function stagesBeforeInFlight({ stage, microBatches, slices }: StageOfRun): number {
  return slices * Math.min(microBatches, stage + 1);
}

/**
 * Those that 1F1B over token slices (Seq1F1B) has done forward when it begins its first backward, at most; backwards come from slice to
 * slice, the last of a micro-batch first.
 */
export function slicesAhead({ stage, stages, microBatches, slices }: StageOfRun): number {
  return Math.min(stages - stage + slices - 1, slices * microBatches);
}

/** All slices of a micro-batch in a row, forward: in token order. */
export function emitForward({ firstUnit }: ScheduleProblem, emit: Emit, chunk: number, microBatch: number): void {
  const end = firstUnit[microBatch + 1] ?? 0;
  for (let unit = firstUnit[microBatch] ?? 0; unit < end; unit++) emit(operationKind.forward, chunk, unit);
}

/** All slices of a micro-batch in a row, backward: the last one first, because earlier slices get gradients from later ones (attention). */
export function emitBackward({ firstUnit }: ScheduleProblem, emit: Emit, chunk: number, microBatch: number): void {
  const first = firstUnit[microBatch] ?? 0;
  for (let unit = (firstUnit[microBatch + 1] ?? 0) - 1; unit >= first; unit--) emit(operationKind.backward, chunk, unit);
}
