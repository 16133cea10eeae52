import { newerFlags } from '../seq1f1b';
import type { SliceRuntime } from '../slice-runtime';

/** A fork of Seq1F1B that takes lengths as they are. Its other rules are those of `seq1f1b`, as which scripts with them are read. */
export const seq1f1bManual: SliceRuntime = {
  id: 'seq1f1b-manual',
  name: 'zwx119/Seq1F1B',
  version: 'zwx119/Seq1F1B at 33bb4a1b',
  source:
    'megatron/arguments.py 254 (width of a gated feed-forward) and 873 to 879, megatron/core/pipeline_parallel/sp_utils.py 151 to 175, megatron/model/transformer.py 865',
  on: null,
  splits: { flag: 'pipe-sp-splits', usual: 1 },
  // splits by the layers that have attention, which its DeltaNet flags set
  rule: { flag: 'pipe-sp-strategy', words: {}, usual: 'average', unread: ['hybrid_comp'] },
  lengths: { flag: 'pipe-sp-manual-splits', word: 'manual', multiple: 128 },
  needs: [{ flag: 'use-flash-attn', word: null }],
  lacks: newerFlags,
  spells: { 'norm-epsilon': 'layernorm-epsilon' },
  takes: { 'tokenizer-type': ['GPTSentencePieceTokenizer', 'SentencePieceTokenizer', 'GPT2BPETokenizer', 'NullTokenizer'] },
  limits: ['context', 'experts', 'unfused', 'gated-width'],
  hardware: null,
};
