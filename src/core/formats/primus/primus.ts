import { upwards, type Base, type Composition, type Layer } from '../composition';
import type { LauncherFile } from '../facts';
import { addArguments, fileOfArguments, noArguments, splitAsLayout, withEnvironment, type Arguments } from '../megatron/yaml-arguments';
import { mapAt, parseYaml, type YamlDocument, type YamlEntry, type YamlMap } from '../yaml/yaml-document';

/**
 * AMD's Primus: an experiment names a preset of its trainer and one of its model, which lie in `primus/configs` and build on others by
 * `extends`, and overrides them (`primus/core/config/preset_loader.py`). Read here are runs of its Megatron backend: all of these are
 * arguments of Megatron-LM.
 */
export const primusFiles: Composition = {
  basesOf: (layer) => {
    const document = parsed(layer);
    const module = moduleOf(document.root);
    return module === null
      ? extendsOf(document)
      : [...presetOf(document, module, 'config', 'modules'), ...presetOf(document, module, 'model', 'models')];
  },
  read: readPrimus,
};

function readPrimus(layers: readonly Layer[]): LauncherFile {
  const all = noArguments();
  const documents = layers.map(parsed);
  for (const document of documents) {
    const module = moduleOf(document.root);
    const overrides = module === null ? document.root : mapAt(module, ['overrides']);
    if (overrides !== null) addArguments(all, document, overrides, withEnvironment);
  }
  settle(all);
  const own = documents.at(-1) ?? parsed({ file: '', text: '' });
  return fileOfArguments('primus', layers, own, all);
}

/** What Primus does otherwise than Megatron-LM (`primus/backends/megatron/patches`). */
function settle(all: Arguments): void {
  const { flags } = all;
  const isGiven = (name: string): boolean => flags.has(name);
  const drop = (...names: readonly string[]): void => names.forEach((name) => flags.delete(name));
  // a list of layers to recompute replaces the method and the number; 0 of them is none
  if (isGiven('recompute-layer-ids') || flags.get('recompute-num-layers')?.words[0]?.text === '0')
    drop('recompute-granularity', 'recompute-method', 'recompute-num-layers');
  // a pattern replaces the shares that the preset of the model has
  if (isGiven('hybrid-layer-pattern') || isGiven('hybrid-override-pattern')) drop('hybrid-attention-ratio', 'hybrid-mlp-ratio');
  splitAsLayout(all, 'decoder-pipeline-manual-split-list');
}

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text, 'last');
}

/** The module of an experiment that trains with Megatron; null in a preset. */
function moduleOf(root: YamlMap): YamlMap | null {
  const modules = mapAt(root, ['modules']);
  const maps = [...(modules?.entries.values() ?? [])].flatMap(({ value }) => (value.kind === 'map' ? [value] : []));
  return maps.find((map) => scalarAt(map, 'framework')?.text === 'megatron') ?? null;
}

function presetOf(document: YamlDocument, module: YamlMap, key: string, folder: string): Base[] {
  const entry = module.entries.get(key);
  const written = entry?.value.kind === 'scalar' ? withEnvironment(entry.value.text) : null;
  if (entry === undefined || written === null || written === '') return [];
  const name = /\.ya?ml$/.test(written) ? written : `${written}.yaml`;
  return [baseOf(document, entry, written, upwards(`primus/configs/${folder}/megatron/${name}`))];
}

function extendsOf(document: YamlDocument): Base[] {
  const entry = document.root.entries.get('extends');
  if (entry === undefined) return [];
  const items = entry.value.kind === 'list' ? entry.value.items : [entry.value];
  return items.flatMap((item) =>
    item.kind === 'scalar' ? [{ written: item.text, place: { file: document.file, range: item.range }, paths: [item.text] }] : [],
  );
}

function baseOf({ file }: YamlDocument, { value }: YamlEntry, written: string, paths: readonly string[]): Base {
  return { written, place: { file, range: value.range }, paths };
}

function scalarAt(map: YamlMap, name: string): { readonly text: string } | null {
  const value = map.entries.get(name)?.value;
  return value?.kind === 'scalar' ? value : null;
}
