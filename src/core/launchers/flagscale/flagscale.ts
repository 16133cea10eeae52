import { byDefault } from '../../domain/located';
import { count, positiveNumber } from '../../languages/reads';
import type { Facts } from '../../run/facts';
import { sentence } from '../../sentence';
import type { Composition } from '../composition';
import { flagFact } from '../tables/located-flag';
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
    const file = fileOfArguments('flagscale', layers, own, all);
    return { ...file, facts: { ...roundedFfn(file.facts, all), ...file.facts } };
  },
};

/**
 * The feed-forward width of a gated network where the file gives what it is a multiple of (FlagScale's patch of Megatron-LM's
 * `validate_args`): Megatron-LM's own rounds down to a multiple of 64.
 */
function roundedFfn({ ffn, hidden, gatedMlp }: Facts, { flags }: Arguments): Pick<Facts, 'ffn'> {
  const multiple = flagFact(flags.get('multiple-of'), count(1))?.value;
  if (ffn !== undefined || hidden === undefined || gatedMlp?.value !== true || multiple === undefined) return {};
  const factor = flagFact(flags.get('hidden-dim-multiplier'), positiveNumber)?.value ?? 1;
  const width = Math.trunc(Math.trunc((8 * hidden.value) / 3) * factor);
  return { ffn: byDefault(multiple * Math.ceil(width / multiple), sentence`FlagScale rounds it up to a multiple of ${multiple}`) };
}

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
