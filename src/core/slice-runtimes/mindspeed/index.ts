import type { SliceRuntime } from '../slice-runtime';

/** Seq1F1B of MindSpeed-LLM on MindSpore, for Ascend NPUs. */
export const mindspeed: SliceRuntime = {
  id: 'mindspeed',
  name: 'MindSpeed-LLM',
  source:
    'Ascend/MindSpeed-LLM: its page on Seq1F1B and `get_span_info`; Ascend/MindSpeed at 028de58c: mindspeed/mindspore/core/pipeline_parallel/seq1f1b/sequence_split.py 118',
  on: { flag: 'enable-seq1f1b', word: null },
  splits: { flag: 'seq1f1b-splits', usual: 4 },
  rule: { flag: 'seq1f1b-balance-method', words: { average: 'average', 'equal-work': 'uniform_comp' } },
  lengths: null,
  needs: [{ flag: 'reset-attention-mask', word: null }],
  lacks: {},
  limits: ['micro-batch', 'context'],
  splitsFile: 'mindspeed/mindspore/core/pipeline_parallel/seq1f1b/sequence_split.py',
};
