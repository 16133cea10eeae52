import { mapAt, type YamlDocument } from '../../languages/yaml/document';
import type { Editor } from '../writing/editor';
import { keysUnder } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';
import { carriedFlags } from './carried-flags';
import { modelGaps } from './model-flags';
import { megatronScript } from './new-script';
import { megatronSettings } from './plan-settings';
import { recomputeSetting } from './recompute-setting';
import { shellSyntax } from './shell-syntax';
import { plainDialect, type MegatronDialect } from './stages-setting';
import { megatronConfigKeys, megatronFlags } from './written-keys';

const shellDialect: MegatronDialect = { ...plainDialect, narrow: ['fp8', 'nvfp4'], offloadsByNumber: true };

/** Scripts that launch Megatron-LM. */
export const megatronShellEditor: Editor = {
  settings: (plan, { traits, program }) =>
    megatronSettings(plan, traits, shellDialect, recomputeSetting(plan, program?.traits.wholeRecomputeFlag)),
  syntax: shellSyntax,
  newFile: {
    fileName: 'train.sh',
    keys: megatronFlags,
    takesFlags: true,
    sets: ['nodes'],
    lacks: ({ model }) => modelGaps(model),
    carries: (source, { sliced }) => carriedFlags(source, sliced !== undefined),
    write: megatronScript,
  },
};

/** Arguments of Megatron-LM in a YAML: under `MODEL_ARGS` with their dashes, or as `--yaml-cfg` takes them. */
export const megatronYamlEditor: Editor = {
  settings: (plan, { traits }) => megatronSettings(plan, traits),
  syntax: yamlSyntax({
    keys: (document) => (hasArguments(document) ? keysUnder('MODEL_ARGS.', megatronFlags) : megatronConfigKeys),
    removes: true,
    precisionSwitch: (document, name) => (hasArguments(document) ? ['MODEL_ARGS', `--${name}`] : [name]),
  }),
};

function hasArguments({ root }: YamlDocument): boolean {
  return mapAt(root, ['MODEL_ARGS']) !== null;
}
