import { configError } from '../errors';
import { parseDocument, nodePlace, fileStart, topLevelKeys, topLevelSections } from '../languages/json/document';
import type { ComposingReader } from '../launchers/composition';
import { closest } from '../suggest';
import { rootKeys, terapipeKeys } from '../terapipe/terapipe';
import type { LauncherFormat, ConfigFormat } from '../run/config-format';
import { glanceAt, type Launcher } from '../launchers/launcher';
import { launcherFormats, launchers } from '../launchers/registry';
import { anyOf, sentence } from '../sentence';

type JsonFormat = 'huggingface' | 'terapipe';

/** Endings of model configs and terapipe.json. */
const jsonEndings = ['json', 'jsonc'];

/** Endings of config and launcher files, for globs. */
export const configEndings: readonly string[] = [
  ...new Set([...jsonEndings, ...launcherFormats.flatMap((format) => launchers[format].endings)]),
];

/**
 * How a file came to be looked at: `found` in a folder, or `named` by the user or another config, which needs less evidence and no certain
 * ending.
 */
type Origin = 'found' | 'named';

/** Which format a file is, by its ending and then its content, with a scan and no parse; null for anything else. */
export function recogniseConfig(file: string, text: string, origin: Origin = 'found'): ConfigFormat | null {
  const ending = fileExtension(file);
  const known =
    (jsonEndings.includes(ending) ? recogniseJson(file, text) : null) ??
    findLauncherFormat(text, (launcher) => hasEnding(launcher, ending));
  if (known !== null || origin === 'found') return known;
  const named = launcherFormats.filter((format) => launchers[format].isItsNamed !== undefined && hasEnding(launchers[format], ending));
  if (named.length > 0) return named.find((format) => launchers[format].isItsNamed?.(text) === true) ?? null;
  return recogniseJson(file, text, origin) ?? (hasLauncherEnding(file) ? null : findLauncherFormat(text, () => true));
}

/** Whether a file that lies in a folder may be a config, by its path: content decides. */
export function mayBeConfig(file: string): boolean {
  return configEndings.includes(fileExtension(file)) || launcherFormats.some((format) => launchers[format].paths?.test(file) === true);
}

/** Whether a file's extension is that of a config. */
export function hasLauncherEnding(file: string): boolean {
  const ending = fileExtension(file);
  return jsonEndings.includes(ending) || launcherFormats.some((format) => hasEnding(launchers[format], ending));
}

function hasEnding({ endings, namedEndings = [] }: Launcher, ending: string): boolean {
  return endings.includes(ending) || namedEndings.includes(ending);
}

function fileExtension(file: string): string {
  return (/\.([^./\\]+)$/.exec(file)?.[1] ?? '').toLowerCase();
}

function findLauncherFormat(text: string, isLooked: (launcher: Launcher) => boolean): LauncherFormat | null {
  const glance = glanceAt(text);
  return launcherFormats.find((format) => isLooked(launchers[format]) && launchers[format].isIts(glance)) ?? null;
}

/** The reader of a format, which is loaded with the first file of it. */
export async function loadReader(format: LauncherFormat, shell: () => Promise<ComposingReader>): Promise<ComposingReader> {
  return (launchers[format].reader ?? shell)();
}

/**
 * Which format of JSON a file is, by its name (`terapipe.json`, `*.terapipe.json`) or its top-level keys; null for anything else. One scan,
 * no parse: works on broken files too. Of a file that was named a lone `model` is enough.
 */
export function recogniseJson(file: string, text: string, origin: Origin = 'found'): JsonFormat | null {
  if (/(^|[/\\.])terapipe\.jsonc?$/i.test(file)) return 'terapipe';
  const keys = topLevelKeys(text);
  if (isHuggingFace(keys)) return 'huggingface';
  if (!keys.has('model') || isForeign(text)) return null;
  const others = rootKeys.filter((key) => key !== '$schema' && key !== 'model' && keys.has(key));
  return origin === 'named' || (others.length > 0 && others.length + 1 >= keys.size / 2) ? 'terapipe' : null;
}

/** Sections of a terapipe.json. */
const sections = ['model', 'cluster', 'training', 'layout', 'slicing', 'cost'] as const;

/**
 * Whether a JSON has sections of our names with more settings that are none of ours than settings that are, a slip of which counts as ours:
 * it is the config of another program, which our findings would spoil.
 */
function isForeign(text: string): boolean {
  const found = topLevelSections(text);
  let balance = 0;
  for (const name of sections) {
    const inner = found.get(name);
    if (inner === undefined || (inner === null && name === 'model')) continue;
    const known = terapipeKeys[name] ?? [];
    if (inner === null) balance += 1;
    else for (const key of inner) balance += known.includes(key) || closest(key, known) !== null ? -1 : 1;
  }
  return balance > 0;
}

/**
 * The format of a file that a config names as its model.
 * @throws ExpectedError `config-unknown-format`, or what is wrong with it as JSON; placed.
 */
export function recogniseModel(file: string, text: string): JsonFormat {
  const format = recogniseJson(file, text, 'named');
  if (format === null) throw unknownModel(file, text);
  return format;
}

function isHuggingFace(keys: ReadonlySet<string>): boolean {
  const sized =
    (keys.has('hidden_size') && keys.has('num_hidden_layers')) ||
    (keys.has('n_embd') && keys.has('n_layer')) ||
    (keys.has('n_layers') && keys.has('n_heads') && (keys.has('dim') || keys.has('hidden_dim'))) ||
    (keys.has('d_model') && keys.has('n_layer') && keys.has('vocab_size'));
  return sized || (keys.has('model_type') && !keys.has('model'));
}

/** The reason why nothing was recognised of a file that the user named. */
export function unknownFormat(file: string, text: string): Error {
  if (/\.jsonc?$/i.test(file) || /^\s*(?:$|\{|\/[/*])/.test(text)) return unknownModel(file, text);
  if (!hasLauncherEnding(file))
    return configError(
      'config-unknown-format',
      sentence`TeraPipe does not read this config`,
      sentence`name a config.json of HuggingFace, a terapipe.json, or the script or config of a launcher`,
      fileStart(file),
    );
  return configError(
    'config-unknown-format',
    sentence`TeraPipe does not read this launcher`,
    sentence`name ${anyOf(launcherFormats.map((format) => launchers[format].file))}`,
    fileStart(file),
  );
}

/** The same of a file that is to be JSON: it is none at all, or JSON of something else. */
function unknownModel(file: string, text: string): Error {
  const document = parseDocument(file, text, 'jsonc');
  const { offset } = document.root;
  return configError(
    'config-unknown-format',
    sentence`This is neither a HuggingFace config.json nor a terapipe.json`,
    sentence`name a file with model_type, or one with "model"`,
    { ...nodePlace(document, document.root), range: { start: offset, end: offset + 1 } },
  );
}
