import type { FactName, LauncherReader } from '../../formats/facts';
import { ExpectedError } from '../../errors';
import { plural } from '../../format';
import { wishesFor } from './edit-launcher';
import { headerLines, type HandOver, type PlannedStep, type Remark } from './launch-settings';
import { requireAsPlanned } from './planned-again';
import { bridgeKeys, deepspeedKeys, megatronFlags, titanKeys, type Spelling } from './key-names';
import { modelGaps } from './megatron-model';
import { megatronScript } from './megatron-script';
import { tomlValue } from './toml-syntax';
import { newFile, type Put, type PutValue, type Way, type Wish } from './desired-setting';
import { yamlValue } from './yaml-syntax';

/** Launchers that a file can be written for from nothing. `megatron-bridge` are overrides of a recipe. */
export type NewFormat = 'megatron-shell' | 'megatron-bridge' | 'torchtitan' | 'deepspeed';

/** A launcher's file made of a plan. */
export interface NewLauncher {
  readonly text: string;
  /** A name that the reader of the format knows it by. */
  readonly fileName: string;
  readonly gaps: readonly Remark[];
}

const writers: Readonly<
  Record<
    NewFormat,
    { readonly fileName: string; readonly write: (plan: HandOver, puts: readonly Put[], gaps: readonly Remark[]) => string }
  >
> = {
  'megatron-shell': { fileName: 'train.sh', write: megatronScript },
  'megatron-bridge': { fileName: 'overrides.yaml', write: bridgeYaml },
  torchtitan: { fileName: 'train.toml', write: titanToml },
  deepspeed: { fileName: 'ds_config.json', write: deepspeedJson },
};

/** Sizes are written though they are what the launcher takes anyway, for whoever reads them; these are not: older versions do not know them. */
const leftOut: readonly FactName[] = ['sequenceParallel', 'maxPositions'];

/**
 * A new file for a launcher that says what the plan does; read back it gives the same layout.
 * @throws ExpectedError `export-encoder-decoder`.
 */
export function newLauncher(plan: HandOver, format: NewFormat): NewLauncher {
  if (plan.model.stacks !== undefined)
    throw new ExpectedError(
      'export-encoder-decoder',
      'New launcher files are written for decoders, and this model has an encoder too',
      'edit the file that launches it (--into FILE), or export the plan as a page (--to html)',
    );
  const wishes = wishesFor(plan, format);
  const { fileName, write } = writers[format];
  const puts = wishes
    .filter(({ facts, isMet }) => !isMet(newFile, '') || !facts.some((fact) => leftOut.includes(fact)))
    .flatMap((wish) => wayOf(wish, format) ?? [])
    .filter(({ value }) => value !== undefined);
  const isWritten = (wish: Wish): boolean =>
    wayOf(wish, format) !== null || wish.isMet(newFile, '') || (format === 'megatron-shell' && wish.facts.includes('nodes'));
  const gaps = wishes.filter((wish) => !isWritten(wish)).map(({ what, because }) => ({ what, because }));
  const model = format === 'megatron-shell' ? modelGaps(plan.model) : [];
  const missing = model.length === 0 ? [] : [{ what: 'parts of the model', because: `Megatron-LM's flags leave out ${model.join(', ')}` }];
  const all = [...missing, ...gaps];
  return { text: write(plan, puts, all), fileName, gaps: all };
}

/**
 * As `newLauncher`, of a planned step, read back and planned again before it is offered.
 * @param read the reader of the format.
 * @throws ExpectedError `export-unsound` where the file would not run as planned, and as `newLauncher`.
 */
export function checkedNewLauncher(step: PlannedStep, format: NewFormat, read: LauncherReader): NewLauncher {
  const made = newLauncher(step.plan, format);
  const wishes = wishesFor(step.plan, format);
  requireAsPlanned(step, { launcher: read(made.fileName, made.text), format, wishes, gaps: made.gaps, before: null });
  return made;
}

