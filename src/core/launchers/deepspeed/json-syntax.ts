import { changeJson, type JsonChange } from '../../terapipe/change-json';
import { readEmbeddedDeepSpeed } from './reader';
import { fillTemplate } from '../../languages/json/template';
import type { FactName, LauncherFile } from '../../run/facts';
import type { KeyNames } from '../writing/key-names';
import type { Syntax } from '../writing/editor';
import { spliced } from '../../languages/text-edits';
import type { SettingEdit } from '../writing/desired-setting';

/** DeepSpeed JSON and its templates, comments and layout kept. */
export const jsonSyntax = (keys: KeyNames): Syntax => ({
  open: openSettings,
  edit: (launcher, edit) => {
    // What fills the template would no longer find its place.
    const changes = openSettings(launcher).has(edit.fact) ? null : changesFor(keys, launcher, edit);
    return changes === null ? [] : [changed(launcher.text, changes)];
  },
});

function openSettings({ file, text }: LauncherFile): ReadonlyMap<FactName, string> {
  return new Map(
    readEmbeddedDeepSpeed(text, file, 0).open.flatMap(({ fact, written }) => (fact === undefined ? [] : [[fact, written] as const])),
  );
}

function changesFor(known: KeyNames, { facts }: LauncherFile, { fact, value }: SettingEdit): readonly JsonChange[] | null {
  if (fact === 'precision') return precisionChanges(facts.precision?.name, value);
  const path = facts[fact]?.name ?? known[fact]?.[0];
  if (path === undefined || typeof value === 'object') return null;
  // The form before stages existed was "zero_optimization": true.
  const keys = path === 'zero_optimization' ? ['zero_optimization', 'stage'] : path.split('.');
  return [{ path: keys, value }];
}

/** One precision is on at a time. */
function precisionChanges(given: string | undefined, value: SettingEdit['value']): readonly JsonChange[] {
  const old = given === undefined ? [] : [{ path: given.split('.'), value: false }];
  return value === 'fp32' || typeof value !== 'string' ? old : [...old, { path: [value, 'enabled'], value: true }];
}

/** Placeholders are filled with strings of their own length while the text is changed, so that offsets stay. */
function changed(text: string, changes: readonly JsonChange[]): string {
  return changes.reduce((before, change) => {
    const replacement = changeJson(fillTemplate(before).text, [change]);
    return replacement === null ? before : spliced(before, replacement, replacement.newText);
  }, text);
}
