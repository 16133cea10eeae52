import { topLevelKeys } from '../formats/json-document';
import { isDeepSpeed } from '../formats/deepspeed/recognise';
import { readDeepSpeed } from '../formats/deepspeed/reader';
import type { LauncherReader } from '../formats/facts';
import { recognise, recogniseNamed } from '../formats/registry';
import type { LauncherFormat, ConfigFormat } from '../formats/config-format';
import { isMegatronShell, mentionsMegatron } from '../formats/shell/recognise';
import { isTorchTitan } from '../formats/torchtitan/recognise';
import { readTorchTitan } from '../formats/torchtitan/reader';
import { recogniseYaml, yamlReaders } from '../formats/yaml';

const shellEnding = /\.(sh|bash|slurm|sbatch|args)$/i;

/** Endings of the files that are looked at, and what each may hold. A file without one of them is none of ours. */
const endings: readonly { readonly pattern: RegExp; readonly sniff: (file: string, text: string) => ConfigFormat | null }[] = [
  {
    pattern: /\.jsonc?$/i,
    sniff: (file, text) => recognise(file, text) ?? (isDeepSpeed(topLevelKeys(text)) || isDeepSpeed(text) ? 'deepspeed' : null),
  },
  { pattern: /\.ya?ml$/i, sniff: (_, text) => recogniseYaml(text) },
  { pattern: /\.toml$/i, sniff: (_, text) => (isTorchTitan(text) ? 'torchtitan' : null) },
  { pattern: shellEnding, sniff: (_, text) => (isMegatronShell(text) ? 'megatron-shell' : null) },
];

/** Endings of config and launcher files, for globs. */
export const configEndings = ['json', 'jsonc', 'yaml', 'yml', 'toml', 'sh', 'bash', 'slurm', 'sbatch'] as const;

/** Which format a file is, by its ending and then its content, with a scan and no parse; null for anything else. */
export function recogniseConfig(file: string, text: string): ConfigFormat | null {
  return endings.find(({ pattern }) => pattern.test(file))?.sniff(file, text) ?? null;
}

/** As `recogniseConfig`, for a file that the user named, whatever its ending. */
export function recogniseNamedConfig(file: string, text: string): ConfigFormat | null {
  const isScript = shellEnding.test(file);
  const known = recogniseConfig(file, text) ?? (isScript ? (mentionsMegatron(text) ? 'megatron-shell' : null) : recogniseNamed(file, text));
  if (known !== null || endings.some(({ pattern }) => pattern.test(file))) return known;
  return endings.map(({ sniff }) => sniff(file, text)).find((format) => format !== null) ?? null;
}

/** Whether a file's ending is one that is looked at. */
export function hasLauncherEnding(file: string): boolean {
  return endings.some(({ pattern }) => pattern.test(file));
}

/** Whether a format is one of launchers' files. */
export function isLauncher(format: ConfigFormat): format is LauncherFormat {
  return format !== 'huggingface' && format !== 'terapipe' && format !== 'onnx';
}

/** The reader of a format. Shell needs a parser that the face loads, when it is needed. */
export async function readerOf(format: LauncherFormat, shell: () => Promise<LauncherReader>): Promise<LauncherReader> {
  switch (format) {
    case 'megatron-shell':
      return shell();
    case 'torchtitan':
      return readTorchTitan;
    case 'deepspeed':
      return readDeepSpeed;
    case 'megatron-yaml':
    case 'nemo':
    case 'megatron-bridge':
    case 'gpt-neox':
      return yamlReaders[format];
  }
}
