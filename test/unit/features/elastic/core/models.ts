import { gpuPresets } from '../../../../../src/core/cluster/presets';
import { defaultConstants } from '../../../../../src/core/domain/slice-cost';
import type { ElasticRequest } from '../../../../../src/features/elastic/core/request';
import type { ElasticModel } from '../../../../../src/features/elastic/core/units';
import { encoderEnds } from '../../../../../src/core/model/ends';
import type { ModelSpec } from '../../../../../src/core/domain/model';
import type { Layout, TrainingSpec } from '../../../../../src/core/domain/request';

export const gptSmall: ModelSpec = {
  modelType: 'gpt2',
  layers: 12,
  hidden: 768,
  heads: 12,
  kvHeads: 12,
  headDim: 64,
  ffn: 3072,
  gatedMlp: false,
  vocab: 50257,
  tiedEmbeddings: true,
  maxPositions: 1024,
  positions: 'learned',
  norm: 'layernorm',
  qkNorm: false,
  experts: null,
  qkvBias: true,
  attentionOutputBias: true,
  mlpBias: true,
};

const vitSpec: ModelSpec = { ...gptSmall, modelType: 'vit', vocab: 0, tiedEmbeddings: false, maxPositions: null };

/** ViT-B/16 for 224 x 224 images and ten classes. */
export const vitBase: ElasticModel = {
  spec: vitSpec,
  ends: encoderEnds(vitSpec, {
    image: { size: 224, patch: 16, channels: 3 },
    tokenTypes: 0,
    pooler: true,
    classes: 10,
    architecture: 'ViTForImageClassification',
  }),
};

const bertSpec: ModelSpec = {
  ...gptSmall,
  modelType: 'bert',
  layers: 24,
  hidden: 1024,
  heads: 16,
  kvHeads: 16,
  headDim: 64,
  ffn: 4096,
  vocab: 30522,
  maxPositions: 512,
};

export const bertLarge: ElasticModel = {
  spec: bertSpec,
  ends: encoderEnds(bertSpec, { image: null, tokenTypes: 2, pooler: true, classes: 2, architecture: null }),
};

export const layoutOfOne: Layout = { tensor: 1, pipeline: 1, data: 1, context: 1, expert: 1, virtualStages: 1 };

export function trainingOf(sequenceLength: number): TrainingSpec {
  return {
    sequenceLength,
    microBatch: 1,
    globalBatch: 1,
    precision: 'fp32',
    optimizer: 'sgd',
    zeroStage: 0,
    recompute: 'none',
    attention: 'unfused',
    sequenceParallel: false,
    fusedCrossEntropy: false,
    dropout: false,
    gradAccumulationFp32: true,
  };
}

const { gpu, links } = gpuPresets['V100-16GB'];

/** ViT-B/16 on two nodes of eight GPUs, as the CIFAR-10 run of PipeTransformer. */
export function requestOf(changes: Partial<ElasticRequest>): ElasticRequest {
  return {
    title: 'ViT-B/16',
    dataset: null,
    model: vitBase,
    training: trainingOf(197),
    constants: defaultConstants,
    profile: null,
    assumptions: [],
    cluster: { gpu, links, nodes: 2, gpusPerNode: 8 },
    freezing: { kind: 'given', frozenLayers: [0, 0, 6, 8, 8, 8, 10, 10, 12, 12] },
    epochs: 10,
    datasetSize: 50_000,
    batch: 320,
    batchScaling: 'scaled',
    microBatches: 'table',
    schedule: 'GPipe',
    tokenSlices: 1,
    shrink: 'halve',
    firstLength: 8,
    balance: 'greedy',
    cache: {
      enabled: true,
      hostMemoryBytes: 256 * 2 ** 30,
      diskBytes: 0,
      diskBytesPerSecond: 2e9,
      hostLinkBytesPerSecond: 12e9,
      hostMemoryBytesPerSecond: 1e12,
      advances: true,
    },
    loader: null,
    evaluation: { samples: 0, every: 0, trainingEvery: 0 },
    frozenSamplesPerSecond: null,
    transitionMs: 12_000,
    throughputs: [],
    fillingThroughputs: [],
    ...changes,
  };
}
