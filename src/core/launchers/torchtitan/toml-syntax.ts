import type { LauncherFile } from '../../run/facts';
import type { Settings } from '../tables/values';
import { parseToml } from './toml';
import type { KeyNames, Spellings } from '../writing/key-names';
import type { Syntax } from '../writing/editor';
import { spellLike, detectLineBreak, lineEnd, nearestSetting, spliced, splicedWithRemark } from '../../languages/text-edits';
import type { SettingEdit } from '../writing/desired-setting';
import type { SettingValue } from '../../languages/text-edits';

/** TorchTitan TOML, comments and layout kept. */
export function tomlSyntax(keys: KeyNames, spellings: Spellings): Syntax {
  const spelled = ({ fact, value }: SettingEdit): SettingEdit => ({ fact, value: spellings[fact]?.(value) ?? value });
  return { open: () => new Map(), edit: (launcher, edit) => editToml(keys, launcher, spelled(edit)) };
}

function editToml(known: KeyNames, { file, text, facts }: LauncherFile, { fact, value }: SettingEdit): readonly string[] {
  const settings = parseToml(file, text);
  const names = [facts[fact]?.name, ...keysFor(known, fact, facts)].filter((name) => name !== undefined);
  const setting = names.map((name) => settings.get(name)).find((found) => found !== undefined);
  if (value === undefined) return [setting === undefined ? text : spliced(text, setting.whole, '')];
  const spelled = tomlValue(value);
  if (setting !== undefined) {
    const { range } = setting.place;
    return [splicedWithRemark(text, range, setting.value, spellLike(text.slice(range.start, range.end), setting.value, value, spelled))];
  }
  // Split points are a plain list, modules a list of lists.
  const keys = keysFor(known, fact, facts);
  const name = typeof value === 'object' && typeof value[0] === 'string' ? keys.at(-1) : keys[0];
  return name === undefined ? [] : [inserted(text, settings, name, spelled)];
}

/** Sizes of parallelism were under [training] and [experimental] before they had a section of their own. */
function keysFor(known: KeyNames, fact: SettingEdit['fact'], facts: LauncherFile['facts']): readonly string[] {
  const anchorKey = facts.pipeline?.name ?? facts.tensor?.name;
  const section = anchorKey?.slice(0, anchorKey.indexOf('.') + 1) ?? 'parallelism.';
  return (known[fact] ?? []).map((key) => (key.startsWith('parallelism.') ? section + key.slice('parallelism.'.length) : key));
}

/** After the nearest setting of its section, else after the last; the section is added where there is none. */
function inserted(text: string, settings: Settings, name: string, spelled: string): string {
  const at = name.lastIndexOf('.');
  const [section, key] = [name.slice(0, at), name.slice(at + 1)];
  const lineBreak = detectLineBreak(text);
  const line = `${key} = ${spelled}${lineBreak}`;
  const inside = [...settings.values()].filter((setting) => setting.name.slice(0, setting.name.lastIndexOf('.')) === section);
  const header = new RegExp(`^[ \\t]*\\[[ \\t]*${section.replaceAll('.', '\\.')}[ \\t]*\\]`, 'm').exec(text);
  const ordered = inside.sort((a, b) => a.whole.end - b.whole.end);
  const after = nearestSetting(key, ordered, (setting) => setting.name.slice(at + 1)) ?? ordered.at(-1);
  const end = after?.whole.end ?? (header === null ? null : lineEnd(text, header.index));
  if (end === null) return `${withBreak(text, lineBreak)}${lineBreak}[${section}]${lineBreak}${line}`;
  return withBreak(text.slice(0, end), lineBreak) + line + text.slice(end);
}

function withBreak(text: string, lineBreak: string): string {
  return text === '' || text.endsWith('\n') ? text : text + lineBreak;
}

/** A value in TOML's notation. Strings here are plain words. */
export function tomlValue(value: SettingValue): string {
  return JSON.stringify(value);
}
