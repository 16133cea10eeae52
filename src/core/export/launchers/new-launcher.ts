import type { FactName, LauncherReader } from '../../formats/facts';
import { ExpectedError } from '../../errors';
import { megatronDefaultValues } from '../../launchers/megatron/megatron-defaults';
import type { Fp8Recipe } from '../../domain/number-formats';
import { formatNumber, plural } from '../../format';
import type { ModelSpec } from '../../domain/model';
import { printable } from '../../text';
import { editors } from './editors';
import { headerLines, type LaunchSettings, type PlannedStep, type Remark } from './launch-settings';
import { partsOfModel, requireAsPlanned } from './planned-again';
import { bridgeKeys, deepspeedKeys, megatronFlags, titanKeys, type KeyNames } from './key-names';
import { modelGaps } from './megatron-model';
import { megatronScript } from './megatron-script';
import { tomlValue } from './toml-syntax';
import { newFile, type SettingEdit, type SettingValue, type Alternative, type DesiredSetting } from './desired-setting';
import { yamlValue } from './yaml-syntax';
import { listOf, sentence } from '../../sentence';

/** Launchers that a file can be written for from nothing. `megatron-bridge` are overrides of a recipe. */
export type NewFormat = 'megatron-shell' | 'megatron-bridge' | 'torchtitan' | 'deepspeed';

/** A launcher's file made of a plan. */
export interface NewLauncher {
  readonly text: string;
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  readonly gaps: readonly Remark[];
}

interface Writer {
  readonly fileName: string;
  /** Where each setting stands; what has no entry cannot be expressed. */
  readonly keys: KeyNames;
  readonly write: (plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[]) => string;
}

const writers: Readonly<Record<NewFormat, Writer>> = {
  'megatron-shell': { fileName: 'train.sh', keys: megatronFlags, write: megatronScript },
  'megatron-bridge': { fileName: 'overrides.yaml', keys: bridgeKeys, write: bridgeYaml },
  torchtitan: { fileName: 'train.toml', keys: titanKeys, write: titanToml },
  deepspeed: { fileName: 'ds_config.json', keys: deepspeedKeys, write: deepspeedJson },
};

/**
 * Sizes are written though they are what the launcher takes anyway, for whoever reads them; these are not: older versions do not know them.
 */
const leftOut: readonly FactName[] = ['sequenceParallel', 'maxPositions'];

/**
 * A new file for a launcher that says what the plan does; read back it gives the same layout.
 * @throws ExpectedError `export-encoder-decoder`, `export-adapters`.
 */
export function newLauncher(plan: LaunchSettings, format: NewFormat): NewLauncher {
  if (plan.model.stacks !== undefined)
    throw new ExpectedError(
      'export-encoder-decoder',
      sentence`New launcher files are written for decoders, and this model has an encoder too`,
      sentence`edit the file that launches it (--into FILE), or export the plan as a page (--to html)`,
    );
  if (plan.trainsAdapters === true)
    throw new ExpectedError(
      'export-adapters',
      sentence`New launcher files train all weights, and this run trains adapters`,
      sentence`edit the file that launches it (--into FILE), or export the plan as a page (--to html)`,
    );
  const settings = editors[format].settings(plan);
  const { fileName, write } = writers[format];
  const edits = settings
    .filter(({ facts, isMet }) => !isMet(newFile, '') || !facts.some((fact) => leftOut.includes(fact)))
    .flatMap((setting) => alternativeOf(setting, format) ?? [])
    .filter(({ value }) => value !== undefined);
  const isWritten = (setting: DesiredSetting): boolean =>
    alternativeOf(setting, format) !== null ||
    setting.isMet(newFile, '') ||
    (format === 'megatron-shell' && setting.facts.includes('nodes'));
  const gaps = settings.filter((setting) => !isWritten(setting)).map(({ what, reason }) => ({ what, reason }));
  const model = format === 'megatron-shell' ? modelGaps(plan.model) : [];
  const missing = model.length === 0 ? [] : [{ what: partsOfModel, reason: sentence`Megatron-LM's flags leave out ${listOf(model)}` }];
  const all = [...(plan.replaced === undefined ? [] : [plan.replaced]), ...missing, ...gaps];
  return { text: write(plan, edits, all), fileName, gaps: all };
}

/**
 * As `newLauncher`, of a planned step, read back and planned again before it is offered.
 * @param read the reader of the format.
 * @throws ExpectedError `export-unsound` where the file would not run as planned, and as `newLauncher`.
 */
export function checkedNewLauncher(step: PlannedStep, format: NewFormat, read: LauncherReader): NewLauncher {
  const made = newLauncher(step.plan, format);
  const settings = editors[format].settings(step.plan);
  requireAsPlanned(step, { launcher: read(made.fileName, made.text), format, settings, gaps: made.gaps, before: null });
  return made;
}

/** The first way for which the format has words; null: there is none. */
function alternativeOf({ alternatives: ways }: DesiredSetting, format: NewFormat): Alternative | null {
  const { keys } = writers[format];
  const isSpelled = ({ fact, value, flag }: SettingEdit): boolean =>
    value === undefined || value === false || fact === 'precision' || fact in keys || (flag !== undefined && format === 'megatron-shell');
  return ways(newFile).find((alternative) => alternative.every(isSpelled)) ?? null;
}

