import { gpuPresets, type GpuPresetName } from '../../src/core/cluster/presets';
import { defaultConstants } from '../../src/core/domain/slice-cost';
import type { ModelSpec } from '../../src/core/domain/model';
import type { Layout, PlanRequest, TrainingSpec } from '../../src/core/domain/request';

/** A GPT of the Megatron-LM papers: learned positions, LayerNorm, biases, feed-forward 4 h. */
export function gpt(layers: number, hidden: number, heads: number, vocab: number, maxPositions = 2048): ModelSpec {
  return {
    modelType: 'custom',
    layers,
    hidden,
    heads,
    kvHeads: heads,
    headDim: hidden / heads,
    ffn: 4 * hidden,
    gatedMlp: false,
    vocab,
    tiedEmbeddings: true,
    maxPositions,
    positions: 'learned',
    norm: 'layernorm',
    qkvBias: true,
    attentionOutputBias: true,
    mlpBias: true,
    qkNorm: false,
    experts: null,
  };
}

/** Llama 3 with its number of layers cut down. */
export function llama3(size: '70b' | '405b', layers: number): ModelSpec {
  const widths = size === '70b' ? { hidden: 8192, heads: 64, ffn: 28672 } : { hidden: 16384, heads: 128, ffn: 53248 };
  return {
    ...gpt(layers, widths.hidden, widths.heads, 128256, 131072),
    kvHeads: 8,
    headDim: 128,
    ffn: widths.ffn,
    gatedMlp: true,
    tiedEmbeddings: false,
    positions: 'rotary',
    norm: 'rmsnorm',
    qkvBias: false,
    attentionOutputBias: false,
    mlpBias: false,
  };
}

/**
 * DeepSeek-V2 or V3 with its number of layers cut down and one dense layer, as the measured runs had it (their script's `--moe-layer-freq
 * ([0]*1+[1]*(layers-1))*1`; the published V3 has three).
 */
export function deepseek(version: 2 | 3, layers: number): ModelSpec {
  const sizes =
    version === 2
      ? { hidden: 5120, ffn: 1536, denseFfn: 12288, vocab: 102400, experts: { count: 160, active: 6, sharedFfn: 3072 } }
      : {
          hidden: 7168,
          ffn: 2048,
          denseFfn: 18432,
          vocab: 129280,
          experts: { count: 256, active: 8, sharedFfn: 2048, groups: { count: 8, active: 4 } },
        };
  return {
    ...llama3('70b', layers),
    ...sizes,
    heads: 128,
    kvHeads: 128,
    latent: { qRank: 1536, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 },
    layerKinds: Array.from({ length: layers }, (_, layer) => ({ feedForward: layer === 0 ? 'dense' : 'experts', window: null })),
  };
}

/** Mixtral 8x7B with its number of layers cut down. */
export function mixtral(layers: number): ModelSpec {
  return {
    ...llama3('70b', layers),
    hidden: 4096,
    heads: 32,
    ffn: 14336,
    vocab: 32000,
    experts: { count: 8, active: 2 },
  };
}

const training: TrainingSpec = {
  sequenceLength: 2048,
  microBatch: 1,
  globalBatch: 1,
  precision: 'fp16',
  optimizer: 'adam',
  zeroStage: 0,
  recompute: 'none',
  attention: 'unfused',
  sequenceParallel: false,
  fusedCrossEntropy: false,
  dropout: true,
  gradAccumulationFp32: true,
};
const layout: Layout = { tensor: 1, pipeline: 1, data: 1, context: 1, expert: 1, virtualStages: 1 };

/** A request of defaults as the reference runs had them, with what a row changes. Nodes follow from the layout. */
export function request(
  gpu: GpuPresetName,
  model: ModelSpec,
  changed: { training: Partial<TrainingSpec>; layout: Partial<Layout> },
): PlanRequest {
  const sizes = { ...layout, ...changed.layout };
  const preset = gpuPresets[gpu];
  const gpus = sizes.tensor * sizes.pipeline * sizes.data * sizes.context;
  return {
    title: '',
    model,
    cluster: { gpu: preset.gpu, links: preset.links, nodes: Math.ceil(gpus / preset.gpusPerNode), gpusPerNode: preset.gpusPerNode },
    training: { ...training, ...changed.training },
    layout: sizes,
    schedule: null,
    slicing: { unit: null, scheme: null },
    constants: defaultConstants,
    costTable: null,
    profile: null,
    assumptions: [],
  };
}

/**
 * The same on Selene: eight InfiniBand cards of 200 Gbit/s a node for applications (arXiv 2104.04473, section 5), where the preset has 800
 * Gbit/s.
 */
export function onSelene(wanted: PlanRequest): PlanRequest {
  const { cluster } = wanted;
  const links = { ...cluster.links, nicGBps: 200, source: `${cluster.links.source}; network of Selene, 8 x 200 Gbit/s a node` };
  return { ...wanted, cluster: { ...cluster, links } };
}
