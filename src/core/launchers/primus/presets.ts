import { upwards, type Base, type Layer } from '../../languages/layers';
import { sentence } from '../../sentence';
import { coreModules } from '../../run/adapters';
import { sectionSettings } from '../tables/adapters';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { on } from '../../languages/reads';
import { createKeyReader } from '../tables/keys';
import { word } from '../tables/reads';
import { withEnvironment } from '../megatron/yaml-arguments';
import { scalarValue, type Resolver } from '../../languages/yaml/references';
import { mapAt, parseYaml, mergedDocument, type YamlDocument, type YamlMap } from '../../languages/yaml/document';

/** The trainer that an experiment hands its settings to: its presets lie in a folder of this name. */
type Backend = 'megatron' | 'torchtitan' | 'megatron_bridge';

export function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text, 'last');
}

/** What a file builds on: an experiment on a preset of its trainer and one of its model, a preset on those that it extends. */
export function findPresets(layer: Layer, backend: Backend): readonly Base[] {
  const document = parsed(layer);
  const module = findModule(document.root, backend);
  return module === null
    ? extendedPresets(document)
    : [...modulePreset(document, module, 'config', `modules/${backend}`), ...modulePreset(document, module, 'model', `models/${backend}`)];
}

/** The settings of a preset, or what an experiment overrides; null for an experiment that overrides nothing. */
export function settingsIn(document: YamlDocument, backend: Backend): YamlMap | null {
  const module = findModule(document.root, backend);
  return module === null ? document.root : mapAt(module, ['overrides']);
}

/** The settings of all layers over each other, as a document of their own. */
export function mergedSettings(layers: readonly Layer[], backend: Backend): YamlDocument {
  const documents = layers.map(parsed);
  return mergedDocument(
    documents.map((document) => {
      const root = settingsIn(document, backend);
      return { ...document, root: root ?? { ...document.root, entries: new Map() } };
    }),
  );
}

/** `${NAME:value}` of the environment, whose default stands for what a file does not have. */
export const environmentDefaults: Resolver = (scalar) => {
  const text = withEnvironment(scalar.text);
  if (text === null) return { kind: 'unknown' };
  const isExpanded = text !== scalar.text;
  return { kind: 'value', value: scalarValue({ ...scalar, text, quoted: scalar.quoted && !isExpanded }) };
};

/** The module of an experiment that trains with a backend; null in a preset. */
function findModule(root: YamlMap, backend: Backend): YamlMap | null {
  const modules = mapAt(root, ['modules']);
  const maps = [...(modules?.entries.values() ?? [])].flatMap(({ value }) => (value.kind === 'map' ? [value] : []));
  return maps.find((map) => scalarAt(map, 'framework')?.text === backend) ?? null;
}

/** The preset of a model that an experiment names, as it writes it; null where it names none. */
function readModelPreset(document: YamlDocument, backend: Backend): Fact<string> | null {
  const value = findModule(document.root, backend)?.entries.get('model')?.value;
  const written = value?.kind === 'scalar' ? withEnvironment(value.text) : null;
  if (value === undefined || written === null || written === '') return null;
  return {
    name: 'model',
    value: written.replace(/\.ya?ml$/, ''),
    source: { kind: 'file', place: { file: document.file, range: value.range }, key: 'model' },
  };
}

function modulePreset({ file }: YamlDocument, module: YamlMap, key: string, folder: string): readonly Base[] {
  const value = module.entries.get(key)?.value;
  const written = value?.kind === 'scalar' ? withEnvironment(value.text) : null;
  if (value === undefined || written === null || written === '') return [];
  const name = /\.ya?ml$/.test(written) ? written : `${written}.yaml`;
  return [{ written, place: { file, range: value.range }, paths: upwards(`primus/configs/${folder}/${name}`) }];
}

function extendedPresets(document: YamlDocument): readonly Base[] {
  const entry = document.root.entries.get('extends');
  if (entry === undefined) return [];
  const items = entry.value.kind === 'list' ? entry.value.items : [entry.value];
  return items.flatMap((item) =>
    item.kind === 'scalar' ? [{ written: item.text, place: { file: document.file, range: item.range }, paths: [item.text] }] : [],
  );
}

function scalarAt(map: YamlMap, name: string): { readonly text: string } | null {
  const value = map.entries.get(name)?.value;
  return value?.kind === 'scalar' ? value : null;
}

/** The model by its name, where the preset that has its sizes is not here. */
export function namedWithoutSizes(
  document: YamlDocument,
  backend: Backend,
  { layers, hidden, heads, flavor }: Facts,
): Pick<Facts, 'flavor'> {
  if (layers !== undefined || hidden !== undefined || heads !== undefined || flavor !== undefined) return {};
  const name = readModelPreset(document, backend);
  return name === null ? {} : { flavor: name };
}

/** The setting by which an experiment trains only adapters: `lora: { enabled: true }` with Megatron, `peft: lora` with Megatron-Bridge. */
export function readPrimusAdapters(document: YamlDocument): Pick<LauncherFile, 'adapters'> {
  const reader = createKeyReader(document, environmentDefaults);
  const peft = reader.one('peft', word);
  const isPeft = peft !== undefined && !/^(?:none|null|false)$/i.test(peft.value);
  const setting = isPeft ? peft : reader.one('lora.enabled', on(true));
  if (setting?.value === undefined || setting.value === false || setting.source.kind !== 'file') return {};
  const written = isPeft ? {} : sectionSettings((name, read) => reader.one(`lora.${name}`, read));
  const isUnlike = isPeft && !/^lora$/i.test(peft.value);
  const defaults = { rank: 32, targets: coreModules, ofCore: true, reason: sentence`Megatron-Bridge's default (LoRA)` };
  return {
    adapters: {
      place: setting.source.place,
      name: isPeft ? 'peft' : 'lora',
      ...written,
      ...(isUnlike && { unlike: peft.value }),
      defaults,
    },
  };
}
