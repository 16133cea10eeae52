import { gpuPresets } from '../../../../src/core/cluster/presets';
import { sentence } from '../../../../src/core/sentence';
import { defaultConstants } from '../../../../src/core/domain/slice-cost';
import type { Layout, PlanRequest, TrainingSpec } from '../../../../src/core/domain/request';

/** A request of a Llama of 80 layers on 8 nodes: TP 4, PP 4, 4 replicas. */
export function requestOf({
  layout = {},
  training = {},
  assumed = [],
}: {
  readonly layout?: Partial<Layout>;
  readonly training?: Partial<TrainingSpec>;
  readonly assumed?: readonly string[];
} = {}): PlanRequest {
  const { gpu, links, gpusPerNode } = gpuPresets['H100-80GB'];
  const { tensor = 4, pipeline = 4 } = layout;
  return {
    title: 'llama',
    model: {
      modelType: 'llama',
      layers: 80,
      hidden: 8192,
      heads: 64,
      kvHeads: 8,
      headDim: 128,
      ffn: 28672,
      gatedMlp: true,
      vocab: 128_256,
      tiedEmbeddings: false,
      maxPositions: null,
      positions: 'rotary',
      norm: 'rmsnorm',
      qkvBias: false,
      attentionOutputBias: false,
      mlpBias: false,
      qkNorm: false,
      experts: null,
    },
    cluster: { gpu, links, nodes: 8, gpusPerNode },
    training: {
      sequenceLength: 4096,
      microBatch: 1,
      globalBatch: 64,
      precision: 'bf16',
      optimizer: 'adam',
      zeroStage: 1,
      recompute: 'none',
      attention: 'flash',
      sequenceParallel: true,
      fusedCrossEntropy: false,
      dropout: false,
      gradAccumulationFp32: true,
      ...training,
    },
    layout: { data: 64 / tensor / pipeline, context: 1, expert: 1, virtualStages: 1, ...layout, tensor, pipeline },
    schedule: null,
    slicing: { unit: null, scheme: null },
    constants: defaultConstants,
    costTable: null,
    profile: null,
    assumptions: assumed.map((key) => ({ key, value: '', reason: sentence`a test` })),
  };
}
