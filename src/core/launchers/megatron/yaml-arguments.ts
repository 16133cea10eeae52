import type { Facts, LauncherFile } from '../../run/facts';
import type { LauncherFormat } from '../../run/config-format';
import { ownLayer, type Layer } from '../../languages/layers';
import { factsPlace } from '../tables/keys';
import { replacedKeys } from '../tables/launcher-file';
import { entryRemovalRange } from '../../languages/yaml/removal';
import type { YamlDocument, YamlEntry, YamlMap, YamlNode } from '../../languages/yaml/document';
import { unknownFork } from './forks/others';
import type { FlagWord, LocatedFlag } from '../tables/located-flag';
import { megatronArguments } from '../tables/written-settings';
import { flagKey, flagWords, megatronFacts, megatronRemarks } from './megatron-flags';

/** What a scalar's text means; null where it is known only at run time. */
type Expand = (text: string) => string | null;

/** Arguments of Megatron-LM as they are in files of their own: names by underscores, values as YAML has them. */
export interface Arguments {
  readonly flags: Map<string, LocatedFlag>;
  /** Variables that stand for a value. */
  readonly unknown: Set<string>;
}

export function noArguments(): Arguments {
  return { flags: new Map(), unknown: new Set() };
}

/**
 * Adds the arguments of a mapping over those that exist, nested sections by the names of their leaves; null takes one back, as argparse
 * would never have seen it.
 */
export function addArguments({ flags, unknown }: Arguments, document: YamlDocument, map: YamlMap, expand: Expand): void {
  for (const entry of map.entries.values()) {
    if (entry.value.kind === 'map') {
      addArguments({ flags, unknown }, document, entry.value, expand);
      continue;
    }
    const name = flagKey(entry.key);
    const flag = expandedEntryFlag(document, entry, expand);
    if (entry.value.kind === 'scalar' && /^(null|~|none|)$/i.test(flag.words[0]?.text ?? '-')) flags.delete(name);
    else flags.set(name, flag);
    if (flagWords(name) !== undefined && flag.words.some(({ text }) => text === null))
      for (const variable of variableNames(entry.value)) unknown.add(variable);
  }
}

function expandedEntryFlag(document: YamlDocument, entry: YamlEntry, expand: Expand): LocatedFlag {
  const { file, text } = document;
  const whole = entryRemovalRange(text, entry);
  const words = expandedNodeWords(file, entry.value, expand);
  return { name: entry.key, place: { file, range: entry.keyRange }, words, ...(whole && { whole }) };
}

function expandedNodeWords(file: string, node: YamlNode, expand: Expand): readonly FlagWord[] {
  if (node.kind === 'map') return [];
  if (node.kind === 'list') return node.items.flatMap((item) => expandedNodeWords(file, item, expand));
  return [{ text: expand(node.text), place: { file, range: node.range } }];
}

function variableNames(node: YamlNode): string[] {
  if (node.kind !== 'scalar') return [];
  return [...node.text.slice(0, 1000).matchAll(/\$\{(?:oc\.env:)?([\w.]+)/g)].flatMap(([, name]) => name ?? []);
}

/**
 * A list of layers by stage, as forks take it, becomes the layout that Megatron-LM has for the same; a layout that exists stays. Layers of
 * multi-token prediction, which such a list leaves out, are on the last stage.
 */
export function splitAsLayout({ flags }: Arguments, name: string): void {
  const split = flags.get(name);
  const layers = split?.words.flatMap(({ text }) => text?.match(/\d+/g) ?? []) ?? [];
  const [word] = split?.words ?? [];
  if (split === undefined || word === undefined || layers.length < 2 || flags.has('pipeline-model-parallel-layout')) return;
  const predicted = Math.min(100, Number(flags.get('mtp-num-layers')?.words[0]?.text ?? 0) || 0);
  const end = `${'m'.repeat(Math.max(0, predicted))}L`;
  const stages = layers.map((count, stage) => `${stage === 0 ? 'E' : ''}t*${count}${stage === layers.length - 1 ? end : ''}`);
  flags.set('pipeline-model-parallel-layout', { ...split, words: [{ ...word, text: stages.join('|') }] });
}

/** `${NAME:value}` and `${NAME}` of the environment, anywhere in a text; a default stands for what a file does not have. */
export function withEnvironment(text: string): string | null {
  if (!text.includes('${')) return text;
  if (text.length > 1000) return null;
  const expanded = text.replace(/\$\{\w+:-?([^${}]*)\}/g, '$1');
  return expanded.includes('${') ? null : expanded;
}

/** A launcher's file of such arguments. @param layers the files that they are in. */
export function fileOfArguments(
  format: LauncherFormat,
  layers: readonly Layer[],
  own: YamlDocument,
  { flags, unknown }: Arguments,
  also: Facts = {},
): LauncherFile {
  const { file, text } = ownLayer(layers);
  const facts: Facts = { ...megatronFacts(flags), ...also };
  const place = factsPlace(own, facts);
  return {
    file,
    format,
    text,
    place,
    facts,
    remarks: [...megatronRemarks(flags, unknownFork), ...replacedKeys(own)],
    modelFiles: [],
    placeholders: [...unknown],
    written: megatronArguments(flags),
  };
}
