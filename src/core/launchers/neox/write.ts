import { formatCount } from '../../format';
import type { YamlMap } from '../../languages/yaml/document';
import { sentence } from '../../sentence';
import { settingTitle } from '../../domain/settings/table';
import { lacking, nodesSetting, sequenceParallelSetting, wholeRecomputeSetting } from '../writing/common-settings';
import {
  countSetting,
  isGiven,
  never,
  optimizerOffloadSetting,
  sizeSettings,
  unsupported,
  type DesiredSetting,
} from '../writing/desired-setting';
import type { Editor } from '../writing/editor';
import { namesIn, spelledWith, spellingsIn } from '../writing/key-names';
import { accumulationSteps, type LaunchSettings } from '../writing/launch-settings';
import { yamlSyntax } from '../writing/yaml-syntax';
import { neoxKeys } from './gpt-neox';

const names = namesIn(neoxKeys, [
  ...(['tensor', 'pipeline', 'expert', 'sequenceParallel', 'sequenceLength', 'maxPositions', 'microBatch', 'globalBatch'] as const),
  ...(['gradientAccumulation', 'zeroStage', 'recomputeGranularity', 'recomputeLayers', 'offloadOptimizer'] as const),
  ...(['nodes', 'gpusPerNode'] as const),
]);

/** GPT-NeoX. */
export const neoxEditor: Editor = {
  settings: neoxSettings,
  syntax: yamlSyntax({
    keys: ({ root }) => (isDashed(root) ? spelledWith(names, (name) => name.replaceAll('_', '-')) : names),
    removes: true,
    spelled: spellingsIn(neoxKeys),
  }),
};

/** Whether keys of a GPT-NeoX file are written with dashes, as it takes them too. */
function isDashed({ entries }: YamlMap): boolean {
  const keys = [...entries.keys()];
  return keys.filter((key) => key.includes('-')).length > keys.filter((key) => key.includes('_')).length;
}

/** What a GPT-NeoX YAML needs for a plan: DeepSpeed's engine under Megatron's sizes. */
function neoxSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: 1, pipeline: 1, sequenceLength: null, microBatch: null }),
    expertSetting(plan),
    globalBatchSetting(plan),
    countSetting(sentence`ZeRO stage`, 'zeroStage', plan.zeroStage, 0),
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan, true),
    optimizerOffloadSetting(plan.offloadOptimizer === true),
    nodesSetting(plan),
    ...lacking(plan, 'GPT-NeoX'),
    ...unsupported('context', sentence`context parallel size ${plan.context}`, sentence`its files have no key for it`, plan.context > 1),
  ];
}

/** The last commit has no key for it and refuses keys that it does not know, so that only a file that has the key gets another value. */
function expertSetting({ expert }: LaunchSettings): DesiredSetting {
  const setting = countSetting(settingTitle('expert'), 'expert', expert, 1);
  return {
    ...setting,
    alternatives: (facts) => (isGiven(facts, 'expert') ? setting.alternatives(facts) : []),
    reason: sentence`its files have no key for it: experts are divided over the tensor-parallel ranks`,
  };
}

/** Of micro-batch, accumulation and global batch the file has two or three; those that it has agree. */
function globalBatchSetting(plan: LaunchSettings): DesiredSetting {
  const { globalBatch } = plan;
  const steps = accumulationSteps(plan);
  return {
    what: sentence`global batch size ${formatCount(globalBatch)}`,
    facts: ['globalBatch', 'gradientAccumulation'],
    carries: ['globalBatch'],
    isMet: ({ globalBatch: all, gradientAccumulation: accumulated }) =>
      (all === undefined || all.value === globalBatch) &&
      (accumulated === undefined || accumulated.value === steps) &&
      (all !== undefined || (accumulated?.value ?? 1) === steps),
    alternatives: (facts) => {
      const wanted = [
        { fact: 'globalBatch', value: globalBatch },
        { fact: 'gradientAccumulation', value: steps },
      ] as const;
      const given = wanted.filter(({ fact }) => isGiven(facts, fact));
      return [given.length > 0 ? given : wanted.slice(1)];
    },
    reason: never,
  };
}
