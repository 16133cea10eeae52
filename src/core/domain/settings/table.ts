import { kernels, optimizer, precision } from './arithmetic';
import { batch } from './batch';
import { checkpoints } from './checkpoints';
import { communication } from './communication';
import { layerKinds } from './layer-kinds';
import { cluster, layout } from './layout';
import { memory } from './memory';
import { expertSizes, modelSizes } from './model';
import { modelDetails } from './model-details';
import { sentence, type Sentence } from '../../sentence';
import type { Setting } from './setting';

/** Every setting of a run, by section. In each the order is that in which `inspect` and docs show them. */
export const settings = {
  model: { ...modelSizes, ...expertSizes, ...layerKinds, ...modelDetails },
  layout,
  training: { ...batch, ...precision, ...optimizer, ...memory, ...kernels, ...communication, ...checkpoints },
  cluster,
};

export type Section = keyof typeof settings;

/** The same by name: no two sections share one. */
export const settingsByName = { ...settings.model, ...settings.layout, ...settings.training, ...settings.cluster };

export type SettingName = keyof typeof settingsByName;

/** The record of a setting. */
export function settingNamed(name: SettingName): Setting {
  return settingsByName[name];
}

/** What a setting is called in a message about its value. */
export function settingTitle(name: SettingName): Sentence {
  return settingNamed(name).title ?? sentence`${name}`;
}

/** The section of a setting. */
export function settingSection(name: SettingName): Section {
  if (Object.hasOwn(settings.layout, name)) return 'layout';
  if (Object.hasOwn(settings.training, name)) return 'training';
  return Object.hasOwn(settings.cluster, name) ? 'cluster' : 'model';
}

/** The key of a setting in terapipe.json, or what it would be called there: `training.microBatch`. */
export function settingKey(name: SettingName): string {
  const { keySection = settingSection(name) } = settingNamed(name);
  return keySection === '' ? name : `${keySection}.${name}`;
}

/** What a setting means and the key that its numbers in a plan go by: its own, or those of what the reader of runs makes of it. */
export function explainSetting(name: SettingName): { readonly key: string; readonly meaning: Sentence } {
  const { meaning, sets: [instead] = [] } = settingNamed(name);
  if (meaning !== undefined) return { key: settingKey(name), meaning };
  return explainSetting(instead as SettingName);
}

/** The setting that a dotted key of terapipe.json is of; null for other keys. */
export function settingOfKey(key: string): SettingName | null {
  const name = key.slice(key.lastIndexOf('.') + 1);
  return Object.hasOwn(settingsByName, name) && settingKey(name as SettingName) === key ? (name as SettingName) : null;
}
