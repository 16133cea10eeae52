import type { Facts } from '../../run/facts';
import { parseHybridPattern } from './hybrid';
import type { NarrowFormat } from '../../domain/number-formats';
import { formatCount } from '../../format';
import { maximum, sum } from '../../numbers';
import { without } from '../../records';
import { countOf, sameStageLayers } from '../counts';
import { counted, sentence } from '../../sentence';
import { isGiven, newFile, removed, type Alternative, type DesiredSetting, type SettingEdit } from '../writing/desired-setting';
import type { LaunchSettings } from '../writing/launch-settings';
import { hybridLetters } from './hybrid-flags';
import { megatronStages, pipelineLayoutText } from './stage-layers';
import { silentSize, type LauncherTraits } from '../traits';

/** How the settings of one format differ from those of the others on Megatron Core. */
export interface MegatronDialect {
  /** Formats of GEMMs that a new file names. */
  readonly narrow: readonly NarrowFormat[];
  /** Bars may cut the pattern of a hybrid into stages. */
  readonly barsInPattern: boolean;
  /** The number of virtual stages is a setting in every version. */
  readonly countsVirtualStages: boolean;
  /** The number of offloaded layers switches the offload on. */
  readonly offloadsByNumber: boolean;
  /** The number of nodes has a place in every file. */
  readonly hasNodes: boolean;
}

/** Megatron-LM's own; the others spread it. */
export const plainDialect: MegatronDialect = {
  narrow: [],
  barsInPattern: true,
  countsVirtualStages: false,
  offloadsByNumber: false,
  hasNodes: false,
};

/** Layers of each stage, and virtual stages, in the words that the file has or can have. */
export function stagesSetting(plan: LaunchSettings, traits: LauncherTraits, dialect: MegatronDialect): DesiredSetting {
  const { stageLayers, pipeline, virtualStages } = plan;
  const isEven = new Set(stageLayers).size === 1;
  const each = stageLayers[0] ?? 0;
  const layers = isEven ? sentence`${counted(each, 'layer')} on each stage` : sentence`${stageText(stageLayers)} layers on the stages`;
  return {
    what: virtualStages > 1 ? sentence`${counted(virtualStages, 'virtual stage')} on each GPU, ${layers}` : layers,
    facts: [
      ...(hybridLetters(plan.model) === null ? [] : (['hybridPattern'] as const)),
      ...(['virtualStages', 'layersPerVirtualStage', 'pipelineLayout'] as const),
      ...(['splitRank', 'firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer'] as const),
      ...(['stageLayers', 'emptyLayers'] as const),
    ],
    isMet: (facts) => {
      const stages = megatronStages(facts, silentSize(traits), sum(stageLayers));
      const isLone = pipeline > 1 || (facts.layersPerVirtualStage === undefined && facts.virtualStages === undefined);
      return sameStageLayers(stages, stageLayers) && isLone;
    },
    alternatives: (facts) => stageAlternatives(plan, traits, dialect, facts),
    reason: sentence`no setting assigns the ${formatCount(sum(stageLayers))} layers that way`,
  };
}

function stageAlternatives(plan: LaunchSettings, traits: LauncherTraits, dialect: MegatronDialect, facts: Facts): readonly Alternative[] {
  const { stageLayers, pipeline, virtualStages } = plan;
  if (plan.model.stacks !== undefined) return splitAlternatives(plan);
  const letters = hybridLettersIn(plan, facts);
  if (letters !== null) return hybridAlternatives(plan, letters, dialect, facts);
  if (isGiven(facts, 'emptyLayers')) return emptiedAlternatives(plan, dialect, facts);
  if (isGiven(facts, 'stageLayers')) return listedAlternatives(plan, traits, dialect, facts);
  const first = stageLayers[0] ?? 0;
  const last = stageLayers.at(-1) ?? 0;
  const middle = stageLayers.slice(1, -1);
  const each = middle[0] ?? Math.max(first, last);
  const plainEnds = removed('firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer');
  const layout: Alternative = [
    ...removed('virtualStages', 'layersPerVirtualStage'),
    ...plainEnds,
    {
      fact: 'pipelineLayout',
      value: pipelineLayoutText(stageLayers, (facts === newFile ? plan.model.mtpLayers : countOf(facts, 'mtpLayers')) ?? 0),
    },
  ];
  if (isGiven(facts, 'pipelineLayout')) return [layout];
  const virtual: Alternative = virtualStageEdits(virtualStages, each, dialect, facts);
  if (stageLayers.every((layers) => layers === first)) return [[...plainEnds, ...virtual], layout];
  const isLevel = middle.every((layers) => layers === each);
  const ends: SettingEdit[] = [
    { fact: 'firstStageLayers', value: first },
    { fact: 'lastStageLayers', value: last },
  ];
  const bare: SettingEdit[] = [
    { fact: 'embeddingAsLayer', value: each - first === 1 },
    { fact: 'lossAsLayer', value: each - last === 1 },
  ];
  const light = [each - first, each - last].every((less) => less === 0 || less === 1) && traits.takesMegatronArguments;
  return [
    ...(isLevel && virtualStages === 1 && pipeline > 1 ? [[...removed('embeddingAsLayer', 'lossAsLayer'), ...virtual, ...ends]] : []),
    ...(isLevel && light ? [[...removed('firstStageLayers', 'lastStageLayers'), ...virtual, ...bare]] : []),
    layout,
  ];
}

