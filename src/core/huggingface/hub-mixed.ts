import { denseConfig } from './hub-configs';

const museLayers = 52;

/**
 * Models whose layers have a state next to attention, or windows in some of them, by their plain names. Source: for Falcon-H1 the table of
 * transformers' page of it and the config.json of a model trained further from it; for Nemotron 3 Nano 4B NVIDIA-NeMo/Megatron-Bridge,
 * recipes/nemotronh/h100/nemotron_3_nano_4b.py; for Muse Glimmer the defaults of NVIDIA-NeMo/Automodel,
 * components/models/muse_glimmer/config.py, which are those of transformers.
 */
export const mixedConfigs: Readonly<Record<string, object>> = {
  'falcon-h1-0.5b': denseConfig('falcon_h1', [36, 1024, 8, 2, 64, 2048, 32784, false], {
    mamba_d_ssm: 1536,
    mamba_n_heads: 24,
    mamba_d_head: 64,
    mamba_d_state: 128,
    mamba_n_groups: 1,
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
