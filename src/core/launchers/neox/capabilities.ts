import { setBy, wholeLayersOnly, zeroWithPipeline } from '../../domain/capabilities';
import type { Capabilities } from '../../run/facts';
import { sentence } from '../../sentence';

/** Of the last commit, which divides experts over the tensor-parallel ranks and has no size of their own. */
export const neoxCapabilities: Capabilities = {
  name: 'GPT-NeoX',
  source:
    'EleutherAI/gpt-neox at ea7aefd8, megatron/neox_arguments/neox_args.py 60 to 88, 1384 to 1399, 1615 to 1645 and arguments.py 1089 to 1146',
  setBy: setBy(['tensor', 'pipeline', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer', 'sequenceParallel'], ['context']),
  refuses: [
    zeroWithPipeline,
    {
      code: 'zero-with-experts',
      atLeast: { zeroStage: 2 },
      model: 'experts',
      why: sentence`GPT-NeoX trains experts with stages up to 1`,
      source: 'EleutherAI/gpt-neox at ea7aefd8, megatron/neox_arguments/arguments.py 1089',
    },
  ],
  recomputes: wholeLayersOnly,
  hasFixedStageLayers: true,
  silent: { recomputeGranularity: 'none', attention: 'unfused', hiddenDropout: 0, attentionDropout: 0 },
};

/** Of commits before dropless experts, whose files may set `moe_expert_parallel_size` (EleutherAI/gpt-neox at 86758c35). */
export const neoxWithExpertSize: Capabilities = { ...neoxCapabilities, setBy: { ...neoxCapabilities.setBy, expert: 'file' } };
