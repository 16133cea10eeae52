import { flagsSinceCore13, noSuchFlags, type SliceRuntime } from '../slice-runtime';

/** Flags of newer versions of Megatron-LM, at which the argparse of 2023 stops. */
const newerFlags: SliceRuntime['lacks'] = {
  'context-parallel-size': '1',
  'expert-model-parallel-size': '1',
  'expert-tensor-parallel-size': '1',
  'attention-backend': 'flash',
  'num-virtual-stages-per-pipeline-rank': '1',
  'rotary-base': '10000',
  ...flagsSinceCore13,
  ...noSuchFlags(
    // taken, and read only with Transformer Engine: norms stay LayerNorm
    'normalization',
    'account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split add-qkv-bias cp-comm-type',
    'cross-entropy-loss-fusion cuda-graph-scope decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers',
    'fp8-param-gather fp8-recipe grad-reduce-in-bf16 hybrid-override-pattern is-hybrid-model kv-lora-rank mamba-head-dim',
    'mamba-num-groups mamba-state-dim moe-aux-loss-coeff moe-ffn-hidden-size moe-grouped-gemm moe-layer-freq',
    'moe-router-enable-expert-bias moe-router-group-topk moe-router-load-balancing-type moe-router-num-groups',
    'moe-router-pre-softmax moe-router-score-function moe-router-topk moe-router-topk-scaling-factor',
    'moe-shared-expert-intermediate-size moe-input-jitter-eps moe-token-dispatcher-type moe-z-loss-coeff mscale mscale-all-dim mtp-num-layers',
    'multi-latent-attention no-check-for-nan-in-loss-and-grad overlap-grad-reduce overlap-param-gather q-lora-rank qk-head-dim',
    'qk-layernorm qk-pos-emb-head-dim recompute-modules rope-scaling-factor rotary-interleaved rotary-scaling-factor spec',
    'tp-comm-overlap use-rope-scaling use-tp-pp-dp-mapping v-head-dim',
  ),
};

/** Token slices over Megatron-LM of 2023, as its authors published them first. */
export const seq1f1b: SliceRuntime = {
  id: 'seq1f1b',
  name: 'thunlp/Seq1F1B',
  version: 'thunlp/Seq1F1B at 68934661',
  source:
    'as MayDomine/Seq1F1B at f54b286c: megatron/arguments.py 732 and 734, megatron/core/pipeline_parallel/sp_utils.py 119; limits at `lines`',
  on: null,
  splits: { flag: 'pipe-sp-splits', usual: 1 },
  rule: { flag: 'pipe-sp-strategy', words: { average: 'average', 'equal-work': 'uniform_comp' }, usual: 'average' },
  lengths: null,
  needs: [{ flag: 'use-flash-attn', word: null }],
  lacks: newerFlags,
  spells: { 'norm-epsilon': 'layernorm-epsilon' },
  takes: {
    'tokenizer-type': ['GPTSentencePieceTokenizer', 'SentencePieceTokenizer', 'GPT2BPETokenizer', 'NullTokenizer'],
    'position-embedding-type': ['learned_absolute', 'rope'],
  },
  limits: ['context', 'experts', 'unfused', 'gated-width'],
  lines: {
    experts: 'megatron/model/transformer.py 319: its SwitchMLP has every expert on every rank, run in turn',
    unfused: 'megatron/model/transformer.py 855',
    'gated-width': 'megatron/arguments.py 260',
  },
  hardware: null,
};
