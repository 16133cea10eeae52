import { flagKey, flagWords } from '../megatron/megatron-flags';
import type { LauncherFile } from '../../run/facts';
import type { WrittenSetting } from '../../run/run-settings';
import type { YamlDocument, YamlNode } from '../../languages/yaml/document';
import type { LocatedFlag } from './located-flag';
import type { Settings } from './values';

/** Flags as a file has them. @param isPlanned whether a plan has one, by `flagKey`. */
export function settingsOfFlags(flags: Iterable<LocatedFlag>, isPlanned: (key: string) => boolean): readonly WrittenSetting[] {
  return [...flags].map(({ name, words }) => {
    const texts = words.flatMap(({ text }) => text ?? []);
    return { name, words: texts.length === words.length ? texts : null, isPlanned: isPlanned(flagKey(name)) };
  });
}

/** Arguments of Megatron-LM or a fork, planned where a table has them. */
export function megatronArguments(flags: ReadonlyMap<string, LocatedFlag>): NonNullable<LauncherFile['written']> {
  return { names: 'megatron', settings: settingsOfFlags(flags.values(), (key) => flagWords(key) !== undefined) };
}

/** Values and lists at the root of a YAML. @param isPlanned whether a plan has one, by its key. */
export function settingsOfYaml({ root }: YamlDocument, isPlanned: (key: string) => boolean): readonly WrittenSetting[] {
  return [...root.entries.values()].flatMap(({ key, value }) => {
    const words = wordsOfNode(value);
    return words === null ? [] : [{ name: key, words, isPlanned: isPlanned(key) }];
  });
}

function wordsOfNode(node: YamlNode): readonly string[] | null {
  if (node.kind === 'scalar') return [node.text];
  const words = node.kind === 'list' ? node.items.map(wordsOfNode) : [null];
  return words.includes(null) ? null : words.flatMap((each) => each ?? []);
}

/** Plain values and lists of a TOML or JSON. @param isPlanned whether a plan has one, by its dotted name. */
export function settingsOfKeys(settings: Settings, isPlanned: (name: string) => boolean): readonly WrittenSetting[] {
  return [...settings.values()].flatMap(({ name, value }) =>
    value === undefined ? [] : [{ name, words: [value].flat().map(String), isPlanned: isPlanned(name) }],
  );
}
