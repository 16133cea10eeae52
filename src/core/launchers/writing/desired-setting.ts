import type { SettingValue } from '../../languages/text-edits';
import type { FactName, Facts } from '../../run/facts';
import { comparedNames } from '../../domain/settings/setting';
import { settings, settingTitle } from '../../domain/settings/table';
import type { NarrowFormat } from '../../domain/number-formats';
import { formatNumber } from '../../format';
import type { countOf } from '../counts';
import { counted, sentence, type Sentence } from '../../sentence';

/** One setting to write; without a value: to remove. */
export interface SettingEdit {
  readonly fact: FactName;
  readonly value?: SettingValue;
  /** The flag that sets it, where that is not the same in all programs of a family. */
  readonly flag?: string;
}

/** Edits that are made together or not at all. */
export type Alternative = readonly SettingEdit[];

/** The settings of a plan that a launcher can take. */
export const planSettings = [
  ...comparedNames(settings.layout),
  'schedule' as const,
  'slicing' as const,
  ...comparedNames(settings.training),
];

export type PlanSetting = (typeof planSettings)[number];

/** A setting that the launcher's file should have. */
export interface DesiredSetting {
  /** For people: `tensor parallel size 8`. */
  readonly what: Sentence;
  /** The facts that hold it. */
  readonly facts: readonly FactName[];
  /** The settings of the plan it carries, where the facts do not hold them. */
  readonly carries?: readonly PlanSetting[];
  /** Whether a file has it already. `text` is the file's text, for values that the facts only count. */
  readonly isMet: (facts: Facts, text: string) => boolean;
  /** What could be written, best first. It depends on what the file has already; empty: this launcher has no such setting. */
  readonly alternatives: (facts: Facts) => readonly Alternative[];
  /** Why it cannot be written, and what to do instead: a sentence without its full stop. */
  readonly reason: Sentence;
}

/** Numeric facts. */
type Counted = Parameters<typeof countOf>[1];

/** Of a setting that the launcher has and the file has no place for. */
export const never = sentence`the file has no place for it that can be edited; edit it yourself`;

/** A number in one fact. `fallback` is the launcher's default; null: unknown. */
export function countSetting(what: Sentence, fact: Counted, value: number, fallback: number | null): DesiredSetting {
  return {
    what: sentence`${what} ${formatNumber(value)}`,
    facts: [fact],
    isMet: (facts) => (facts[fact] === undefined ? fallback : facts[fact].value) === value,
    alternatives: () => [[{ fact, value }]],
    reason: never,
  };
}

/** Sizes of a plan. @param fallbacks the launcher's default of each size that its file takes; null: unknown. */
export function sizeSettings<Size extends Extract<Counted, PlanSetting>>(
  plan: Readonly<Record<NoInfer<Size>, number>>,
  fallbacks: Readonly<Record<Size, number | null>>,
): readonly DesiredSetting[] {
  return (Object.entries(fallbacks) as [Size, number | null][]).map(([size, fallback]) =>
    countSetting(settingTitle(size), size, plan[size], fallback),
  );
}

/** A switch in one fact. */
export function switchSetting(
  what: Sentence,
  fact: 'sequenceParallel' | 'overlapGradReduce' | 'overlapParamGather' | 'stagesBeforeReplicas',
  value: boolean,
  fallback: boolean | null,
  matters: (facts: Facts) => boolean,
): DesiredSetting {
  return {
    what: value ? sentence`${what} on` : sentence`${what} off`,
    facts: [fact],
    isMet: (facts) => !matters(facts) || (facts[fact] === undefined ? fallback : facts[fact].value) === value,
    alternatives: () => [[{ fact, value }]],
    reason: never,
  };
}

/** GEMMs in a narrow format. A new file sets it; in an existing file a person has to, because a recipe depends on it. */
export function narrowFormatSettings(
  format: NarrowFormat | undefined,
  written: readonly NarrowFormat[],
  how: Sentence,
): readonly DesiredSetting[] {
  if (format === undefined) return [];
  return [
    {
      what: sentence`GEMMs in ${format}`,
      facts: ['precision'],
      carries: ['gemmPrecision'],
      isMet: ({ precision }) => precision?.value === format,
      alternatives: (facts) => (facts === newFile && written.includes(format) ? [[{ fact: 'precision', value: format }]] : []),
      reason: how,
    },
  ];
}

/**
 * The optimizer and its state on the host or on the GPU. Switching offload off is one edit; switching it on takes several settings, so a
 * person has to.
 */
export function optimizerOffloadSetting(offload: boolean): DesiredSetting {
  return {
    what: offload ? sentence`optimizer on the host` : sentence`optimizer on the GPU`,
    facts: ['offloadOptimizer'],
    isMet: ({ offloadOptimizer }) => offload === (offloadOptimizer !== undefined && offloadOptimizer.value !== 'none'),
    alternatives: ({ offloadOptimizer }) => {
      if (offload) return [];
      const named = offloadOptimizer?.name?.endsWith('device') === true ? [[{ fact: 'offloadOptimizer' as const, value: 'none' }]] : [];
      return [...named, removed('offloadOptimizer'), [{ fact: 'offloadOptimizer', value: false }]];
    },
    reason: offload
      ? sentence`switch the offload of the optimizer on yourself`
      : sentence`switch the offload of the optimizer off yourself`,
  };
}

/** A setting that the launcher does not have. Met only where the plan does not need it. */
export function unsupported(
  carries: PlanSetting | readonly PlanSetting[],
  what: Sentence,
  reason: Sentence,
  isAsked = true,
): readonly DesiredSetting[] {
  return isAsked ? [{ what, carries: [carries].flat(), facts: [], isMet: () => false, alternatives: () => [], reason }] : [];
}

/** Groups of HSDP, of a launcher without a setting for them; without ZeRO there are none. */
export function unsupportedGroups(
  { zeroStage, dataReplicate = 1 }: { readonly zeroStage: number; readonly dataReplicate?: number },
  reason: Sentence,
): readonly DesiredSetting[] {
  const groups = counted(dataReplicate, 'group of replicas (HSDP)', 'groups of replicas (HSDP)');
  return unsupported('dataReplicate', groups, reason, zeroStage > 0 && dataReplicate > 1);
}

/** The facts of a file that is not written yet. */
export const newFile: Facts = {};

/** Whether the file itself gives a fact. */
export function isGiven(facts: Facts, fact: FactName): boolean {
  return facts[fact]?.source.kind === 'file';
}

/** Whether a fact is the number of nodes or GPUs, which whoever starts a run may set. */
export function isStartFact(fact: FactName): boolean {
  return fact === 'nodes' || fact === 'gpusPerNode' || fact === 'world';
}

/** Edits that remove settings. */
export function removed(...names: readonly FactName[]): Alternative {
  return names.map((fact) => ({ fact }));
}
