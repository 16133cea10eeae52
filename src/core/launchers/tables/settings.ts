import { sentence } from '../../sentence';
import { quoted } from '../../text';
import type { Setting, Settings } from './values';
import type { Resolver } from '../../languages/yaml/references';
import { entryRemovalRange } from '../../languages/yaml/removal';
import type { YamlDocument, YamlEntry, YamlMap, YamlNode } from '../../languages/yaml/document';

/** Every setting of a document by its dotted name; null and what is not known are left out. */
export function readSettings(document: YamlDocument, resolve: Resolver): Settings {
  const of = (map: YamlMap, prefix: string): (readonly [string, Setting])[] =>
    [...map.entries.values()].flatMap((entry) => {
      const name = prefix + entry.key;
      if (entry.value.kind === 'map') return of(entry.value, `${name}.`);
      const setting = readSetting(entry.document ?? document, entry, name, resolve);
      return setting === null ? [] : [[name, setting] as const];
    });
  return new Map(of(document.root, ''));
}

function readSetting({ file, text }: YamlDocument, entry: YamlEntry, name: string, resolve: Resolver): Setting | null {
  const { value: node } = entry;
  const value = valueOf(node, resolve);
  if (node.kind !== 'list' && (value ?? null) === null) return null;
  return {
    name,
    value,
    described: node.kind === 'list' ? sentence`a list` : quoted(String(value)),
    place: { file, range: node.range },
    whole: entryRemovalRange(text, entry) ?? { start: entry.keyRange.start, end: entry.end },
  };
}

/** A scalar as it is meant, a list of what its items are; undefined for what is not known, and for maps. */
function valueOf(node: YamlNode, resolve: Resolver): unknown {
  if (node.kind === 'list') return node.items.map((item) => valueOf(item, resolve));
  const resolution = node.kind === 'scalar' ? resolve(node, []) : null;
  return resolution?.kind === 'value' ? resolution.value : undefined;
}
