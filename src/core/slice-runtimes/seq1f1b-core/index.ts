import { flagsSinceCore13, type SliceRuntime } from '../slice-runtime';

/** The same on Megatron Core: takes a list of lengths too (`fix`). */
export const seq1f1bCore: SliceRuntime = {
  id: 'seq1f1b-core',
  name: 'thunlp/Seq1F1B on Megatron Core',
  version: 'thunlp/Seq1F1B at c62b9496',
  source:
    'megatron/core/pipeline_parallel/sequence_split.py, `SplitSolver.get_splits`; megatron/training/arguments.py, `--seq1f1b-*`; megatron/core/transformer/attention.py, where slices meet recompute ("no checkpointing")',
  on: null,
  splits: { flag: 'seq1f1b-splits', usual: 1 },
  rule: {
    flag: 'seq1f1b-balance-method',
    words: { average: 'average', 'equal-work': 'uniform_comp' },
    usual: 'equal-work',
    unread: ['linear_fit'],
  },
  lengths: { flag: 'seq1f1b-fix-splits', word: 'fix', multiple: 1 },
  needs: [],
  lacks: flagsSinceCore13,
  spells: {},
  takes: { 'fp8-recipe': ['tensorwise', 'delayed', 'mxfp8'], 'position-embedding-type': ['learned_absolute', 'rope', 'none'] },
  limits: ['core-recompute'],
  hardware: null,
};
