import type { ListedSettings, RunSettings } from '../../run/run-settings';
import { yamlNumber } from '../../languages/yaml/number';
import { own } from '../../records';
import type { Carried } from '../writing/editor';
import { isOff, knownFlags, settingText } from './carried-flags';
import { asMegatronFlags, type Flags, type TranslatedSetting } from './counterparts';
import { flagKey } from './megatron-flags';

/** Keys of a file with the word of each. */
type Keys = readonly (readonly [path: string, word: string])[];

/**
 * A flag of Megatron-LM in keys of another launcher: the key that takes the same word, or what a word becomes; none where the setting has
 * no effect, null where there is no counterpart.
 */
export type Into = string | ((word: string, given: (flag: string) => string | undefined) => Keys | null);

/** A launcher whose new files take over what a run's file sets. */
export interface CarryTarget {
  /** By `flagKey`. */
  readonly keys: Readonly<Record<string, Into>>;
  /** What it takes where a key is left out, by its path; of others the default is not known. */
  readonly defaults: Readonly<Record<string, string>>;
}

/** What a launcher takes where its file leaves a setting out, in flags of Megatron-LM, unless one of the other flags is given. */
const silent: Readonly<Record<RunSettings['names'], readonly (readonly [flag: string, word: string, ...others: string[]])[]>> = {
  megatron: [
    ['min-lr', '0.0'],
    ['adam-beta2', '0.999'],
    ['weight-decay', '0.01'],
    ['lr-warmup-iters', '0', 'lr-warmup-fraction', 'lr-warmup-samples'],
    ['lr-decay-style', 'linear'],
    ['clip-grad', '1.0'],
  ],
  trainer: [
    ['min-lr', '0.0'],
    ['adam-beta2', '0.999'],
    ['lr-warmup-iters', '0', 'lr-warmup-fraction'],
    ['clip-grad', '1.0'],
  ],
  torchtitan: [
    ['min-lr', '0.0'],
    ['clip-grad', '1.0'],
  ],
  deepspeed: [],
};

/** What a new file takes over, by its path in the file, each value as text of TOML and YAML. */
export function carriedInto({ keys, defaults }: CarryTarget, { names, settings }: ListedSettings): Carried {
  const translated = names === 'megatron' ? settings.map(ownFlag) : asMegatronFlags(names, settings);
  const wordByFlag = new Map(translated.flatMap(({ flags }) => flags ?? []));
  const given = (flag: string): string | undefined => wordByFlag.get(flag);
  const ofSilent = silent[names].flatMap(([flag, word, ...others]): TranslatedSetting[] =>
    [flag, ...others].some((each) => wordByFlag.has(each)) ? [] : [{ setting: null, flags: [[flag, word]] }],
  );
  const values = new Map<string, string>();
  const left: string[] = [];
  for (const { setting, flags } of [...ofSilent, ...translated]) {
    const found = flags?.map(([flag, word]) => keysOfFlag(own(keys, flag), word, given)) ?? [null];
    const isDefault = ([path, word]: readonly [string, string]): boolean =>
      own(defaults, path) !== undefined && sameWord(own(defaults, path), word);
    for (const [path, word] of found.flatMap((each) => each ?? []))
      if (setting !== null || !isDefault([path, word])) values.set(path, valueText(word));
    const isOpen = flags !== null || setting === null || !setting.isPlanned || knownFlags.has(flagKey(setting.name));
    if (setting !== null && found.includes(null) && isOpen && !isOff(setting.words)) left.push(settingText(setting));
  }
  return { values, left };
}

/** A flag of Megatron-LM with its words; a switch that is on is `true`. */
function ownFlag(setting: ListedSettings['settings'][number]): TranslatedSetting {
  const { name, words } = setting;
  const key = flagKey(name);
  const flag = knownFlags.get(key);
  if (flag === undefined || words === null) return { setting, flags: null };
  if (isOff(words) || (words.length === 0 && !flag.isSwitch)) return { setting, flags: [] };
  const flags: Flags = [[key, flag.isSwitch ? 'true' : words.join(' ')]];
  return { setting, flags };
}

function keysOfFlag(into: Into | undefined, word: string, given: (flag: string) => string | undefined): Keys | null {
  if (into === undefined) return null;
  return typeof into === 'string' ? [[into, word]] : into(word, given);
}

function sameWord(one: string | undefined, other: string): boolean {
  return one === other || Number(one) === Number(other);
}

/** A number, a switch, no value, or a name in quotes. */
function valueText(word: string): string {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word)) return numberText(Number(word), word);
  return ['true', 'false', 'null'].includes(word) ? word : JSON.stringify(word);
}

/** As text of TOML and YAML; one that is written with a dot or an exponent keeps a dot, which makes it a float. */
function numberText(value: number, written: string): string {
  const text = yamlNumber(value);
  return /^-?\d+$/.test(text) && /[.e]/i.test(written) ? `${text}.0` : text;
}
