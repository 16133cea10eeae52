import { wordFor } from '../../languages/reads';
import { sentence } from '../../sentence';
import { lacking, sequenceParallelSetting, wholeRecomputeSetting } from '../writing/common-settings';
import { countSetting, never, sizeSettings, type DesiredSetting } from '../writing/desired-setting';
import type { Editor } from '../writing/editor';
import { namesIn, spellingsIn } from '../writing/key-names';
import { accumulationSteps, type LaunchSettings } from '../writing/launch-settings';
import { yamlSyntax } from '../writing/yaml-syntax';
import { nanotronEngines, nanotronKeys } from './nanotron';

const names = namesIn(nanotronKeys, [
  ...(['tensor', 'pipeline', 'data', 'context', 'expert', 'schedule', 'sequenceParallel', 'recomputeGranularity'] as const),
  ...(['sequenceLength', 'microBatch', 'gradientAccumulation', 'zeroStage'] as const),
]);

/** nanotron. */
export const nanotronEditor: Editor = {
  settings: nanotronSettings,
  syntax: yamlSyntax({
    keys: () => names,
    spelled: spellingsIn(nanotronKeys),
  }),
};

/** What a nanotron YAML needs for a plan. */
function nanotronSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  return [
    ...sizeSettings(plan, { tensor: null, pipeline: null, data: null, context: 1, expert: 1 }),
    engineSetting(plan),
    ...sizeSettings(plan, { sequenceLength: null, microBatch: null }),
    countSetting(sentence`gradient accumulation steps`, 'gradientAccumulation', accumulationSteps(plan), null),
    { ...countSetting(sentence`ZeRO stage`, 'zeroStage', plan.zeroStage, 0), reason: sentence`nanotron shards the optimizer only` },
    sequenceParallelSetting(plan),
    wholeRecomputeSetting(plan),
    ...lacking(plan, 'nanotron'),
  ];
}

function engineSetting({ schedule, pipeline }: LaunchSettings): DesiredSetting {
  const isKnown = wordFor(nanotronEngines, schedule) !== undefined;
  return {
    what: sentence`schedule ${schedule}`,
    facts: ['schedule'],
    isMet: (facts) => pipeline === 1 || (facts.schedule?.value ?? 'GPipe') === schedule,
    alternatives: () => (isKnown ? [[{ fact: 'schedule', value: schedule }]] : []),
    reason: isKnown ? never : sentence`nanotron runs 1F1B and GPipe`,
  };
}
