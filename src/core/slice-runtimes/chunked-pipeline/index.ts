import type { SliceRuntime } from '../slice-runtime';

/** Megatron-LM's own, as proposed: equal spans; the lengths are a list that a function returns. */
export const chunkedPipeline: SliceRuntime = {
  id: 'chunked-pipeline',
  name: 'Megatron-LM PR 3116',
  version: 'Megatron-LM with pull request 3116, at 2f852f81',
  source:
    'megatron/core/chunked_pipeline_parallel_utils.py, `_get_span`; its limitations are in its description; the flag is that of the field in the config, as `ArgumentGroupFactory` makes them',
  on: null,
  splits: { flag: 'chunked-pipeline-model-parallel-splits', usual: 1 },
  rule: null,
  lengths: null,
  needs: [],
  lacks: {},
  spells: {},
  takes: {},
  limits: ['latent'],
  hardware: null,
};
