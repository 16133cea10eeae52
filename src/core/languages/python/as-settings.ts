import type { Place } from '../../domain/located';
import type { YamlDocument, YamlEntry, YamlMap, YamlNode } from '../yaml/document';
import type { PythonModule } from './module';
import type { PythonObject, PythonValue } from './values';

/** What stands for the class that an object is made of, and for the model that it is made from. */
export const classKey = '_target_';
export const hubKey = 'from_hf_pretrained';

/** Objects may hold each other, and one may be held many times. */
const mostEntries = 10_000;
const deepest = 12;

/**
 * An object as a document of settings, so that readers of YAML know it: fields become keys, each at its value; what is not known is left
 * out. `modules` are the files that the values are in.
 */
export function toYamlDocument(own: PythonModule, modules: readonly PythonModule[], object: PythonObject): YamlDocument {
  const documents = new Map([...modules, own].map(({ file, text }) => [file, { file, text, root: emptyMap, replaced: [] }] as const));
  let made = 0;

  const toYamlMap = (each: PythonObject, depth: number): YamlMap => {
    const entries = new Map<string, YamlEntry>();
    const add = (name: string, key: Place, value: PythonValue): void => {
      const node = toYamlNode(value, depth + 1);
      const document = documents.get(value.place.file);
      if (node === null || document === undefined) return;
      entries.set(name, { key: name, keyRange: key.range, value: node, end: value.place.range.end, flow: false, isOnly: true, document });
    };
    const name = each.callee.split('.').findLast((part) => /^[A-Z]|^[a-z0-9_]*(?:fp8|bf16|fp16|fp4)/.test(part)) ?? '';
    if (name !== '') add(classKey, each.place, { kind: 'name', name, place: each.place });
    const [first] = each.positional;
    if (each.callee.includes(hubKey) && first !== undefined) add(hubKey, first.place, first);
    for (const [field, { key, value }] of each.fields) add(field, key, value);
    return { kind: 'map', range: each.place.range, entries };
  };

  const toYamlNode = (value: PythonValue, depth: number): YamlNode | null => {
    made += 1;
    if (made > mostEntries || depth > deepest) return null;
    const { range } = value.place;
    if (value.kind === 'plain') return { kind: 'scalar', range, text: value.value === null ? 'null' : String(value.value), quoted: false };
    if (value.kind === 'name') return { kind: 'scalar', range, text: value.name, quoted: false };
    if (value.kind === 'unknown') return null;
    if (value.kind === 'object') return toYamlMap(value, depth);
    const items: YamlNode[] = [];
    for (const item of value.items) {
      const node = toYamlNode(item, depth + 1);
      if (node === null) return null;
      items.push(node);
    }
    return { kind: 'list', range, items };
  };

  return { file: own.file, text: own.text, root: toYamlMap(object, 0), replaced: [] };
}

const emptyMap: YamlMap = { kind: 'map', range: { start: 0, end: 0 }, entries: new Map() };
