import type { Finding } from '../../findings';
import { updatesWholeTensors } from '../../model/parameters';
import type { Plan } from '../../planner/plan';
import type { Run } from '../../run/run';
import { sentence } from '../../sentence';
import { findingAt } from '../settings';

/**
 * The finding that whole tensors are to be shared out where the plan shards evenly.
 *
 * @finding optimizer-shards-unused
 * `training.optimizerShards` gives whole tensors to ranks, as InternEvo's ZeRO 1 does. Without ZeRO nothing is shared out, and stages 2 and
 * 3 and FSDP cut gradients or weights, so that their shards are even: the setting has no effect.
 * @example `"training": {"optimizerShards": "tensors", "zeroStage": 3}`. "training.optimizerShards has an effect only with ZeRO 1"
 * @source `updatesWholeTensors` in `src/core/model/parameters.ts`, and `hybrid_zero_optim.py` of InternLM/InternEvo at c628a8c
 * @ignore the setting is written for later.
 */
export function shardFindings(run: Run, plan: Plan | null): Finding[] {
  if (plan === null || run.training.optimizerShards?.value !== 'tensors' || updatesWholeTensors(plan.request.training)) return [];
  return [
    findingAt(run, 'training.optimizerShards', 'optimizer-shards-unused', 'warning', {
      message: sentence`training.optimizerShards has an effect only with ZeRO 1`,
      remedy: sentence`set training.zeroStage to 1 without FSDP, or remove training.optimizerShards`,
    }),
  ];
}
