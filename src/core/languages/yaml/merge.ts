import type { YamlDocument, YamlEntry, YamlMap, YamlNode } from './document';

/**
 * Documents over each other, weakest first: mappings are merged, everything else of a later one replaces what was there, as
 * `OmegaConf.merge` does. Each entry knows the document that it is in. @throws Error without a document.
 */
export function mergedDocument(documents: readonly YamlDocument[]): YamlDocument {
  const own = documents.at(-1);
  if (own === undefined) throw new Error('no document');
  const root = documents.map((document) => ownedMap(document.root, document)).reduce(mergedMaps);
  return { ...own, root };
}

function ownedMap(map: YamlMap, document: YamlDocument): YamlMap {
  const entries = [...map.entries].map(([name, entry]): [string, YamlEntry] => [
    name,
    { ...entry, document, value: owned(entry.value, document) },
  ]);
  return { ...map, entries: new Map(entries) };
}

function owned(node: YamlNode, document: YamlDocument): YamlNode {
  return node.kind === 'map' ? ownedMap(node, document) : node;
}

function mergedMaps(base: YamlMap, over: YamlMap): YamlMap {
  const entries = new Map(base.entries);
  for (const [name, entry] of over.entries) {
    const before = entries.get(name)?.value;
    const isBoth = before?.kind === 'map' && entry.value.kind === 'map';
    entries.set(name, isBoth ? { ...entry, value: mergedMaps(before, entry.value) } : entry);
  }
  return { ...over, entries };
}
