import type { SliceRuntime } from '../slice-runtime';

/** Megatron-LM's own, as proposed: equal spans; the lengths are a list that a function returns. */
export const chunkedPipeline: SliceRuntime = {
  id: 'chunked-pipeline',
  name: "Megatron-LM's chunked pipeline",
  source: 'NVIDIA/Megatron-LM, pull request 3116: megatron/core/pipeline_parallel/chunked_pipeline_parallel_utils.py, `_get_span`',
  on: null,
  splits: { flag: 'chunked-pipeline-model-parallel-splits', usual: 1 },
  rule: null,
  lengths: null,
  needs: [],
  lacks: {},
  limits: [],
  splitsFile: 'megatron/core/pipeline_parallel/chunked_pipeline_parallel_utils.py',
};
