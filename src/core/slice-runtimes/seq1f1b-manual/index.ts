import { seq1f1b } from '../seq1f1b';
import type { SliceRuntime } from '../slice-runtime';

/** A fork of Seq1F1B that takes lengths as they are. Scripts with one of its other rules are read as `seq1f1b`. */
export const seq1f1bManual: SliceRuntime = {
  ...seq1f1b,
  id: 'seq1f1b-manual',
  name: 'zwx119/Seq1F1B',
  version: 'zwx119/Seq1F1B at 33bb4a1b',
  source:
    'megatron/arguments.py 873 to 879, megatron/core/pipeline_parallel/sp_utils.py 151 to 175, megatron/model/transformer.py 865; limits at `lines`',
  // splits by the layers that have attention, which its DeltaNet flags set
  rule: { flag: 'pipe-sp-strategy', words: {}, usual: 'average', unread: ['hybrid_comp'] },
  lengths: { flag: 'pipe-sp-manual-splits', word: 'manual', multiple: 128 },
  lines: {
    experts: 'megatron/model/transformer.py 321: its SwitchMLP has every expert on every rank, run in turn',
    unfused: 'megatron/model/transformer.py 857',
    'gated-width': 'megatron/arguments.py 261',
  },
  takes: { ...seq1f1b.takes, 'position-embedding-type': ['learned_absolute', 'rope', 'none'] },
};
