import type { MegatronFork } from '../fork';

/** Alibaba's patches over several versions of Megatron-LM. */
export const pai: MegatronFork = {
  name: 'Pai-Megatron-Patch',
  source: 'alibaba/Pai-Megatron-Patch at a098ca5a',
  signs: {
    flags: ['patch-tokenizer-type', 'extra-vocab-size', 'max-padding-length', 'transformer-type', 'n-head-kv', 'moe-topk', 'train-mode'],
    text: /MEGATRON_PATCH_PATH|\bmegatron_patch\b/,
    repository: /Pai-Megatron-Patch/i,
  },
  choices: {},
  traits: {},
};

/** Sea AI Lab's zero-bubble schedules; arguments.py 1051 has a method of its own. */
export const zeroBubble: MegatronFork = {
  name: 'zero-bubble-pipeline-parallelism',
  source: 'sail-sg/zero-bubble-pipeline-parallelism at 39f2c186',
  signs: {
    flags: [
      'enable-zero-bubble',
      'zero-bubble-v-schedule',
      'zero-bubble-v-schedule-mem-setup',
      'enable-1f1b-v',
      'enable-zb-runtime',
      'num-seq-splits',
      'zero-bubble-max-pending-backward',
      'allow-padding-num-layers',
      'interleave-group-size',
      'offload-chunk-num',
      'enable-optimizer-post-validation',
    ],
    text: null,
    repository: /zero-bubble/i,
  },
  // megatron/training/arguments.py 803 and 1051
  choices: { 'position-embedding-type': ['learned_absolute', 'rope', 'none'], 'recompute-method': ['uniform', 'block', 'chunk'] },
  traits: {},
};

/** Token slices over Megatron-LM, by THUNLP. */
export const seq1f1b: MegatronFork = {
  name: 'Seq1F1B',
  source: 'thunlp/Seq1F1B',
  signs: { flags: ['pipe-sp-splits', 'pipe-sp-strategy', 'seq1f1b-fix-splits'], text: null, repository: /seq1f1b/i },
  choices: {},
  traits: {},
};

/** AMD's fork; its checks are Megatron-LM's of the version that it follows. */
export const rocm: MegatronFork = {
  name: "ROCm's Megatron-LM",
  source: 'ROCm/Megatron-LM',
  signs: { flags: [], text: /\brocm\/megatron|ROCm\/Megatron-LM/i, repository: /ROCm[+/]Megatron/i },
  choices: {},
  traits: {},
};

/** BigCode's fork, which trained StarCoder. */
export const bigcode: MegatronFork = {
  name: "BigCode's Megatron-LM",
  source: 'bigcode-project/Megatron-LM',
  signs: {
    flags: ['attention-head-type', 'fim-rate', 'fim-spm-rate', 'structured-logs', 'transformer-timers'],
    text: null,
    repository: /bigcode/i,
  },
  choices: {},
  traits: {},
};

/** The Swiss AI Initiative's fork, which trained Apertus. */
export const swissAi: MegatronFork = {
  name: "Swiss AI's Megatron-LM",
  source: 'swiss-ai/Megatron-LM',
  signs: { flags: ['xielu', 'goldfish-loss', 'qknorm-impl'], text: null, repository: /swiss-ai/i },
  choices: {},
  traits: {},
};

/** The fork of Megatron-LM under MegaBlocks, from before Megatron Core had experts. */
export const megablocks: MegatronFork = {
  name: "MegaBlocks' Megatron-LM",
  source: 'stanford-futuredata/Megatron-LM at 85f95aef, megatron/arguments.py, _add_moe_args',
  signs: {
    flags: ['moe-num-experts', 'moe-top-k', 'moe-loss-weight', 'moe-expert-model-parallelism', 'moe-weight-parallelism'],
    text: null,
    repository: /megablocks/i,
  },
  choices: {},
  traits: {},
};

/** The program of scripts that do not show which fork they run: only rules that all of them share apply. */
export const unknownFork: MegatronFork = {
  name: 'Megatron-LM or a fork of it',
  source: '',
  signs: { flags: [], text: null, repository: /$^/ },
  choices: {},
  traits: {},
};