/** MindSpeed-LLM's list of layers a stage, or, with virtual stages or without the list, what Megatron-LM has. */
function listedAlternatives(plan: LaunchSettings, traits: LauncherTraits, dialect: MegatronDialect, facts: Facts): readonly Alternative[] {
  const { stageLayers, virtualStages } = plan;
  const others = without(facts, 'stageLayers');
  const list: Alternative = [
    ...removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout'),
    { fact: 'stageLayers', value: stageLayers.join(',') },
  ];
  const usual = stageAlternatives(plan, traits, dialect, others).map((edits) => [...removed('stageLayers'), ...edits]);
  return virtualStages === 1 && stageLayers.length > 1 ? [list, ...usual] : usual;
}

/** MindSpeed-LLM divides layers evenly and leaves some out: those that a stage has too many, of as many layers in all as divide. */
function emptiedAlternatives(plan: LaunchSettings, dialect: MegatronDialect, facts: Facts): readonly Alternative[] {
  const { stageLayers, virtualStages } = plan;
  const stages = stageLayers.length;
  const most = maximum(stageLayers);
  const given = sum(stageLayers) + new Set(facts.emptyLayers?.value).size;
  const sizes = given % stages === 0 && given / stages > most ? [given / stages, most] : [most];
  return sizes.map((each) => {
    const empty = stageLayers.flatMap((count, stage) => Array.from({ length: each - count }, (_, index) => stage * each + count + index));
    return [
      ...removed('firstStageLayers', 'lastStageLayers', 'embeddingAsLayer', 'lossAsLayer'),
      ...virtualStageEdits(virtualStages, each, dialect, facts),
      empty.length === 0 ? { fact: 'emptyLayers' } : { fact: 'emptyLayers', value: empty.join(',') },
      ...(each * stages === given ? [] : [{ fact: 'layers' as const, value: each * stages }]),
    ];
  });
}

/** The stage from which on an encoder-decoder model's decoder runs, where it begins with a stage. */
function splitAlternatives({ model, stageLayers, pipeline }: LaunchSettings): readonly Alternative[] {
  if (pipeline === 1) return [removed('splitRank')];
  const split = stageLayers.findIndex((_, stage) => sum(stageLayers.slice(0, stage + 1)) === model.stacks?.encoderLayers) + 1;
  return split === 0 ? [] : [[{ fact: 'splitRank', value: split }]];
}

/** The pattern of a hybrid that the file describes, or that a new file is to; null where it is none. */
function hybridLettersIn({ model, stageLayers }: LaunchSettings, { hybridPattern, hybridAttentionRatio }: Facts): string | null {
  const own = hybridPattern === undefined ? null : parseHybridPattern(hybridPattern.value);
  const letters = own?.letters ?? (hybridAttentionRatio === undefined ? hybridLetters(model) : null);
  return letters?.length === sum(stageLayers) ? letters : null;
}

/**
 * Hybrids divide layers evenly, or give the ends fewer; otherwise, and with virtual stages, by bars in the pattern, which older
 * releases do not take (`core-version.ts`).
 */
function hybridAlternatives(
  { stageLayers, pipeline, virtualStages }: LaunchSettings,
  letters: string,
  dialect: MegatronDialect,
  facts: Facts,
): readonly Alternative[] {
  const [first = 0, last = 0] = [stageLayers[0], stageLayers.at(-1)];
  const middle = stageLayers.slice(1, -1);
  const others = removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout', 'embeddingAsLayer', 'lossAsLayer');
  let from = 0;
  const barred = stageLayers.map((layers) => letters.slice(from, (from += layers))).join('|');
  const { hybridPattern } = facts;
  const prediction = hybridPattern?.value.includes('/') === true ? hybridPattern.value.slice(hybridPattern.value.indexOf('/')) : '';
  const bare: Alternative = hybridPattern?.value.includes('|') === true ? [{ fact: 'hybridPattern', value: letters + prediction }] : [];
  const isOld = hybridPattern?.name?.includes('override') === true;
  const plain: Alternative = [...bare, ...others, ...removed('firstStageLayers', 'lastStageLayers')];
  const ends: Alternative = [...bare, ...others, { fact: 'firstStageLayers', value: first }, { fact: 'lastStageLayers', value: last }];
  return [
    ...(virtualStages === 1 && new Set(stageLayers).size === 1 ? [plain] : []),
    ...(virtualStages === 1 && pipeline > 1 && new Set(middle).size <= 1 ? [ends] : []),
    ...(isOld || !dialect.barsInPattern
      ? []
      : [[...others, ...removed('firstStageLayers', 'lastStageLayers'), { fact: 'hybridPattern', value: barred + prediction } as const]]),
  ];
}

/** Virtual stages in the words that the file has for them already; else, for Megatron-LM, in those that all its versions know. */
function virtualStageEdits(virtualStages: number, layersOfOne: number, dialect: MegatronDialect, facts: Facts): readonly SettingEdit[] {
  if (virtualStages === 1) return removed('virtualStages', 'layersPerVirtualStage', 'pipelineLayout');
  const counts = isGiven(facts, 'virtualStages') || dialect.countsVirtualStages;
  return [
    ...removed(counts ? 'layersPerVirtualStage' : 'virtualStages', 'pipelineLayout'),
    counts ? { fact: 'virtualStages', value: virtualStages } : { fact: 'layersPerVirtualStage', value: layersOfOne },
  ];
}

function stageText(stageLayers: readonly number[]): string {
  return stageLayers.length <= 8 ? stageLayers.join(', ') : `${stageLayers.slice(0, 3).join(', ')}, ..., ${String(stageLayers.at(-1))}`;
}
