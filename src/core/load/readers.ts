import { configError } from '../formats/errors';
import { parseDocument, placeOf, startOf, topLevelKeys } from '../formats/json-document';
import { isDeepSpeed } from '../formats/deepspeed/recognise';
import { readDeepSpeed } from '../formats/deepspeed/reader';
import type { LauncherReader } from '../formats/facts';
import { rootKeys } from '../formats/terapipe/terapipe';
import type { LauncherFormat, ConfigFormat } from '../formats/config-format';
import { isMegatronShell, mentionsMegatron } from '../formats/shell/recognise';
import { isTorchTitan } from '../formats/torchtitan/recognise';
import { readTorchTitan } from '../formats/torchtitan/reader';
import { recogniseYaml, yamlReaders } from '../formats/yaml';

type JsonFormat = 'huggingface' | 'terapipe';

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

/**
 * Which format a file is, by its name (`terapipe.json`, `*.terapipe.json`) or its top-level keys; null for anything else. One scan, no parse: works on
 * broken files too.
 */
export function recognise(file: string, text: string): JsonFormat | null {
  if (/(^|[/\\.])terapipe\.jsonc?$/i.test(file)) return 'terapipe';
  const keys = topLevelKeys(text);
  if (isHuggingFace(keys)) return 'huggingface';
  const others = rootKeys.filter((key) => key !== '$schema' && key !== 'model' && keys.has(key));
  return keys.has('model') && others.length > 0 && others.length + 1 >= keys.size / 2 ? 'terapipe' : null;
}

/** As `recognise`, for a file that the user named: a lone `model` is enough. */
function recogniseNamed(file: string, text: string): JsonFormat | null {
  return recognise(file, text) ?? (topLevelKeys(text).has('model') ? 'terapipe' : null);
}

/**
 * The format of a file that a config names as its model.
 * @throws ExpectedError `config-unknown-format`, or what is wrong with it as JSON; placed.
 */
export function recogniseModel(file: string, text: string): JsonFormat {
  const format = recogniseNamed(file, text);
  if (format === null) throw unknownModel(file, text);
  return format;
}

function isHuggingFace(keys: ReadonlySet<string>): boolean {
  const sized = (keys.has('hidden_size') && keys.has('num_hidden_layers')) || (keys.has('n_embd') && keys.has('n_layer'));
  return sized || (keys.has('model_type') && !keys.has('model'));
}

/** The reason why nothing was recognised of a file that the user named. */
export function unknownFormat(file: string, text: string): Error {
  if (!/\.jsonc?$/i.test(file) && hasLauncherEnding(file))
    return configError(
      'config-unknown-format',
      'This is no launcher that TeraPipe reads',
      'name a Megatron-LM script or YAML, a NeMo, Megatron-Bridge or GPT-NeoX YAML, a TorchTitan TOML, or a DeepSpeed JSON',
      startOf(file),
    );
  return unknownModel(file, text);
}

/** The same of a file that is to be JSON: it is none at all, or JSON of something else. */
function unknownModel(file: string, text: string): Error {
  const document = parseDocument(file, text, 'jsonc');
  const { offset } = document.root;
  return configError(
    'config-unknown-format',
    'This is neither a HuggingFace config.json nor a terapipe.json',
    'name a file with model_type, or one with "model"',
    { ...placeOf(document, document.root), range: { start: offset, end: offset + 1 } },
  );
}
