import type { SliceRuntime } from '../slice-runtime';

/** Seq1F1B in Hygon's patches over Megatron-LM: the same flags, and a schedule by name. */
export const hcu: SliceRuntime = {
  id: 'hcu-megatron',
  name: 'hcu-megatron',
  version: 'hcu-megatron of 2026',
  source:
    'its page on pipelines, Seq1F1B (no recompute, no Transformer Engine, FlashAttention only), and `_add_extra_training_args` of its arguments, where the rule is `average` unless set',
  on: { flag: 'schedule-method', word: 'seq1f1b' },
  splits: { flag: 'pipe-sp-splits', usual: 1 },
  rule: { flag: 'pipe-sp-strategy', words: { average: 'average', 'equal-work': 'uniform_comp' }, usual: 'average' },
  lengths: null,
  needs: [
    { flag: 'use-flash-attn', word: null },
    { flag: 'transformer-impl', word: 'local' },
  ],
  lacks: {},
  spells: {},
  takes: {},
  limits: ['recompute', 'unfused'],
  hardware: null,
};
