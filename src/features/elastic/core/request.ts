import type { ClusterSpec } from '../../../core/domain/cluster';
import type { balanceNames, WrittenElastic } from '../../../core/run/elastic';
import type { CostConstants } from '../../../core/domain/slice-cost';
import type { Assumption, PlanRequest, TrainingSpec } from '../../../core/domain/request';
import type { NormTable } from './norm-table';
import type { ElasticModel } from './units';

/** How layers freeze. */
export type Freezing =
  | { readonly kind: 'alpha'; readonly alpha: number }
  | { readonly kind: 'gradients'; readonly alpha: number; readonly norms: NormTable }
  | { readonly kind: 'changes'; readonly norms: NormTable }
  | { readonly kind: 'given'; readonly frozenLayers: readonly number[] };

/** A measured rate of all pipelines together while this many layers are frozen and pipelines have this many GPUs. */
export interface Throughput {
  readonly frozenLayers: number;
  readonly pipelineLength: number;
  readonly samplesPerSecond: number;
}

export type BalanceName = (typeof balanceNames)[number];

/** What holds the activations of the frozen layers, on every node. SI units. */
interface CacheSpec {
  readonly enabled: boolean;
  readonly hostMemoryBytes: number;
  readonly diskBytes: number;
  readonly diskBytesPerSecond: number;
  /** Between the host's memory and one GPU. */
  readonly hostLinkBytesPerSecond: number;
  /** A node's memory, to all of its GPUs together. */
  readonly hostMemoryBytesPerSecond: number;
  /**
   * Whether what is cached runs through newly frozen layers before it is used. The code of PipeTransformer's CIFAR-10 log feeds the old
   * outputs on as they are: only to compare with that log.
   */
  readonly advances: boolean;
}

/** How samples reach a pipeline. */
interface LoaderSpec {
  /** What one worker loads and decodes. */
  readonly samplesPerSecond: number;
  /** Per process; 0: the process itself, and its GPUs wait. */
  readonly workers: number;
}

/** What is evaluated after an epoch, forward only. */
interface EvaluationSpec {
  readonly samples: number;
  /** After this many epochs, and after the last; 0: never. */
  readonly every: number;
  /** The same for the training data. */
  readonly trainingEvery: number;
}

/** A run that freezes layers, resolved to numbers. Plain data: crosses threads. */
export interface ElasticRequest extends Pick<
  WrittenElastic,
  'epochs' | 'datasetSize' | 'batch' | 'batchScaling' | 'microBatches' | 'schedule' | 'tokenSlices' | 'shrink'
> {
  readonly title: string;
  /** One whose sizes are known; null: none is named. */
  readonly dataset: WrittenElastic['dataset'] | null;
  readonly model: ElasticModel;
  readonly cluster: ClusterSpec;
  /** Its sequence length is that of one sample. */
  readonly training: TrainingSpec;
  readonly constants: CostConstants;
  /** Measured times of the model's layer, in place of the analytic ones. */
  readonly profile: PlanRequest['profile'];
  readonly freezing: Freezing;
  /** GPUs of a pipeline in the first epoch. */
  readonly firstLength: number;
  readonly balance: BalanceName;
  readonly cache: CacheSpec;
  /** Null: samples are always present. */
  readonly loader: LoaderSpec | null;
  readonly evaluation: EvaluationSpec;
  /** Measured: samples a second of one GPU through all layers, forward only; null: as modelled. */
  readonly frozenSamplesPerSecond: number | null;
  /** Time to stop, regroup the processes and continue with other pipelines. */
  readonly transitionMs: number;
  /** Steady rates, and those of the first epoch after a change; measured ones replace or scale the modelled ones. */
  readonly throughputs: readonly Throughput[];
  readonly fillingThroughputs: readonly Throughput[];
  readonly assumptions: readonly Assumption[];
}
