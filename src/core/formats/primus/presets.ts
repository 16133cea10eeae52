import { upwards, type Base, type Layer } from '../composition';
import { withEnvironment } from '../megatron/yaml-arguments';
import { mergedDocument } from '../yaml/merge';
import { plainOf, type Resolver } from '../yaml/references';
import { mapAt, parseYaml, type YamlDocument, type YamlMap } from '../yaml/yaml-document';

/** The trainer that an experiment hands its settings to: its presets lie in a folder of this name. */
export type Backend = 'megatron' | 'torchtitan' | 'megatron_bridge';

export function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text, 'last');
}

/** What a file builds on: an experiment on a preset of its trainer and one of its model, a preset on those that it extends. */
export function presetsOf(layer: Layer, backend: Backend): readonly Base[] {
  const document = parsed(layer);
  const module = moduleOf(document.root, backend);
  return module === null
    ? extendsOf(document)
    : [...presetOf(document, module, 'config', `modules/${backend}`), ...presetOf(document, module, 'model', `models/${backend}`)];
}

/** The settings of a preset, or what an experiment overrides; null for an experiment that overrides nothing. */
export function settingsIn(document: YamlDocument, backend: Backend): YamlMap | null {
  const module = moduleOf(document.root, backend);
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

/** `${NAME:value}` of the environment, whose default stands for what a file cannot tell. */
export const environmentDefaults: Resolver = (scalar) => {
  const text = withEnvironment(scalar.text);
  if (text === null) return { kind: 'unknown' };
  const isExpanded = text !== scalar.text;
  return { kind: 'value', value: plainOf({ ...scalar, text, quoted: scalar.quoted && !isExpanded }) };
};

/** The module of an experiment that trains with a backend; null in a preset. */
function moduleOf(root: YamlMap, backend: Backend): YamlMap | null {
  const modules = mapAt(root, ['modules']);
  const maps = [...(modules?.entries.values() ?? [])].flatMap(({ value }) => (value.kind === 'map' ? [value] : []));
  return maps.find((map) => scalarAt(map, 'framework')?.text === backend) ?? null;
}

function presetOf({ file }: YamlDocument, module: YamlMap, key: string, folder: string): readonly Base[] {
  const value = module.entries.get(key)?.value;
  const written = value?.kind === 'scalar' ? withEnvironment(value.text) : null;
  if (value === undefined || written === null || written === '') return [];
  const name = /\.ya?ml$/.test(written) ? written : `${written}.yaml`;
  return [{ written, place: { file, range: value.range }, paths: upwards(`primus/configs/${folder}/${name}`) }];
}

function extendsOf(document: YamlDocument): readonly Base[] {
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
