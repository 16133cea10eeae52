import type { Facts } from '../../run/facts';
import { countOf } from '../counts';
import { counted, sentence, type Sentence } from '../../sentence';
import { never, removed, type DesiredSetting, type SettingEdit } from '../writing/desired-setting';
import type { LaunchSettings } from '../writing/launch-settings';
import { maximum } from '../../numbers';

/** `recompute full of 8 layers a stage, 2 layers together`. */
export function recomputeName(
  granularity: string,
  {
    modules,
    parts,
    group,
  }: { readonly modules: readonly string[] | undefined; readonly parts?: number | undefined; readonly group: number },
): Sentence {
  const base = modules === undefined ? sentence`recompute ${granularity}` : sentence`recompute ${granularity} of ${modules.join(', ')}`;
  const limited = parts === undefined ? base : sentence`${base} of ${counted(parts, 'layer')} a stage`;
  return group > 1 ? sentence`${limited}, ${group} layers together` : limited;
}

/** Whether a file recomputes these modules, in any order. */
export function recomputes({ recomputeModules }: Facts, modules: readonly string[]): boolean {
  return [...(recomputeModules?.value ?? [])].sort().join() === [...modules].sort().join();
}

/**
 * Which parts of the layers are computed again in backward, in Megatron's four flags.
 * @param wholeFlag the flag of programs that have one for whole layers, and no other.
 */
export function recomputeSetting({ recompute, stageLayers }: LaunchSettings, wholeFlag?: string): DesiredSetting {
  const { granularity, modules, layers, group = 1 } = recompute;
  const most = maximum(stageLayers);
  const parts = layers === undefined || layers >= most ? undefined : layers;
  return {
    what: recomputeName(granularity, { modules, parts, group }),
    // with another granularity, what only full recompute reads may keep its value
    facts: [
      'recomputeGranularity',
      'recomputeModules',
      ...(granularity === 'full' ? (['recomputeMethod', 'recomputeLayers'] as const) : []),
    ],
    isMet: (facts) => {
      const given = facts.recomputeGranularity?.value ?? 'none';
      if (given !== granularity) return false;
      if (granularity === 'selective') return modules === undefined || recomputes(facts, modules);
      const isPart = facts.recomputeMethod?.value === 'block' && (countOf(facts, 'recomputeLayers') ?? 0) < most;
      if (granularity === 'none') return true;
      const isGroup = facts.recomputeMethod?.value !== 'uniform' || (countOf(facts, 'recomputeLayers') ?? 1) === group;
      return parts === undefined
        ? !isPart && isGroup && facts.recomputeMethod !== undefined
        : isPart && facts.recomputeLayers?.value === parts;
    },
    alternatives: (facts) => {
      if (granularity === 'none') return [removed('recomputeGranularity', 'recomputeMethod', 'recomputeLayers', 'recomputeModules')];
      if (wholeFlag !== undefined)
        return granularity === 'full' && parts === undefined && group === 1
          ? [[{ fact: 'recomputeGranularity', flag: wholeFlag, value: true }]]
          : [];
      const edit: SettingEdit = { fact: 'recomputeGranularity', value: granularity };
      if (granularity === 'selective')
        return [
          [
            ...removed('recomputeMethod', 'recomputeLayers'),
            edit,
            ...(modules === undefined ? [] : [{ fact: 'recomputeModules', value: modules } as const]),
          ],
        ];
      if (parts === undefined && facts.recomputeMethod?.value === 'uniform' && (countOf(facts, 'recomputeLayers') ?? 0) === group)
        return [[edit]];
      return [
        [
          ...removed('recomputeModules'),
          edit,
          { fact: 'recomputeMethod', value: parts === undefined ? 'uniform' : 'block' },
          { fact: 'recomputeLayers', value: parts ?? group },
        ],
      ];
    },
    reason: never,
  };
}
