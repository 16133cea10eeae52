import { denseConfig, type Dense } from './hub-configs';

/** Size of the mixer with a state that is next to attention in every layer of Falcon-H1. */
interface ParallelState {
  readonly inner: number;
  readonly heads: number;
  readonly headDim: number;
  readonly stateDim: number;
  readonly groups: number;
}

function falconH1(sizes: Dense, { inner, heads, headDim, stateDim, groups }: ParallelState): object {
  return denseConfig('falcon_h1', sizes, {
    mamba_d_ssm: inner,
    mamba_n_heads: heads,
    mamba_d_head: headDim,
    mamba_d_state: stateDim,
    mamba_n_groups: groups,
  });
}

const museLayers = 52;

/**
 * Models whose layers have a state next to attention, or windows in some of them, by their plain names. Source: for Falcon-H1 the table of
 * transformers' page of it, with widths and vocabularies that give the published counts of parameters; for Nemotron 3 Nano 4B
 * NVIDIA-NeMo/Megatron-Bridge, recipes/nemotronh/h100/nemotron_3_nano_4b.py; for Muse Glimmer the defaults of NVIDIA-NeMo/Automodel,
 * components/models/muse_glimmer/config.py, which are those of transformers.
 */
export const mixedConfigs: Readonly<Record<string, object>> = {
  'falcon-h1-0.5b': falconH1([36, 1024, 8, 2, 64, 2048, 32784, false], { inner: 1536, heads: 24, headDim: 64, stateDim: 128, groups: 1 }),
  'falcon-h1-1.5b-deep': falconH1([66, 1280, 6, 2, 128, 3072, 65537, false], {
    inner: 1536,
    heads: 24,
    headDim: 64,
    stateDim: 256,
    groups: 1,
  }),
  'falcon-h1-7b': falconH1([44, 3072, 12, 2, 128, 12288, 130049, false], {
    inner: 3072,
    heads: 24,
    headDim: 128,
    stateDim: 256,
    groups: 1,
  }),
  'falcon-h1-34b': falconH1([72, 5120, 20, 4, 128, 21504, 261120, false], {
    inner: 4096,
    heads: 32,
    headDim: 128,
    stateDim: 256,
    groups: 2,
  }),
  'nvidia-nemotron-3-nano-4b': denseConfig('nemotron_h', [42, 3136, 40, 8, 128, 12544, 131072, false], {
    hybrid_override_pattern: 'M-M-M-MM-M-M*-M-M*-M-M-M*-M-M-MM*-MMM-M-M-',
    mamba_num_heads: 96,
    mamba_head_dim: 80,
    ssm_state_size: 128,
    n_groups: 8,
    conv_kernel: 4,
    expand: 2,
  }),
  'muse-glimmer-30b': denseConfig('muse_glimmer_text', [museLayers, 6656, 32, 2, 128, 19968, 202048, false], {
    sliding_window: 2048,
    layer_types: Array.from({ length: museLayers }, (_, index) =>
      (museLayers - index - 1) % 4 === 0 ? 'full_attention' : 'sliding_attention',
    ),
  }),
};
