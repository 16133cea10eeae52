import type { Fp8Format, Fp8Recipe } from '../../domain/number-formats';
import { plural } from '../../format';
import type { SettingValue } from '../../languages/text-edits';
import { carriedInto } from '../megatron/carried-into';
import { coreModel, coreModelGaps } from '../megatron/core-model';
import { dropoutShares } from '../megatron/dropout-shares';
import { megatronSettings } from '../megatron/plan-settings';
import { plainDialect } from '../megatron/stages-setting';
import { writtenFacts } from '../megatron/written-keys';
import { bridgeTarget } from './carried-keys';
import { bridgeKeys } from './megatron-bridge';
import type { SettingEdit } from '../writing/desired-setting';
import type { Carried, Editor } from '../writing/editor';
import { namesIn, settingsByPath, spellingsIn, type KeyNames } from '../writing/key-names';
import { headerLines, type LaunchSettings } from '../writing/launch-settings';
import type { ModelGap, Remark } from '../writing/remarks';
import { sentence } from '../../sentence';
import { yamlSyntax, yamlValue, type YamlDialect } from '../writing/yaml-syntax';

/** Overrides of a recipe (`ConfigContainer`). */
export const bridgeNames: KeyNames = namesIn(
  bridgeKeys,
  [...writtenFacts, 'zeroStage', 'precision'],
  ['sequenceLength', 'distributedOptimizer'],
);

const bridgeSpellings = spellingsIn(bridgeKeys);

/** Overrides of a recipe of Megatron-Bridge. */
export const bridgeDialect: YamlDialect = {
  keys: () => bridgeNames,
  spelled: bridgeSpellings,
};

/** Megatron-Bridge. */
export const bridgeEditor: Editor = {
  settings: (plan, { traits }) => megatronSettings(plan, traits, { ...plainDialect, narrow: ['fp8', 'nvfp4'], countsVirtualStages: true }),
  syntax: yamlSyntax(bridgeDialect),
  newFile: {
    fileName: 'overrides.yaml',
    keys: bridgeNames,
    lacks: (plan) => [...coreModelGaps(plan, 'Megatron-Bridge'), ...formatGap(plan)],
    carries: (source) => carriedInto(bridgeTarget, source),
    write: bridgeYaml,
  },
};

/** The middle of the name of a mixed-precision recipe (`megatron.bridge.training.mixed_precision`). */
function narrowRecipe({ gemmPrecision, fp8Recipe = 'tensorwise' }: LaunchSettings): string {
  if (gemmPrecision === undefined) return '';
  return gemmPrecision === 'nvfp4' ? '_with_nvfp4' : fp8Recipes[fp8Recipe];
}

const fp8Recipes: Readonly<Record<Fp8Recipe, string>> = {
  delayed: '_with_fp8_delayed_scaling',
  tensorwise: '_with_fp8_current_scaling',
  // torchao's, which Transformer Engine lacks
  rowwise: '_with_fp8_current_scaling',
  mxfp8: '_with_mxfp8',
  blockwise: '_with_fp8_subchannel_scaling',
};

/** Its recipes have a format of their own, which no override changes: with one scale for blocks of 128 too, gradients are in E5M2. */
function formatGap({ fp8Recipe, fp8Format, precision }: LaunchSettings): readonly ModelGap[] {
  const own: Fp8Format = fp8Recipe === 'mxfp8' ? 'e4m3' : 'hybrid';
  if (fp8Format === undefined || fp8Format === own) return [];
  const recipe = `${precision}${fp8Recipes[fp8Recipe ?? 'tensorwise']}_mixed`;
  const what = sentence`FP8 in ${fp8Format}`;
  return [{ fields: [], severity: 'error', what, reason: sentence`${recipe} has FP8 in ${own}: set its fp8 to ${fp8Format} in Python` }];
}

const sectionNames =
  'model dataset tokenizer train validation optimizer scheduler rng ddp dist checkpoint logger rerun_state_machine'.split(' ');

function bridgeYaml(plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[], { values }: Carried): string {
  const written = edits.filter(({ fact, value }) => fact !== 'precision' || value === plan.precision);
  const given = settingsByPath(written, bridgeNames, {
    ...bridgeSpellings,
    precision: (value) => `${String(value)}${narrowRecipe(plan)}_mixed`,
  });
  const { attention, hidden } = dropoutShares(plan);
  const rows: readonly (readonly [string, SettingValue])[] = [
    ...given,
    ['model.attention_dropout', attention],
    ['model.hidden_dropout', hidden],
    ['model.cross_entropy_loss_fusion', plan.fusedCrossEntropy],
    ['dataset.seq_length', plan.sequenceLength],
  ];
  const texts = [
    ...coreModel(plan.model).map(([key, text]) => [`model.${key}`, text] as const),
    ...rows.map(([path, value]) => [path, yamlValue(value)] as const),
    ...values,
  ];
  const header = [
    ...headerLines(plan, gaps),
    'For Megatron-Bridge at 067f987d.',
    `Overrides of a Megatron-Bridge recipe of this kind of model. Start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}: data parallelism is what they leave.`,
    ...(plan.asyncTensorParallel === true
      ? ['Planned with collectives overlapped with GEMMs: set comm_overlap.tp_comm_overlap of the recipe.']
      : []),
    ...(plan.gradAccumulationFp32
      ? []
      : ['Planned with gradients in bf16: set grad_reduce_in_fp32 of the mixed precision to False in Python.']),
  ];
  const sections = sectionNames.flatMap((section) => {
    const own = texts.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0 ? [] : [`${section}:`, ...own.map(([path, text]) => `  ${path.slice(section.length + 1)}: ${text}`)];
  });
  const roots = texts.filter(([path]) => !path.includes('.')).map(([path, text]) => `${path}: ${text}`);
  return [...header.map((line) => `# ${line}`), ...sections, ...roots, ''].join('\n');
}
