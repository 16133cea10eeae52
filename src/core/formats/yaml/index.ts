import type { LauncherReader } from '../facts';
import { readGptNeox } from '../neox/gpt-neox';
import { readMegatronBridge } from '../megatron-bridge/megatron-bridge';
import { readMegatronYaml } from '../megatron/megatron-yaml';
import { readNemo } from '../nemo/nemo';
import type { YamlLauncherFormat } from './recognise';

export { recogniseYaml } from './recognise';

/** The reader of each format that is written in YAML. */
export const yamlReaders: Readonly<Record<YamlLauncherFormat, LauncherReader>> = {
  'megatron-yaml': readMegatronYaml,
  nemo: readNemo,
  'megatron-bridge': readMegatronBridge,
  'gpt-neox': readGptNeox,
};
