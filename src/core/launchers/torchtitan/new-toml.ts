import { plural } from '../../format';
import type { SettingValue } from '../../languages/text-edits';
import type { SettingEdit } from '../writing/desired-setting';
import { settingsByPath, type KeyNames, type Spellings } from '../writing/key-names';
import { headerLines, type LaunchSettings, type Remark } from '../writing/launch-settings';
import { findFlavor } from './toml-model';
import { tomlValue } from './toml-syntax';

/** A TOML of a plan; without a flavor of the model it lacks the section of the model. */
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
  const found = findFlavor(plan.model);
  const ofModel: readonly [string, SettingValue][] =
    found === null
      ? []
      : [
          ['model.name', found.name],
          ['model.flavor', found.flavor],
        ];
  const rows = [...ofModel, ...settingsByPath(edits, keys, spellings), ...asyncRows];
  const header = [...headerLines(plan, gaps), `Start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}.`];
  const sections = ['model', 'training', 'parallelism', 'activation_checkpoint', 'compile'].flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0
      ? []
      : ['', `[${section}]`, ...own.map(([path, value]) => `${path.slice(section.length + 1)} = ${tomlValue(value)}`)];
  });
  return [...header.map((line) => `# ${line}`), ...sections, ''].join('\n');
}
