import { sentence } from '../../sentence';
import { quoted } from '../../text';
import type { Setting, Settings } from '../fact-table';
import type { Resolver } from './references';
import { removalOf } from './removal';
import type { YamlDocument, YamlEntry, YamlMap } from './yaml-document';

/** Every setting of a document by its dotted name; null and what is not known are left out. */
export function settingsOf(document: YamlDocument, resolve: Resolver): Settings {
  const of = (map: YamlMap, prefix: string): (readonly [string, Setting])[] =>
    [...map.entries.values()].flatMap((entry) => {
      const name = prefix + entry.key;
      if (entry.value.kind === 'map') return of(entry.value, `${name}.`);
      const setting = settingOf(entry.document ?? document, entry, name, resolve);
      return setting === null ? [] : [[name, setting] as const];
    });
  return new Map(of(document.root, ''));
}

function settingOf({ file, text }: YamlDocument, entry: YamlEntry, name: string, resolve: Resolver): Setting | null {
  const { value: node } = entry;
  const nodes = node.kind === 'list' ? node.items : [node];
  const known = nodes.map((item) => {
    const resolution = item.kind === 'scalar' ? resolve(item, []) : null;
    return resolution?.kind === 'value' ? resolution.value : undefined;
  });
  if (node.kind !== 'list' && (known[0] ?? null) === null) return null;
  return {
    name,
    value: node.kind === 'list' ? known : known[0],
    described: node.kind === 'list' ? sentence`a list` : quoted(String(known[0])),
    place: { file, range: node.range },
    whole: removalOf(text, entry) ?? { start: entry.keyRange.start, end: entry.end },
  };
}
