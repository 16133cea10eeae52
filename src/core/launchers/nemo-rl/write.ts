import { sentence } from '../../sentence';
import { megatronSettings } from '../megatron/plan-settings';
import { recomputeName, recomputes } from '../megatron/recompute-setting';
import { plainDialect } from '../megatron/stages-setting';
import { writtenFacts } from '../megatron/written-keys';
import { lacking, nodesSetting, sequenceParallelSetting, wholeRecomputeSetting } from '../writing/common-settings';
import { never, sizeSettings, unsupported, type DesiredSetting } from '../writing/desired-setting';
import type { Editor, Started } from '../writing/editor';
import { namesIn, spellingsIn } from '../writing/key-names';
import type { LaunchSettings } from '../writing/launch-settings';
import { yamlSyntax } from '../writing/yaml-syntax';
import { dtensorKeys, megatronKeys } from './nemo-rl';

const ofPolicy = ['sequenceLength', 'microBatch', 'globalBatch', 'precision', 'nodes', 'gpusPerNode'] as const;
const megatronNames = namesIn(megatronKeys, [...writtenFacts, ...ofPolicy]);
const dtensorNames = namesIn(dtensorKeys, [...ofPolicy, 'tensor', 'context', 'expert', 'sequenceParallel', 'recomputeGranularity']);

const dialect = { ...plainDialect, barsInPattern: false, countsVirtualStages: true, hasNodes: true };

/** NeMo-RL with Megatron Core or DTensor. */
export const nemoRlEditor: Editor = {
  settings: rlSettings,
  syntax: yamlSyntax({
    keys: (_, { program }) => (program === undefined ? megatronNames : dtensorNames),
    // what only DTensor's table spells, Megatron's settings write under keys of their own
    spelled: spellingsIn({ ...megatronKeys, ...dtensorKeys }),
  }),
};

/** What a NeMo-RL YAML needs for a plan: its program is DTensor, or else Megatron Core. */
function rlSettings(plan: LaunchSettings, { traits, program }: Started): readonly DesiredSetting[] {
  return program === undefined ? megatronSettings(plan, traits, dialect, recomputeSetting(plan)) : dtensorSettings(plan);
}

const section = 'policy.megatron_cfg';

/** A switch of its own, and which parts of the layers: all, or modules of each (nemo_rl/models/megatron/setup.py 1071 to 1086). */
function recomputeSetting({ recompute }: LaunchSettings): DesiredSetting {
  const { granularity, modules, layers, group = 1 } = recompute;
  const isSupported = layers === undefined && group === 1;
  const switched = (value: boolean) => ({ fact: 'recomputeGranularity' as const, flag: `${section}.activation_checkpointing`, value });
  const kind = { fact: 'recomputeGranularity' as const, flag: `${section}.recompute_granularity`, value: granularity };
  return {
    what: recomputeName(granularity, { modules, group: 1 }),
    facts: ['recomputeGranularity', 'recomputeModules'],
    carries: ['recompute'],
    isMet: (facts) =>
      isSupported &&
      (facts.recomputeGranularity?.value ?? 'none') === granularity &&
      (granularity !== 'selective' || recomputes(facts, modules ?? [])),
    alternatives: () => {
      if (!isSupported) return [];
      if (granularity === 'none') return [[switched(false)]];
      const named = modules === undefined ? [] : [{ fact: 'recomputeModules' as const, value: modules }];
      return granularity === 'full' ? [[switched(true)], [switched(true), kind]] : [[switched(true), kind, ...named]];
    },
    reason: isSupported ? never : sentence`NeMo-RL recomputes all layers alike`,
  };
}

/** What a NeMo-RL YAML of the DTensor backend needs for a plan: FSDP2 takes the GPUs that the sizes leave. */
function dtensorSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: 1, context: 1, expert: 1, sequenceLength: null, microBatch: null, globalBatch: null }),
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan),
    nodesSetting(plan),
    ...lacking(plan, 'NeMo-RL'),
    ...unsupported('pipeline', sentence`pipeline parallel size ${plan.pipeline}`, sentence`DTensor has no pipeline`, plan.pipeline > 1),
    ...unsupported('zeroStage', sentence`ZeRO ${plan.zeroStage}`, sentence`FSDP2 shards weights`, plan.zeroStage !== 3 && plan.data > 1),
  ];
}
