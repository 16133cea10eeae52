import type { Composition } from '../composition';
import type { Base, Layer } from '../../languages/layers';
import { addArguments, fileOfArguments, noArguments, splitAsLayout, type Arguments } from '../megatron/yaml-arguments';
import { mapAt, parseYaml, type YamlDocument, type YamlMap } from '../../languages/yaml/document';

/**
 * FlagScale: Hydra configs. One names the task, its nodes and by its `defaults` list a file of the group `train`, which holds arguments of
 * Megatron-LM in sections (`flagscale/runner/utils.py` flattens them to flags).
 */
export const flagScaleFiles: Composition = {
  findBases: (layer) => groupBases(parsed(layer)),
  read: (layers) => {
    const all = noArguments();
    const documents = layers.map(parsed);
    for (const document of documents) addFile(all, document);
    splitAsLayout(all, 'hetero-pipeline-layer-split');
    const own = documents.at(-1) ?? parsed({ file: '', text: '' });
    return fileOfArguments('flagscale', layers, own, all);
  },
};

function parsed({ file, text }: Layer): YamlDocument {
  return parseYaml(file, text);
}

function addFile(all: Arguments, document: YamlDocument): void {
  const { root } = document;
  const trained = mapAt(root, ['train']) ?? root;
  for (const path of [
    ['experiment', 'runner'],
    ['experiment', 'task'],
  ])
    add(all, document, mapAt(root, path));
  for (const section of ['system', 'model', 'data']) add(all, document, mapAt(trained, [section]));
}

function add(all: Arguments, document: YamlDocument, map: YamlMap | null): void {
  if (map !== null) addArguments(all, document, map, (text) => (/\$\{|^x{3,}$/.test(text) ? null : text));
}

/** Entries `- group: name` of a defaults list: `group/name.yaml` next to the file. */
function groupBases(document: YamlDocument): Base[] {
  const list = document.root.entries.get('defaults')?.value;
  if (list?.kind !== 'list') return [];
  return list.items.flatMap((item) => {
    const entries = item.kind === 'map' ? [...item.entries.values()] : [];
    return entries.flatMap(({ key, value }) => {
      const group = key.replace(/^(override|optional) +/, '').replace(/@.*$/, '');
      if (value.kind !== 'scalar' || value.text.includes('${') || value.text === '') return [];
      const path = `${group}/${value.text.replace(/\.ya?ml$/, '')}.yaml`;
      return [{ written: `${group}: ${value.text}`, place: { file: document.file, range: value.range }, paths: [path] }];
    });
  });
}
