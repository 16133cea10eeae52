import { modelOfHub } from '../../huggingface/hub-models';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits, type LauncherTraits } from '../traits';
import { isMegatronShell, mentionsMegatron } from '../shell/recognise';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { parallelSizes } from './core-keys';
import { sentence } from '../../sentence';

const traits: LauncherTraits = { ...megatronTraits, takesMegatronArguments: true };

/** Scripts that launch Megatron-LM, and files of its arguments. */
export const megatronShell: Launcher = {
  file: sentence`a Megatron-LM script`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  namedEndings: ['args'],
  isIts: ({ text }) => isMegatronShell(text),
  isItsNamed: mentionsMegatron,
  reader: null,
  modelNamed: modelOfHub,
  editor: async () => (await import('./write')).megatronShellEditor,
  exported: { id: 'megatron', name: 'Megatron-LM', what: sentence`a launch script`, language: 'shellscript', into: ['megatron-yaml'] },
  traits,
  capabilities: megatronCapabilities,
};

/** Megatron-LM's functional tests, and its `--yaml-cfg`. */
export const megatronYaml: Launcher = {
  file: sentence`a Megatron-LM YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isMegatronYaml(yaml()),
  reader: async () => (await import('./megatron-yaml')).readMegatronYaml,
  editor: async () => (await import('./write')).megatronYamlEditor,
  traits,
  capabilities: megatronCapabilities,
};

/** A functional test of Megatron-LM (`MODEL_ARGS` with flags), or its `--yaml-cfg`. */
function isMegatronYaml({ sections }: YamlHead): boolean {
  if ([...(sections.get('MODEL_ARGS') ?? [])].some((name) => name.startsWith('--'))) return true;
  return sections.has('language_model') && hasAny(sections.get('model_parallel'), parallelSizes);
}
