import { plural } from '../../format';
import type { SettingValue } from '../../languages/text-edits';
import type { Carried } from '../writing/editor';
import { headerLines, type LaunchSettings } from '../writing/launch-settings';
import type { Remark } from '../writing/remarks';
import { findFlavor } from './toml-model';
import { tomlValue } from './toml-syntax';

const sectionNames = 'model optimizer lr_scheduler training parallelism activation_checkpoint compile checkpoint metrics debug'.split(' ');

/** Whose keys, values and flavors are written: `torchtitan/config/job_config.py` of the tag. */
const version = 'For TorchTitan 0.2.2, the last version that reads TOML.';

/** What a run needs and no plan knows, with what that version takes where a file leaves it out. */
const unplanned: readonly (readonly [path: string, silent: string])[] = [
  ['model.hf_assets_path', './tests/assets/tokenizer'],
  ['training.dataset', 'c4_test'],
  ['training.steps', '10000'],
  ['optimizer.lr', '8e-4'],
];

/** A TOML of a plan; without a flavor of the model it lacks the section of the model. */
export function titanToml(
  plan: LaunchSettings,
  settings: readonly (readonly [path: string, value: SettingValue])[],
  gaps: readonly Remark[],
  { values }: Carried,
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
  const rows = [...[...ofModel, ...settings, ...asyncRows].map(([path, value]) => [path, tomlValue(value)] as const), ...values];
  const left = unplanned.filter(([path]) => !rows.some(([own]) => own === path)).map(([path, silent]) => `${path} (${silent})`);
  const header = [
    ...headerLines(plan, gaps),
    version,
    ...(left.length === 0 ? [] : [`What no plan knows, with TorchTitan's defaults: ${left.join(', ')}.`]),
    `Start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}.`,
  ];
  const sections = sectionNames.flatMap((section) => {
    const own = rows.filter(([path]) => path.startsWith(`${section}.`));
    return own.length === 0 ? [] : ['', `[${section}]`, ...own.map(([path, text]) => `${path.slice(section.length + 1)} = ${text}`)];
  });
  return [...header.map((line) => `# ${line}`), ...sections, ''].join('\n');
}
