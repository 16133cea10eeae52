import * as v from 'valibot';
import { sentence } from '../../sentence';
import { rankOrders } from '../runtime';
import { amount, count, flag, integer, list, numbers, positive, choiceRule, text } from './rules';
import { mostLayers, mostRanks, type SettingTable } from './setting';

/** Most groups that `cluster.groups` may have. */
export const mostGroups = 16;

/** Sizes of the parallel groups, and how layers are cut into stages. */
export const layout = {
  tensor: {
    type: integer(1, mostRanks),
    assumed: true,
    title: sentence`tensor parallel size`,
    compared: {},
    meaning: sentence`GPUs that share every layer. Collectives run twice in each layer, so they should sit in one node.`,
    fieldNames: ['tp', 'tpsize', 'tensorparallel', 'tensorparallelsize', 'tensormodelparallelsize', 'tensorparalleldegree'],
  },
  pipeline: {
    type: integer(1, 10_000),
    assumed: true,
    title: sentence`pipeline parallel size`,
    compared: {},
    meaning: sentence`Pipeline stages. They idle while the pipeline fills and drains: the bubble.`,
    fieldNames: ['pp', 'ppsize', 'pipelineparallel', 'pipelineparallelsize', 'pipelinemodelparallelsize', 'pipelineparalleldegree'],
  },
  data: {
    type: integer(1, 1_000_000),
    assumed: true,
    title: sentence`data parallel size`,
    compared: {},
    meaning: sentence`Pipeline replicas. Each takes its share of the batch; gradients are all-reduced every step.`,
    fieldNames: ['dp', 'dpsize', 'dataparallel', 'dataparallelsize'],
  },
  context: {
    type: integer(1, mostRanks),
    assumed: true,
    title: sentence`context parallel size`,
    compared: {},
    meaning: sentence`GPUs that share one sequence inside attention.`,
    fieldNames: ['cp', 'cpsize', 'contextparallel', 'contextparallelsize', 'contextparalleldegree'],
  },
  expert: {
    type: integer(1, mostRanks),
    assumed: true,
    title: sentence`expert parallel size`,
    compared: {},
    meaning: sentence`GPUs that share the experts of a mixture-of-experts layer.`,
    fieldNames: ['ep', 'epsize', 'expertparallel', 'expertparallelsize', 'expertmodelparallelsize', 'expertparalleldegree'],
  },
  /** Absent: as `tensor`. */
  expertTensor: {
    type: integer(1, mostRanks),
    title: sentence`expert tensor parallel size`,
    compared: {},
    meaning: sentence`GPUs that share every expert.`,
    fieldNames: ['etp', 'etpsize', 'experttensorparallelsize'],
  },
  /** Chunks of layers on each stage. */
  virtualStages: {
    read: count(10_000),
    key: integer(1, 10_000),
    assumed: true,
    title: sentence`virtual stages`,
    compared: {},
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Chunks of layers on each stage with interleaved schedules.`,
    fieldNames: ['vpp', 'vp', 'vppsize', 'virtualpipelinemodelparallelsize'],
  },
  layersPerVirtualStage: {
    read: count(mostLayers),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Layers of one chunk with interleaved schedules: fewer make a smaller bubble and more messages.`,
  },
  /** Megatron's `--microbatch-group-size-per-virtual-pipeline-stage`. */
  microBatchGroup: {
    read: amount,
    meaning: sentence`Micro-batches that a stage passes through one chunk before the next, with interleaved schedules.`,
  },
  /** Which groups lie inside a node; absent: as the runtime numbers ranks. */
  order: {
    key: choiceRule(rankOrders),
    title: sentence`order of ranks`,
    compared: {},
    meaning: sentence`Rank order: replicas (tp-cp-ep-dp-pp) or pipeline stages (tp-cp-ep-pp-dp) next to each other.`,
  },
  /** Megatron-LM's `--use-tp-pp-dp-mapping`. */
  stagesBeforeReplicas: {
    read: flag,
    sets: ['order'],
    meaning: sentence`Numbers the ranks of a pipeline before those of its replicas, so that stages lie inside a node.`,
  },
  /**
   * Layers of each stage, or with virtual stages of each chunk, in the order of the model: `pipeline * virtualStages` entries that add up
   * to the model's layers. Schedules with chunks of their own on a layout without virtual stages divide those of a stage among its chunks.
   * Absent: as equal as can be. MindSpeed-LLM's `--num-layer-list`.
   */
  stageLayers: {
    read: numbers,
    key: list(
      v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(10_000)),
      1,
      100_000,
      'a list of whole numbers from 0 to 10,000, one for each stage',
    ),
    title: sentence`layers of the stages`,
    compared: {},
    meaning: sentence`Layers of each stage. The ends, which also have the embedding and the head, balance with fewer.`,
  },
  /** MindSpeed-LLM's `--noop-layers`: indices from 0. */
  emptyLayers: {
    read: numbers,
    meaning: sentence`Placeholder layers that are not built; they balance the stages.`,
  },
  /** Megatron's `--pipeline-model-parallel-layout`, as written. */
  pipelineLayout: {
    read: text,
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Layers of each stage, embedding and loss included.`,
  },
  /** Megatron's `--pipeline-model-parallel-split-rank`. */
  splitRank: {
    read: count(10_000),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Stages of the encoder: those from this one on run the decoder.`,
  },
  firstStageLayers: {
    read: count(mostLayers),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Layers of the first stage: fewer than on the others make room for the embedding.`,
  },
  lastStageLayers: {
    read: count(mostLayers),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Layers of the last stage: fewer than on the others make room for the head.`,
  },
  firstStageLessLayers: {
    read: count(mostLayers),
    meaning: sentence`How many layers the embedding counts as when layers are assigned to stages.`,
  },
  lastStageLessLayers: {
    read: count(mostLayers),
    meaning: sentence`How many layers the head counts as when layers are assigned to stages.`,
  },
  layersPerStage: {
    read: count(mostLayers),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Layers of each stage, virtual stages included; sets the number of stages.`,
  },
  /** Where the file lists them, or where they are split. */
  totalStages: {
    read: count(100_000),
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Pipeline stages of a replica, virtual stages included.`,
  },
  /** Megatron's `--account-for-embedding-in-pipeline-split`. */
  embeddingAsLayer: {
    read: flag,
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Whether the embedding counts as a layer when layers are assigned to stages.`,
  },
  /** Megatron's `--account-for-loss-in-pipeline-split`. */
  lossAsLayer: {
    read: flag,
    sets: ['stageLayers', 'virtualStages'],
    meaning: sentence`Whether head and loss count as a layer when layers are assigned to stages.`,
  },
  /** DeepSpeed's and GPT-NeoX's `partition_method`. */
  partitionMethod: {
    read: text,
    meaning: sentence`How layers are cut into stages: by parameters, evenly, or by the type of the layer.`,
  },
  /** On which of the cluster's groups, counted from 0, each stage is: one entry a stage where the cluster has groups. */
  stageNodeGroups: {
    key: list(
      v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(mostGroups - 1)),
      1,
      100_000,
      `a list of the numbers of groups, from 0 to ${mostGroups - 1}, one for each stage`,
    ),
    meaning: sentence`The group of nodes that each stage is on, counted from 0 in the order of cluster.groups.`,
  },
  unevenTensor: {
    read: flag,
    meaning: sentence`Tensor ranks may take unequal shares of heads and widths, so that sizes need not divide.`,
  },
  /** Megatron's `--cp-comm-type`: p2p, all_gather, a2a, a2a+p2p, or several, one a layer; `ulysses` where a launcher has only that. */
  contextCommunication: { read: text, sets: ['contextParallelComm'] },
  /** Megatron's `--hierarchical-context-parallel-sizes`. */
  contextLevels: {
    read: numbers,
    meaning: sentence`Ranks of the all-to-all within a group, and of the ring around the groups.`,
  },
  /** Megatron-DeepSpeed's `--no-pipeline-parallel`. */
  pipelineModule: {
    read: flag,
    meaning: sentence`Whether the model is built as a pipeline module of DeepSpeed, which runs no ZeRO 2 or 3.`,
  },
  /** -1: what is left of the GPUs. */
  dataShard: {
    read: amount,
    sets: ['data', 'dataReplicate', 'zeroStage'],
    meaning: sentence`Replicas that shard weights, gradients and optimizer state; -1 uses all remaining GPUs.`,
  },
} as const satisfies SettingTable;

/** The machines of a run. */
export const cluster = {
  nodes: {
    type: integer(1, 1_000_000),
    assumed: true,
    sets: ['data'],
    meaning: sentence`Nodes, each with the same GPUs.`,
  },
  gpusPerNode: {
    type: integer(1, mostRanks),
    assumed: true,
    sets: ['data'],
    meaning: sentence`GPUs that reach each other over the fast links inside a node.`,
  },
  pricePerGpuHour: {
    key: positive(1_000_000),
    meaning: sentence`Price of one GPU for an hour, in your currency. A run's cost is this times its GPU hours.`,
    fieldNames: ['price', 'gpuhour'],
  },
  /** Where the file gives it itself. */
  world: { read: amount, sets: ['data'], meaning: sentence`GPUs in all: tensor x pipeline x context x data.` },
} as const satisfies SettingTable;
