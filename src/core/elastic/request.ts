import type { ClusterSpec } from '../spec/cluster';
import type { balanceNames } from '../formats/terapipe/elastic-names';
import type { WrittenElastic } from '../formats/given-elastic';
import type { CostConstants } from '../spec/cost-constants';
import type { Assumption, PlanRequest, TrainingSpec } from '../spec/request';
import type { NormTable } from './norm-table';
import type { ElasticModel } from './units';

/** How layers freeze. */
export type Freezing =
  | { readonly kind: 'alpha'; readonly alpha: number }
  | { readonly kind: 'gradients'; readonly alpha: number; readonly norms: NormTable }
  | { readonly kind: 'given'; readonly frozenLayers: readonly number[] };

/** A measured rate of all pipelines together while so many layers are frozen and pipelines have so many GPUs. */
export interface Throughput {
  readonly frozenLayers: number;
  readonly pipelineLength: number;
  readonly samplesPerSecond: number;
}

export type BalanceName = (typeof balanceNames)[number];

/** What holds the activations of the frozen layers, on every node. SI units. */
export interface CacheSpec {
  readonly enabled: boolean;
  readonly hostMemoryBytes: number;
  readonly diskBytes: number;
  readonly diskBytesPerSecond: number;
  /** Between the host's memory and one GPU. */
  readonly hostLinkBytesPerSecond: number;
}

/** A run that freezes layers, resolved to numbers. Plain data: crosses threads. */
export interface ElasticRequest extends Pick<WrittenElastic, 'epochs' | 'datasetSize' | 'batch' | 'batchScaling' | 'microBatches'> {
  readonly title: string;
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
  /** What it takes to stop, regroup the processes and go on with other pipelines. */
  readonly transitionMs: number;
  /** Steady rates, and those of the first epoch after a change; measured ones replace or scale the modelled ones. */
  readonly throughputs: readonly Throughput[];
  readonly fillingThroughputs: readonly Throughput[];
  readonly assumptions: readonly Assumption[];
}
