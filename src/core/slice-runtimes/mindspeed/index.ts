import type { SliceRuntime } from '../slice-runtime';

/** Seq1F1B of MindSpeed-LLM: part of its MindSpore side, which `--ai-framework mindspore` chooses. */
export const mindspeed: SliceRuntime = {
  id: 'mindspeed',
  name: 'MindSpeed-LLM',
  version: 'MindSpeed-LLM at c77308a1',
  source:
    'mindspeed_llm/mindspore/mindspore_adaptor_v2.py 47 and 372 to 378, mindspeed_llm/mindspore/core/pipeline_parallel/seq1f1b/seq1f1b_batch.py, `get_span_info`; its page on Seq1F1B; Ascend/MindSpeed at 028de58c: mindspeed/mindspore/core/pipeline_parallel/seq1f1b/sequence_split.py 118',
  on: { flag: 'enable-seq1f1b', word: null },
  splits: { flag: 'seq1f1b-splits', usual: 4 },
  rule: { flag: 'seq1f1b-balance-method', words: { average: 'average', 'equal-work': 'uniform_comp' }, usual: 'average' },
  lengths: null,
  needs: [{ flag: 'reset-attention-mask', word: null }],
  lacks: {},
  spells: {},
  takes: {},
  limits: ['micro-batch', 'context', 'unfused'],
  hardware: { name: 'Ascend NPUs', launcher: 'msrun', shortest: 4096 },
};
