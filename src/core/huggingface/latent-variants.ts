import { sentence } from '../sentence';
import { deepseekV3 } from './expert-families';
import { attentionBias, bertKeys, llamaAlways, llamaKeys, noBias, tied, untied, variantOf, type Family } from './family';

/** Layers with latent attention and one network for all tokens. */
const latentDense = {
  keys: { ...bertKeys, kvHeads: llamaKeys.kvHeads, ...attentionBias, mlpBias: ['mlp_bias'] },
  always: llamaAlways,
} as const;
const dense = { headDim: null, ...untied, ...noBias } as const;

/** Elements of the indexer of sparse attention (DeepSeek-V3.2), on average of all layers: some may share another's. */
const indexer: NonNullable<Family['small']> = ({ hidden, number, list }) => {
  const [heads, headDim] = [number('index_n_heads') ?? 64, number('index_head_dim') ?? 128];
  const types = list('indexer_types') ?? ['full'];
  const own = types.filter((type) => type === 'full').length / types.length;
  return { attention: own * ((number('q_lora_rank') ?? 1536) * heads * headDim + hidden * (headDim + heads) + 2 * headDim) };
};
const indexed = sentence`attention to all earlier tokens, though an indexer picks some of them`;

/**
 * Families with latent attention that differ from DeepSeek-V3 in sizes, or have no experts. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const latentVariants = {
  axk1: variantOf(
    deepseekV3,
    'AXK1Config',
    { heads: 64, kvHeads: 64, vocab: 163840, maxPositions: 32768, experts: { count: 192, active: 8, ffn: 2048 } },
    { extras: { ...deepseekV3.extras, firstDenseLayers: 1 }, small: ({ hidden }) => ({ experts: hidden }) },
  ),
  deepseek_v32: variantOf(deepseekV3, 'DeepseekV32Config', {}, { small: indexer, approximated: indexed }),
  glm4_moe_lite: variantOf(
    deepseekV3,
    'Glm4MoeLiteConfig',
    {
      layers: 47,
      hidden: 2048,
      heads: 20,
      kvHeads: 20,
      ffn: 10240,
      vocab: 154880,
      maxPositions: 202752,
      experts: { count: 64, active: 4, ffn: 1536 },
    },
    {
      extras: {
        kvLoraRank: 512,
        qLoraRank: 768,
        qkNopeHeadDim: 192,
        qkRopeHeadDim: 64,
        vHeadDim: 256,
        sharedExperts: 1,
        firstDenseLayers: 1,
      },
    },
  ),
  glm_moe_dsa: variantOf(
    deepseekV3,
    'GlmMoeDsaConfig',
    { layers: 78, hidden: 6144, heads: 64, kvHeads: 64, ffn: 12288, vocab: 154880, maxPositions: 202752 },
    {
      extras: {
        kvLoraRank: 512,
        qLoraRank: 2048,
        qkNopeHeadDim: 192,
        qkRopeHeadDim: 64,
        vHeadDim: 256,
        sharedExperts: 1,
        firstDenseLayers: 3,
      },
      small: indexer,
      approximated: indexed,
    },
  ),
  minicpm3: {
    ...latentDense,
    configClass: 'MiniCPM3Config',
    defaults: { ...dense, layers: 62, hidden: 2560, heads: 40, kvHeads: 40, ffn: 6400, vocab: 73448, maxPositions: 32768, ...tied },
    extras: { kvLoraRank: 256, qLoraRank: 768, qkNopeHeadDim: 64, qkRopeHeadDim: 32, vHeadDim: 64 },
  },
  mistral4: variantOf(
    deepseekV3,
    'Mistral4Config',
    {
      layers: 36,
      hidden: 4096,
      heads: 32,
      kvHeads: 32,
      ffn: 12288,
      vocab: 131072,
      maxPositions: 1048576,
      experts: { count: 128, active: 4, ffn: 2048 },
    },
    {
      extras: {
        kvLoraRank: 256,
        qLoraRank: 1024,
        qkNopeHeadDim: 64,
        qkRopeHeadDim: 64,
        vHeadDim: 128,
        sharedExperts: 1,
        firstDenseLayers: 0,
      },
    },
  ),
  youtu: {
    ...latentDense,
    configClass: 'YoutuConfig',
    defaults: { ...dense, layers: 32, hidden: 2048, heads: 16, kvHeads: 16, ffn: 6144, vocab: 128256, maxPositions: 131072, ...tied },
    extras: { kvLoraRank: 512, qLoraRank: 1536, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 },
  },
} as const satisfies Readonly<Record<string, Family>>;
