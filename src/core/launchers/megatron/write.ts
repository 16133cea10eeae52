import type { Program } from '../../run/facts';
import { mapAt, type YamlDocument } from '../../languages/yaml/document';
import type { Editor, NewFile } from '../writing/editor';
import { keysUnder } from '../writing/key-names';
import type { LaunchSettings } from '../writing/launch-settings';
import { yamlSyntax } from '../writing/yaml-syntax';
import { megatronScript } from './new-script';
import { megatronSettings } from './plan-settings';
import { recomputeSetting } from './recompute-setting';
import { shellSyntax } from './shell-syntax';
import { plainDialect } from './stages-setting';
import { megatronConfigKeys, megatronFlags } from './written-keys';

const shellDialect = { ...plainDialect, format: 'megatron-shell', narrow: ['fp8', 'nvfp4'], offloadsByNumber: true } as const;

/** Scripts that launch Megatron-LM. */
export const megatronShellEditor = {
  settings: (plan: LaunchSettings, program?: Program) =>
    megatronSettings(plan, shellDialect, recomputeSetting(plan, program?.traits.wholeRecomputeFlag)),
  syntax: shellSyntax,
  newFile: { fileName: 'train.sh', keys: megatronFlags, write: megatronScript },
} as const satisfies Editor & { readonly newFile: NewFile };

/** Arguments of Megatron-LM in a YAML: under `MODEL_ARGS` with their dashes, or as `--yaml-cfg` takes them. */
export const megatronYamlEditor: Editor = {
  settings: (plan) => megatronSettings(plan, { ...plainDialect, format: 'megatron-yaml' }),
  syntax: yamlSyntax({
    keys: (document) => (hasArguments(document) ? keysUnder('MODEL_ARGS.', megatronFlags) : megatronConfigKeys),
    removes: true,
    precisionSwitch: (document, name) => (hasArguments(document) ? ['MODEL_ARGS', `--${name}`] : [name]),
  }),
};

function hasArguments({ root }: YamlDocument): boolean {
  return mapAt(root, ['MODEL_ARGS']) !== null;
}
