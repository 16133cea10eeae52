import type { Adapter } from './adapter';
import type { ClusterSpec } from './cluster';
import type { CapabilitiesWith } from './capabilities';
import type { CostTable, CostConstants } from './slice-cost';
import type { FusedAttentionKernel } from './runtime';
import type { ModelSpec } from './model';
import type { NamedProfile } from './profile';
import type { ScheduleName } from './schedule-names';
import type { Scheme, SequenceSplit } from './scheme';
import type { Sentence } from '../sentence';
import type { PlanValues } from './settings/setting';
import type { settings } from './settings/table';

/** What is trained and how: the settings of training, and what follows from the run. */
export interface TrainingSpec extends Omit<PlanValues<typeof settings.training>, 'attentionKernel'> {
  readonly attentionKernel?: FusedAttentionKernel;
  /**
   * Copies of a weight in a narrow format: along rows and along columns, or one where the GPU multiplies it either way round. By the GPU;
   * absent: 2.
   */
  readonly narrowCopies?: 1 | 2;
  /** Low-rank adapters are trained, the weights are frozen; absent: all weights are. */
  readonly adapter?: Adapter;
}

/** Tokens of one sequence, source and target together. */
export function sequenceTokens({
  sequenceLength,
  decoderSequenceLength = 0,
}: Pick<TrainingSpec, 'sequenceLength' | 'decoderSequenceLength'>): number {
  return sequenceLength + decoderSequenceLength;
}

/** GPUs that a layout uses. */
export function gpusUsed({ tensor, pipeline, data, context }: Pick<Layout, 'tensor' | 'pipeline' | 'data' | 'context'>): number {
  return tensor * pipeline * data * context;
}

/** Sizes of the parallel groups, and which stage has what. */
export type Layout = PlanValues<typeof settings.layout>;

/** About as many units a sequence is cut into when the unit is not given. */
const defaultUnits = 256;

/** Tokens that slice lengths are multiples of when no file sets it: a multiple of 8 that cuts the sequence in about 256. */
export function defaultUnit(sequenceLength: number): number {
  return Math.max(8, 8 * Math.ceil(sequenceLength / defaultUnits / 8));
}

interface SlicingSpec {
  /** Slice lengths are multiples of this many tokens; null: chosen. */
  readonly unit: number | null;
  /** A scheme to predict as it is instead of solving for one. */
  readonly scheme: Scheme | null;
  /** How a launcher's flags gave `scheme`; absent: they did not. */
  readonly split?: SequenceSplit;
}

/** One choice that no file made, shown with the plan. */
export interface Assumption {
  /** As in terapipe.json: `training.microBatch`. */
  readonly key: string;
  readonly value: string;
  readonly reason: Sentence;
  /** Why it was assumed first, where it is kept while the config is edited. */
  readonly firstReason?: Sentence;
}

/**
 * The assumptions that people see. Of the model's, which its family fills in, only a missing vocabulary, because embedding and head are
 * then not counted.
 */
export function reportedAssumptions(assumptions: readonly Assumption[]): Assumption[] {
  return assumptions.filter(({ key, value }) => !key.startsWith('model.') || (key === 'model.vocab' && value === '0'));
}

/** What measured steps made of the constants of the machine. */
export interface Calibration {
  /** The run's own step, as measured and as it was predicted before; null: none was measured. */
  readonly iterationMs: number | null;
  readonly predictedMs: number | null;
  /** GEMM efficiency of the GPU before and since. */
  readonly before: number;
  readonly gemmEfficiency: number;
  readonly constants: readonly CalibratedConstant[];
  /** Of other runs on the machine. */
  readonly steps: readonly CalibratedStep[];
  /** Half width that holds 80 % of other runs on the machine, percent. */
  readonly errorPercent: number;
}

/** A constant of the machine, as assumed and as the measured steps have it; null: the GPU has none. */
interface CalibratedConstant {
  /** As in terapipe.json. */
  readonly key: string;
  readonly before: number | null;
  readonly after: number | null;
  /** Standard deviation of its logarithm after the steps of other runs. */
  readonly spread: number;
}

/** A measured step of another run, as predicted before and since. */
export interface CalibratedStep {
  readonly iterationMs: number;
  readonly predictedMs: number;
  readonly calibratedMs: number;
}

/** Everything `plan()` needs, resolved to numbers. Plain data: crosses threads. */
export interface PlanRequest {
  readonly title: string;
  readonly model: ModelSpec;
  readonly cluster: ClusterSpec;
  readonly training: TrainingSpec;
  readonly layout: Layout;
  /** Fixed by the user, or null: the best that fits is chosen. */
  readonly schedule: ScheduleName | null;
  /** No file gives `layout.virtualStages`: a plan chooses them with the schedule, and its request has those of what it chose. */
  readonly freeVirtualStages?: true;
  /** Schedules to choose from where `schedule` is null, and to search: those asked for, else those that the runtime runs. Absent: any. */
  readonly runs?: readonly ScheduleName[];
  /** The schedule that a launcher's file names: this launcher runs it. */
  readonly launches?: ScheduleName;
  /** What the launcher, or the runtime that the files name, can run and express. Absent: nothing is known of it. */
  readonly capabilities?: CapabilitiesWith;
  readonly slicing: SlicingSpec;
  /** Constants of the analytic model, all shown and editable. */
  readonly constants: CostConstants;
  /** Measured slice times; when present they replace the analytic slice cost. */
  readonly costTable: CostTable | null;
  /** A profile that matches model, layout and GPU; its measured layer times replace the analytic ones. */
  readonly profile: NamedProfile | null;
  /** Measured steps that corrected the constants of the machine, and what those were before and are now. */
  readonly calibration?: Calibration;
  /** Settings of the files that are left out, which widens the error bar. */
  readonly leftOut?: readonly string[];
  /** What no file set and was filled in; passed through to be shown with the plan. */
  readonly assumptions: readonly Assumption[];
}

/** What memory is counted of. */
export type MemoryInputs = Pick<PlanRequest, 'model' | 'training' | 'layout'>;