function settingsByPath(
  edits: readonly SettingEdit[],
  keyNames: KeyNames,
  value: (fact: FactName, given: SettingValue) => SettingValue,
): readonly [string, SettingValue][] {
  return edits.flatMap(({ fact, value: given }): [string, SettingValue][] => {
    const path = keyNames[fact]?.[0];
    return path === undefined ? [] : [[path, value(fact, given)]];
  });
}

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

function bridgeYaml(plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[]): string {
  const shardings: Readonly<Record<string, string>> = { 2: 'optim_grads', 3: 'optim_grads_params' };
  const written = edits.filter(({ fact, value }) => fact !== 'precision' || value === plan.precision);
  const given = settingsByPath(written, bridgeKeys, (fact, value) =>
    fact === 'precision'
      ? `${String(value)}${narrowRecipe(plan)}_mixed`
      : fact === 'zeroStage'
        ? (shardings[String(value)] ?? 'no_shard')
        : value,
  );
  const { attentionDropout, hiddenDropout } = plan.dropout ? megatronDefaultValues : { attentionDropout: 0, hiddenDropout: 0 };
  const rows: readonly (readonly [string, SettingValue])[] = [
    ...given,
    ...bridgePositions(plan.model),
    ['model.attention_dropout', attentionDropout],
    ['model.hidden_dropout', hiddenDropout],
    ['model.cross_entropy_loss_fusion', plan.fusedCrossEntropy],
    ['dataset.seq_length', plan.sequenceLength],
  ];
  const header = [
    ...headerLines(plan, gaps),
    `Overrides of a Megatron-Bridge recipe of the model${plan.model.rotary?.scaling === undefined ? '' : ` (RoPE scaling ${printable(plan.model.rotary.scaling.kind)} is the recipe's)`}. Start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}: data parallelism is what they leave.`,
    ...(plan.asyncTensorParallel === true
      ? ['Planned with collectives beside GEMMs: set comm_overlap.tp_comm_overlap of the recipe.']
      : []),
    ...(plan.gradAccumulationFp32
      ? []
      : ['Planned with gradients in bf16: set grad_reduce_in_fp32 of the mixed precision to False in Python.']),
  ];
  const sections = ['model', 'dataset', 'train', 'ddp', 'dist'].flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0
      ? []
      : [`${section}:`, ...own.map(([path, value]) => `  ${path.slice(section.length + 1)}: ${yamlValue(value)}`)];
  });
  const roots = rows.filter(([path]) => !path.includes('.')).map(([path, value]) => `${path}: ${yamlValue(value)}`);
  return [...header.map((line) => `# ${line}`), ...sections, ...roots, ''].join('\n');
}

/** What a recipe of another model of the family may have otherwise. */
function bridgePositions({ positions, rotary: { base } = {}, normEpsilon }: ModelSpec): readonly (readonly [string, SettingValue])[] {
  return [
    ...(positions === 'rotary' && base !== undefined ? [['model.rotary_base', base] as const] : []),
    ...(normEpsilon === undefined ? [] : [['model.layernorm_epsilon', normEpsilon] as const]),
  ];
}

/** What the flavor or recipe must have, in words: no key of the file gives it. Null: the config does not have it. */
function untimedModelText({ positions, rotary: { base, scaling } = {}, normEpsilon }: ModelSpec): string | null {
  const isRotary = positions === 'rotary';
  const parts = [
    ...(isRotary && base !== undefined ? [`rope theta ${formatNumber(base)}`] : []),
    ...(isRotary && scaling !== undefined ? [`RoPE scaling ${scaling.kind}`] : []),
    ...(normEpsilon === undefined ? [] : [`norm epsilon ${normEpsilon}`]),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

function titanToml(plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[]): string {
  // which TorchTitan refuses without the other
  const asyncRows: readonly [string, SettingValue][] =
    plan.asyncTensorParallel === true
      ? [
          ['parallelism.enable_async_tensor_parallel', true],
          ['compile.enable', true],
        ]
      : [];
  const untimed = untimedModelText(plan.model);
  const rows = [...settingsByPath(edits, titanKeys, (_, value) => value), ...asyncRows];
  const header = [
    ...headerLines(plan, gaps),
    `Add [model] with the name and flavor of the model${untimed === null ? '' : ` (${printable(untimed)}; another flavor trains another model)`}, and start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}.`,
  ];
  const sections = ['training', 'parallelism', 'activation_checkpoint', 'compile'].flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0
      ? []
      : ['', `[${section}]`, ...own.map(([path, value]) => `${path.slice(section.length + 1)} = ${tomlValue(value)}`)];
  });
  return [...header.map((line) => `# ${line}`), ...sections, ''].join('\n');
}

/** Strict JSON has no remarks: Transformers and Accelerate refuse them. */
function deepspeedJson({ precision }: LaunchSettings, edits: readonly SettingEdit[]): string {
  const root: Record<string, unknown> = {};
  for (const [path, value] of settingsByPath(edits, deepspeedKeys, (_, given) => given)) {
    const [section = '', key] = path.split('.');
    if (key === undefined) root[section] = value;
    else root[section] = { ...(root[section] as object | undefined), [key]: value };
  }
  if (precision !== 'fp32') root[precision] = { enabled: true };
  return `${JSON.stringify(root, null, 2)}\n`;
}
