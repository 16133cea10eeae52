import type { LauncherReader } from '../../../../../src/core/run/facts';
import { readMegatronYaml } from '../../../../../src/core/launchers/megatron/megatron-yaml';
import { readMegatronBridge } from '../../../../../src/core/launchers/megatron-bridge/megatron-bridge';
import { nemoFiles } from '../../../../../src/core/launchers/nemo/nemo';
import { readGptNeox } from '../../../../../src/core/launchers/neox/gpt-neox';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';

type YamlFormat = 'megatron-yaml' | 'nemo' | 'megatron-bridge' | 'gpt-neox';

/** The reader of each format that is written in YAML. */
export const yamlReaders: Readonly<Record<YamlFormat, LauncherReader>> = {
  'megatron-yaml': readMegatronYaml,
  nemo: (file, text) => nemoFiles.read([{ file, text }]),
  'megatron-bridge': readMegatronBridge,
  'gpt-neox': readGptNeox,
};

export function recogniseYaml(text: string): YamlFormat | null {
  return recogniseConfig('run.yaml', text) as YamlFormat | null;
}
