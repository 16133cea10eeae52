import type { Base, Layer } from '../../languages/layers';
import type { YamlDocument, YamlEntry, YamlMap, YamlNode } from '../../languages/yaml/document';

/** An entry of a Hydra defaults list: a file next to the config, and the keys under which its content goes. */
interface Default extends Base {
  /** Dotted; empty for the root. */
  readonly at: string;
}

/**
 * What a defaults list names: `- .@model.encoder: megatron_model_base_config`, `- group: option`, `- config`. Those that are optional,
 * override what Hydra itself has or are the file are left out.
 */
export function readDefaultsList({ file, root }: YamlDocument): readonly Default[] {
  const list = root.entries.get('defaults')?.value;
  const items = list?.kind === 'list' ? list.items : [];
  return items.flatMap((item) => readDefault(file, item) ?? []);
}

function readDefault(file: string, item: YamlNode): Default | null {
  const [entry] = item.kind === 'map' ? item.entries.values() : [];
  const option = item.kind === 'map' ? entry?.value : item;
  if (option?.kind !== 'scalar' || !/^[\w./@-]{1,200}$/.test(option.text) || /^(?:null|_self_)$/.test(option.text)) return null;
  const [key = '', packageOfKey] = (entry?.key ?? '').split('@');
  if (/^(?:optional|override)\s/.test(key) || key.startsWith('hydra')) return null;
  const [name = '', packageOfName] = option.text.split('@');
  const group = key === '.' ? '' : key.replace(/^\//, '');
  const at = packageOfKey ?? packageOfName ?? group.replaceAll('/', '.');
  const path = `${group === '' ? '' : `${group}/`}${name}.yaml`;
  return { written: name, place: { file, range: option.range }, paths: [path], at: at === '_global_' ? '' : at };
}

/** The documents that a config is made over, each under the keys that its defaults list gives it, weakest first and itself last. */
export function withDefaults(layers: readonly Layer[], parse: (layer: Layer) => YamlDocument): readonly YamlDocument[] {
  const own = layers.at(-1);
  if (own === undefined) return [];
  const document = parse(own);
  const found = readDefaultsList(document).flatMap(({ paths, at }) => {
    const layer = layers
      .slice(0, -1)
      .find(({ file }) => paths.some((path) => file === path || file.endsWith(`/${path}`) || file.endsWith(`\\${path}`)));
    return layer === undefined ? [] : [under(parse(layer), at)];
  });
  return [...found, document];
}

function under(document: YamlDocument, at: string): YamlDocument {
  const names = at === '' ? [] : at.split('.');
  return { ...document, root: names.reduceRight<YamlMap>((inner, name) => nested(inner, name), document.root) };
}

function nested(value: YamlMap, key: string): YamlMap {
  const { range } = value;
  const entry: YamlEntry = { key, keyRange: range, value, end: range.end, flow: false, isOnly: true };
  return { kind: 'map', range, entries: new Map([[key, entry]]) };
}
