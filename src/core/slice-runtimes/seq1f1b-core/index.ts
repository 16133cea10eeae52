import type { SliceRuntime } from '../slice-runtime';

/** The same on Megatron Core: takes a list of lengths too (`fix`). */
export const seq1f1bCore: SliceRuntime = {
  id: 'seq1f1b-core',
  name: 'Seq1F1B on Megatron Core',
  source: 'thunlp/Seq1F1B at c62b9496: megatron/core/pipeline_parallel/sequence_split.py, `SplitSolver.get_splits`',
  on: null,
  splits: { flag: 'seq1f1b-splits', usual: 1 },
  rule: { flag: 'seq1f1b-balance-method', words: { average: 'average', 'equal-work': 'uniform_comp' } },
  lengths: { flag: 'seq1f1b-fix-splits', word: 'fix' },
  needs: [],
  lacks: {},
  limits: [],
  splitsFile: 'megatron/core/pipeline_parallel/sequence_split.py',
};
