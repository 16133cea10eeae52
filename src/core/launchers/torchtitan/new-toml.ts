import type { ModelSpec } from '../../domain/model';
import { detailNames } from '../../domain/settings/model-details';
import { formatNumber, plural } from '../../format';
import type { SettingValue } from '../../languages/text-edits';
import { printable } from '../../text';
import type { SettingEdit } from '../writing/desired-setting';
import { settingsByPath, type KeyNames, type Spellings } from '../writing/key-names';
import { headerLines, type LaunchSettings, type Remark } from '../writing/launch-settings';
import { tomlValue } from './toml-syntax';

/** What the flavor or recipe must have, in words: no key of the file gives it. Null: nothing. */
function untimedModelText({ positions, rotary: { base, scaling } = {}, normEpsilon, details = {} }: ModelSpec): string | null {
  const isRotary = positions === 'rotary';
  const parts = [
    ...(isRotary && base !== undefined ? [`rope theta ${formatNumber(base)}`] : []),
    ...(isRotary && scaling !== undefined ? [`RoPE scaling ${scaling.kind}`] : []),
    ...(normEpsilon === undefined ? [] : [`norm epsilon ${normEpsilon}`]),
    ...detailNames.flatMap((name) => (details[name] === undefined ? [] : [`${name} ${detailText(details[name])}`])),
  ];
  return parts.length === 0 ? null : parts.join(', ');
}

function detailText(value: string | number | boolean | readonly number[]): string {
  return typeof value === 'number' ? String(Number(value.toPrecision(6))) : typeof value === 'object' ? value.join(' ') : String(value);
}

/** A TOML of a plan, without the section of the model. */
export function titanToml(
  keys: KeyNames,
  spellings: Spellings,
  plan: LaunchSettings,
  edits: readonly SettingEdit[],
  gaps: readonly Remark[],
): string {
  // which TorchTitan refuses without the other
  const asyncRows: readonly [string, SettingValue][] =
    plan.asyncTensorParallel === true
      ? [
          ['parallelism.enable_async_tensor_parallel', true],
          ['compile.enable', true],
        ]
      : [];
  const untimed = untimedModelText(plan.model);
  const rows = [...settingsByPath(edits, keys, spellings), ...asyncRows];
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
