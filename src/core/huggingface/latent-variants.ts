import { sentence } from '../sentence';
import { deepseekV3 } from './expert-families';
import { attentionBias, bertKeys, llamaAlways, llamaKeys, makeFamily, deriveFamily, type Family } from './family';

/** Layers with latent attention and one network for all tokens. */
const latentDense = {
  keys: { ...bertKeys, kvHeads: llamaKeys.kvHeads, ...attentionBias, mlpBias: ['mlp_bias'] },
  always: llamaAlways,
} as const;

/** Elements of the indexer of sparse attention (DeepSeek-V3.2), on average of all layers: some may share another's. */
const indexer: NonNullable<Family['small']> = ({ hidden, number, list }) => {
  const [heads, headDim] = [number('index_n_heads') ?? 64, number('index_head_dim') ?? 128];
  const types = list('indexer_types') ?? ['full'];
  const own = types.filter((type) => type === 'full').length / types.length;
  return { attention: own * ((number('q_lora_rank') ?? 1536) * heads * headDim + hidden * (headDim + heads) + 2 * headDim) };
};
/** Its class has one, of the rotary part only. */
const noHeadSize = { defaults: { headDim: null } } as const;
const indexed = sentence`attention to all earlier tokens, though an indexer picks some of them`;

/**
 * Families with latent attention that differ from DeepSeek-V3 in sizes, or have no experts. Source: configuration and modelling classes of
 * transformers 5.23.
 */
export const latentVariants = {
  axk1: deriveFamily(deepseekV3, 'AXK1Config', {
    extras: { ...deepseekV3.extras, firstDenseLayers: 1 },
    small: ({ hidden }) => ({ experts: hidden }),
  }),
  deepseek_v32: deriveFamily(deepseekV3, 'DeepseekV32Config', { ...noHeadSize, small: indexer, approximated: indexed }),
  glm4_moe_lite: deriveFamily(deepseekV3, 'Glm4MoeLiteConfig', {
    extras: {
      kvLoraRank: 512,
      qLoraRank: 768,
      qkNopeHeadDim: 192,
      qkRopeHeadDim: 64,
      vHeadDim: 256,
      sharedExperts: 1,
      firstDenseLayers: 1,
    },
  }),
  glm_moe_dsa: deriveFamily(deepseekV3, 'GlmMoeDsaConfig', {
    ...noHeadSize,
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
  }),
  minicpm3: makeFamily('MiniCPM3Config', {
    ...latentDense,
    extras: { kvLoraRank: 256, qLoraRank: 768, qkNopeHeadDim: 64, qkRopeHeadDim: 32, vHeadDim: 64 },
  }),
  mistral4: deriveFamily(deepseekV3, 'Mistral4Config', {
    extras: {
      kvLoraRank: 256,
      qLoraRank: 1024,
      qkNopeHeadDim: 64,
      qkRopeHeadDim: 64,
      vHeadDim: 128,
      sharedExperts: 1,
      firstDenseLayers: 0,
    },
  }),
  youtu: makeFamily('YoutuConfig', {
    ...latentDense,
    extras: { kvLoraRank: 512, qLoraRank: 1536, qkNopeHeadDim: 128, qkRopeHeadDim: 64, vHeadDim: 128 },
  }),
} as const satisfies Readonly<Record<string, Family>>;