/** The first way for which the format has words; null: there is none. */
function wayOf({ ways }: Wish, format: NewFormat): Way | null {
  const known = spellings[format];
  const isSpelled = ({ fact, value }: Put): boolean => value === undefined || value === false || fact === 'precision' || fact in known;
  return ways(newFile).find((way) => way.every(isSpelled)) ?? null;
}

const spellings: Readonly<Record<NewFormat, Spelling>> = {
  'megatron-shell': megatronFlags,
  'megatron-bridge': bridgeKeys,
  torchtitan: titanKeys,
  deepspeed: deepspeedKeys,
};

function settings(
  puts: readonly Put[],
  spelling: Spelling,
  value: (fact: FactName, given: PutValue) => PutValue,
): readonly [string, PutValue][] {
  return puts.flatMap(({ fact, value: given }): [string, PutValue][] => {
    const path = spelling[fact]?.[0];
    return path === undefined ? [] : [[path, value(fact, given)]];
  });
}

/** The middle of the name of a mixed-precision recipe (`megatron.bridge.training.mixed_precision`). */
function narrowRecipe({ gemmPrecision }: HandOver): string {
  return gemmPrecision === undefined ? '' : { fp8: '_with_fp8_current_scaling', nvfp4: '_with_nvfp4' }[gemmPrecision];
}

function bridgeYaml(plan: HandOver, puts: readonly Put[], gaps: readonly Remark[]): string {
  const shardings: Readonly<Record<string, string>> = { 2: 'optim_grads', 3: 'optim_grads_params' };
  const told = puts.filter(({ fact, value }) => fact !== 'precision' || value === plan.precision);
  const given = settings(told, bridgeKeys, (fact, value) =>
    fact === 'precision'
      ? `${String(value)}${narrowRecipe(plan)}_mixed`
      : fact === 'zeroStage'
        ? (shardings[String(value)] ?? 'no_shard')
        : value,
  );
  const rows = [...given, ['dataset.seq_length', plan.sequenceLength] as [string, PutValue]];
  const header = [
    ...headerLines(plan, gaps),
    `Overrides of a Megatron-Bridge recipe of the model. Start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}: data parallelism is what they leave.`,
  ];
  const sections = ['model', 'dataset', 'train', 'ddp'].flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0
      ? []
      : [`${section}:`, ...own.map(([path, value]) => `  ${path.slice(section.length + 1)}: ${yamlValue(value)}`)];
  });
  const roots = rows.filter(([path]) => !path.includes('.')).map(([path, value]) => `${path}: ${yamlValue(value)}`);
  return [...header.map((line) => `# ${line}`), ...sections, ...roots, ''].join('\n');
}

function titanToml(plan: HandOver, puts: readonly Put[], gaps: readonly Remark[]): string {
  const rows = settings(puts, titanKeys, (_, value) => value);
  const header = [
    ...headerLines(plan, gaps),
    `Add [model] with the name and flavor of the model, and start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}.`,
  ];
  const sections = ['training', 'parallelism', 'activation_checkpoint'].flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0
      ? []
      : ['', `[${section}]`, ...own.map(([path, value]) => `${path.slice(section.length + 1)} = ${tomlValue(value)}`)];
  });
  return [...header.map((line) => `# ${line}`), ...sections, ''].join('\n');
}

/** Strict JSON has no remarks: Transformers and Accelerate refuse them. */
function deepspeedJson({ precision }: HandOver, puts: readonly Put[]): string {
  const root: Record<string, unknown> = {};
  for (const [path, value] of settings(puts, deepspeedKeys, (_, given) => given)) {
    const [section = '', key] = path.split('.');
    if (key === undefined) root[section] = value;
    else root[section] = { ...(root[section] as object | undefined), [key]: value };
  }
  if (precision !== 'fp32') root[precision] = { enabled: true };
  return `${JSON.stringify(root, null, 2)}\n`;
}
