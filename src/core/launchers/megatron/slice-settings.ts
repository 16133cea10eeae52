import { findSliceRuntime } from '../../slice-runtimes/registry';
import type { FlagWord } from '../../slice-runtimes/slice-runtime';
import type { Facts } from '../../run/facts';
import { splitName, type SequenceSplit } from '../../domain/scheme';
import { never, type Alternative, type DesiredSetting, type SettingEdit } from '../writing/desired-setting';
import { sentence } from '../../sentence';

/** The flags with which a runtime cuts every sequence as a plan does; none for a runtime that is not known. */
export function sliceSettings(split: SequenceSplit): readonly DesiredSetting[] {
  const runtime = findSliceRuntime(split.runtime);
  if (runtime === undefined) return [];
  const { on, splits, rule, lengths, needs } = runtime;
  const word = (fact: SettingEdit['fact'], { flag, word: value }: FlagWord): SettingEdit => ({
    fact,
    flag: `--${flag}`,
    value: value ?? true,
  });
  const isIts = ({ sliceRuntime }: Facts): boolean => sliceRuntime?.value === runtime.id;
  const ruleWord = split.rule === 'list' ? lengths?.word : rule?.words[split.rule];
  const isListed = split.rule === 'list' && lengths !== null;
  return [
    {
      what: splitName(split),
      facts: ['slices', 'sliceRule', 'sliceLengths'],
      carries: ['schedule', 'slicing'],
      isMet: (facts) =>
        isIts(facts) &&
        facts.slices?.value === split.slices &&
        facts.sliceRule?.value === split.rule &&
        (!isListed || facts.sliceLengths?.value.join() === split.lengths.join()),
      alternatives: (facts): readonly Alternative[] => [
        [
          ...(on === null || isIts(facts) ? [] : [word('schedule', on)]),
          { fact: 'slices', flag: `--${splits.flag}`, value: split.slices },
          ...(rule === null || ruleWord === undefined || ruleWord === null || (isIts(facts) && facts.sliceRule?.value === split.rule)
            ? []
            : [word('sliceRule', { flag: rule.flag, word: ruleWord })]),
          ...(isListed ? [{ fact: 'sliceLengths', flag: `--${lengths.flag}`, value: split.lengths.join(',') } as const] : []),
        ],
      ],
      reason: never,
    },
    {
      what: sentence`what ${runtime.name} needs for slices`,
      facts: ['sliceNeeds'],
      carries: [],
      isMet: (facts) => isIts(facts) && facts.sliceNeeds === undefined,
      alternatives: (facts): readonly Alternative[] => {
        const missing = isIts(facts) ? (facts.sliceNeeds?.value ?? []) : null;
        const isMissing = ({ flag }: FlagWord): boolean =>
          missing === null || missing.some((written) => written.split(' ')[0] === `--${flag}`);
        return [needs.filter(isMissing).map((need) => word('sliceNeeds', need))];
      },
      reason: never,
    },
  ];
}
