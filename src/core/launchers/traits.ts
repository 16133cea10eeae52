import type { Runtime } from '../domain/runtime';

/** In what launchers differ, as data that shared code and rules read. */
export interface LauncherTraits {
  /** Whose habits a run has: what is kept, sharded and gathered, and which schedules run. */
  readonly runtime: Runtime;
  /** Its settings are arguments of Megatron-LM itself, which checks them and has a default for each. */
  readonly takesMegatronArguments: boolean;
  /** The file of a model sets training, too: what a run's own file leaves out is not known without it. */
  readonly modelSetsTraining: boolean;
  /** What a file leaves out is open: a recipe in Python decides it, or the planner. Otherwise parallel sizes are 1. */
  readonly leavesOpen: boolean;
  /** Fewer key/value heads than tensor-parallel ranks are repeated, not refused. */
  readonly repeatsKeyValueHeads: boolean;
  /** Tensor parallelism divides the sequence between blocks even when nobody asks. */
  readonly alwaysDividesSequence: boolean;
  /** Embedding and head count as layers where layers are assigned to stages. */
  readonly countsEndsAsLayers: boolean;
  /** The vocabulary is padded for tensor parallelism, Megatron-LM's way. */
  readonly padsVocabulary: boolean;
  /** It stops where layers are not divisible by the stages and no setting divides them unevenly. */
  readonly refusesUnevenLayers: boolean;
  /** A method or a number of layers of recompute has no effect without a granularity. */
  readonly ignoresLoneRecompute: boolean;
  /** Its configs may list settings of full recompute with selective recompute, which ignores them. */
  readonly ignoresIdleRecompute: boolean;
  /**
   * Sequences that one replica takes in a step where no global batch is given: a local batch, or as many micro-batches as it accumulates.
   */
  readonly batchOfReplica: 'local' | 'accumulated' | null;
  /** A micro-batch that is larger than a rank's share of the batch is lowered to it, not refused. */
  readonly capsMicroBatch?: true;
  /** It has no tensor parallelism of models with a state. */
  readonly keepsStatesWhole?: true;
  /** What its files train on, where that is not a GPU: they are read, and planned only where a GPU is named. */
  readonly accelerator?: string;
  /**
   * A file that its configs name sets how state is sharded, and seldom a size (DeepSpeed's `tensor_parallel.autotp_size`): where that file
   * is missing, the sizes are taken as those of a run without it.
   */
  readonly namesShardingOnly?: true;
  /** It runs as Megatron-LM does, and is a program of its own: Megatron's checks and reports are not its. */
  readonly hasOwnChecks?: true;
}

/** Of launchers that run Megatron-LM's training loop; those of others say in what they differ. */
export const megatronTraits: LauncherTraits = {
  runtime: 'megatron',
  takesMegatronArguments: false,
  modelSetsTraining: false,
  leavesOpen: false,
  repeatsKeyValueHeads: true,
  alwaysDividesSequence: false,
  countsEndsAsLayers: false,
  padsVocabulary: true,
  refusesUnevenLayers: true,
  ignoresLoneRecompute: true,
  ignoresIdleRecompute: false,
  batchOfReplica: null,
};

/** Of launchers that shard the weights of plain modules of PyTorch (FSDP), and reduce gradients after every micro-batch. */
export const fsdpTraits: LauncherTraits = {
  ...megatronTraits,
  runtime: 'fsdp1',
  padsVocabulary: false,
  repeatsKeyValueHeads: false,
  batchOfReplica: 'accumulated',
};

/** The parallel size that a launcher takes where its file leaves it open; null: a recipe that is not read decides. */
export function silentSize({ leavesOpen }: LauncherTraits): number | null {
  return leavesOpen ? null : 1;
}
