import type { Program } from '../../formats/facts';
import { sentence } from '../../sentence';
import { never, type DesiredSetting } from './desired-setting';
import type { LaunchSettings } from './launch-settings';
import { recomputeName, recomputes } from './megatron-recompute';
import { megatronSettings } from './megatron-settings';
import { dtensorSettings } from './small-settings';

/** What a NeMo-RL YAML needs for a plan. @param program DTensor; undefined: Megatron Core. */
export function rlSettings(plan: LaunchSettings, program: Program | undefined): readonly DesiredSetting[] {
  return program === undefined ? megatronSettings(plan, 'nemo-rl', recomputeSetting(plan)) : dtensorSettings(plan);
}

const section = 'policy.megatron_cfg';

/** A switch of its own, and what of the layers: all, or modules of each (nemo_rl/models/megatron/setup.py 1071 to 1086). */
function recomputeSetting({ recompute }: LaunchSettings): DesiredSetting {
  const { granularity, modules, layers, group = 1 } = recompute;
  const isSaid = layers === undefined && group === 1;
  const switched = (value: boolean) => ({ fact: 'recomputeGranularity' as const, flag: `${section}.activation_checkpointing`, value });
  const kind = { fact: 'recomputeGranularity' as const, flag: `${section}.recompute_granularity`, value: granularity };
  return {
    what: recomputeName(granularity, { modules, group: 1 }),
    facts: ['recomputeGranularity', 'recomputeModules'],
    carries: ['recompute'],
    isMet: (facts) =>
      isSaid &&
      (facts.recomputeGranularity?.value ?? 'none') === granularity &&
      (granularity !== 'selective' || recomputes(facts, modules ?? [])),
    alternatives: () => {
      if (!isSaid) return [];
      if (granularity === 'none') return [[switched(false)]];
      const named = modules === undefined ? [] : [{ fact: 'recomputeModules' as const, value: modules }];
      return granularity === 'full' ? [[switched(true)], [switched(true), kind]] : [[switched(true), kind, ...named]];
    },
    reason: isSaid ? never : sentence`NeMo-RL recomputes all layers alike`,
  };
}
