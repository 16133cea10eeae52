import type { Capabilities } from '../../formats/facts';
import { setBy, zero3WithAutoTensor, wholeLayersOnly } from '../../domain/capabilities';

/** Its launch flags have ZeRO and offloading too. */
export const openRlhf: Capabilities = {
  name: 'OpenRLHF',
  source: 'OpenRLHF/OpenRLHF at 3c3be623, openrlhf/cli/train_sft.py 166 to 284 and utils/deepspeed/deepspeed.py 78',
  setBy: setBy(['microBatch', 'recompute', 'zeroStage', 'tensor', 'context'], ['expert', 'offloadOptimizer']),
  refuses: [zero3WithAutoTensor],
  recomputes: wholeLayersOnly,
  silent: { precision: 'bf16', zeroStage: 2, microBatch: 8, globalBatch: 128, sequenceLength: 2048, recomputeGranularity: 'none' },
};

/** Sizes follow from `--model-size`. */
export const metaseq: Capabilities = {
  name: 'metaseq',
  source: 'facebookresearch/metaseq at f7ffa5f, metaseq/launcher/opt_job_constants.py',
  setBy: setBy(['tensor', 'microBatch']),
  refuses: [],
  recomputes: wholeLayersOnly,
  silent: {},
};
