import { byDefault, type Located } from '../../domain/located';
import { count, names, on, share, type FlagRead } from '../../languages/reads';
import { own } from '../../records';
import { allLinear, coreModules, type AdapterDefaults, type GivenAdapters } from '../../run/adapters';
import type { LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import type { KeyReader } from './keys';
import { flagFact, type LocatedFlag } from './located-flag';
import { word } from './reads';

/** What libraries take that are started by files of several formats. */
export const libraryDefaults = {
  llamaFactory: { rank: 8, targets: [allLinear], reason: sentence`LLaMA-Factory's default` },
  trl: { rank: 16, targets: null, dropout: 0.05, reason: sentence`TRL's default (ModelConfig)` },
} satisfies Readonly<Record<string, AdapterDefaults>>;

/** What the kind of adapters sets, as libraries write it (`lora`, `qlora`, `prefix`): QLoRA's 4 bits, or that it is not LoRA. */
export function kindSettings(kind: Located<string> | undefined): Pick<GivenAdapters, 'baseBits' | 'unlike'> {
  // ms-swift trains the language model of `lora_llm` by LoRA, and what sees whole
  if (kind === undefined || /^(?:lora(?:_llm)?)?$/i.test(kind.value)) return {};
  return /^qlora$/i.test(kind.value) ? { baseBits: { value: 4, source: kind.source } } : { unlike: kind.value };
}

/** A value with the setting as it is written. */
type Setting<T> = Located<T> & { readonly name?: string };

/** Finds a setting by its name with underscores. */
type FindSetting = <T>(name: string, read: FlagRead<T>) => Setting<T> | undefined;

const rankNames = ['lora_r', 'lora_rank', 'lora_dim'];
/** Of AdaLoRA (arXiv 2303.10512), with which it begins. */
const adaptiveRank = 'adalora_init_r';
const targetNames = ['lora_target_modules', 'lora_target', 'target_modules', 'lora_modules', 'trainable', 'lora_trainable'];
const savedNames = ['lora_modules_to_save', 'modules_to_save', 'additional_target'];
const bitNames = ['quantization_bit', 'bits'];
const fourBitNames = ['load_in_4bit', 'use_4bit_quantization', 'q_lora', 'use_qlora', 'qlora'];
const eightBitNames = ['load_in_8bit', 'use_8bit_quantization', 'use_8bit_qunatization'];
const doubleNames = ['double_quant', 'double_quantization', 'bnb_4bit_use_double_quant', 'use_bnb_nested_quant', 'use_nested_quant'];
const decomposedNames = ['use_dora', 'peft_use_dora', 'lora_use_dora'];
const unlikeNames = ['use_galore', 'lora_on_experts'];

/** A switch that may be followed by its truth: `--q_lora True`. */
const toggle: FlagRead<boolean> = { ...on(true), words: 'many' };

/** All names by which flags and keys say something of adapters, with the words that each takes. */
export const adapterSettings: ReadonlyMap<string, FlagRead<unknown>['words']> = new Map([
  ...[...rankNames, ...bitNames, 'lora_dropout', adaptiveRank].map((name) => [name, 'one'] as const),
  ...[
    ...targetNames,
    ...savedNames,
    ...fourBitNames,
    ...eightBitNames,
    ...doubleNames,
    ...decomposedNames,
    ...unlikeNames,
    'lora_target_linear',
  ].map((name) => [name, 'many'] as const),
]);

/** A pattern of modules whose last part lists them: `model.language_model.layers.[\d]+.(mlp|self_attn).(up|down|q|v)_proj`. */
const modulePattern = /^(.{0,500}[.*)])\(((?:\w{1,40}\|){0,20}\w{1,40})\)(_proj)?\$?$/;

/** Parts of a layer, with the modules that only they have. */
const partsOfModules = [
  [/attn|attention/, /^(?:[qkvo]|qkv)_proj$/],
  [/mlp|feed_forward/, /^(?:gate|up|down|gate_up)_proj$/],
] as const;

/** Whether a part of a layer may have a module: it is not known to be only another part's. */
function mayHave(part: string, name: string): boolean {
  const isKnown = partsOfModules.some(([parts]) => parts.test(part));
  const owner = partsOfModules.find(([, modules]) => modules.test(name));
  return !isKnown || owner === undefined || owner[0].test(part);
}

/** Modules by their names, or, where one text is a pattern of their paths as PEFT takes it, those that the pattern lists. */
const moduleNames: FlagRead<readonly string[]> = {
  ...names,
  of: (words) => {
    const [, path, list, ending = ''] = (words.length === 1 ? modulePattern.exec(words[0] ?? '') : null) ?? [];
    if (path === undefined || list === undefined || /vision|visual|audio/.test(path)) return names.of(words);
    const listed = list.split('|').map((name) => `${name}${ending}`);
    const parent = /\(([\w|]{1,200})\)\\?\.$/.exec(path)?.[1];
    return { value: parent === undefined ? listed : listed.filter((name) => parent.split('|').some((part) => mayHave(part, name))) };
  },
};

/** Settings of LoRA as Hugging Face's trainers, LLaMA-Factory and Axolotl name them. */
export function loraSettings(find: FindSetting): Omit<GivenAdapters, 'place' | 'name'> {
  const first = <T>(all: readonly string[], read: FlagRead<T>): Setting<T> | undefined =>
    all.map((name) => find(name, read)).find((fact) => fact !== undefined);
  const isOn = (all: readonly string[]): Setting<boolean> | undefined =>
    all.map((name) => find(name, toggle)).find((fact) => fact?.value === true);
  const targets = first(targetNames, moduleNames);
  const all = isOn(['lora_target_linear']);
  const dropout = find('lora_dropout', share);
  const rank = first(rankNames, count(1));
  const saved = first(savedNames, names);
  const bits = readQuantizationBits(first(bitNames, count(1)), isOn(fourBitNames), isOn(eightBitNames));
  const double = first(doubleNames, toggle);
  const unlike = isOn(unlikeNames);
  return {
    ...(rank && { rank }),
    ...(all ? { targets: { value: [allLinear], source: all.source } } : targets && targets.value.length > 0 ? { targets } : {}),
    ...(dropout && { dropout }),
    ...(bits && { baseBits: bits }),
    ...(double && { doubleQuantised: double.value }),
    ...(saved && { saved: saved.value }),
    ...(isOn(decomposedNames) && { decomposed: true, frozenTwice: true }),
    ...(unlike && { unlike: unlike.name ?? '' }),
  };
}

/**
 * Settings of LoRA or AdaLoRA as flags give them, for libraries that train both. AdaLoRA is LoRA whose ranks are masked as it goes; it
 * begins with a rank of its own in place of LoRA's: as flags give it, else 12, as peft and ms-swift take it.
 */
export function kindFlags(
  kind: Located<string> | undefined,
  flags: ReadonlyMap<string, LocatedFlag>,
): Omit<GivenAdapters, 'place' | 'name'> {
  const lora = loraFlags(flags);
  if (kind === undefined || !/^adalora$/i.test(kind.value)) return { ...kindSettings(kind), ...lora };
  const rank = flagFact(flags.get(adaptiveRank.replaceAll('_', '-')), count(1));
  return { ...lora, adaptive: true, rank: rank ?? byDefault(12, sentence`AdaLoRA's default (AdaLoraConfig)`) };
}

/** Settings of LoRA as flags give them. */
export function loraFlags(flags: ReadonlyMap<string, LocatedFlag>): Omit<GivenAdapters, 'place' | 'name'> {
  return loraSettings((name, read) => flagFact(flags.get(name.replaceAll('_', '-')), read));
}

/**
 * LoRA of NeMo, Megatron-Bridge and what is built on them, whose settings are in one section.
 * @param find of a setting in that section.
 */
export function sectionSettings(find: FindSetting): Omit<GivenAdapters, 'place' | 'name'> {
  const rank = find('dim', count(1)) ?? find('adapter_dim', count(1));
  const targets = find('target_modules', names);
  const dropout = find('dropout', share) ?? find('adapter_dropout', share);
  const all = find('match_all_linear', toggle);
  const shared = find('share_expert_adapters', toggle);
  const dora = find('use_dora', toggle);
  const unlike = ['normalize_moe_lora', 'experts_shared_outer_loras'].find((name) => find(name, toggle)?.value === true);
  const written = targets && { ...targets, value: targets.value.flatMap((name) => own(nemoModules, name) ?? [name]) };
  return {
    ...(rank && { rank }),
    ...(all?.value === true
      ? { targets: { value: [allLinear], source: all.source } }
      : written && written.value.length > 0
        ? { targets: written }
        : {}),
    ...(dropout && { dropout }),
    ...(dora?.value === true && { decomposed: true, frozenTwice: true }),
    ...(unlike !== undefined && { unlike }),
    ...(shared && { sharedByExperts: shared.value }),
  };
}

/** NeMo's words for several modules (`megatron_gpt_finetuning_config.yaml`). */
const nemoModules: Readonly<Record<string, readonly string[]>> = {
  all: coreModules,
  attention: ['linear_qkv', 'linear_proj'],
  mlp: ['linear_fc1', 'linear_fc2'],
};

function readQuantizationBits(
  bits: Setting<number> | undefined,
  four: Setting<boolean> | undefined,
  eight: Setting<boolean> | undefined,
): Located<4 | 8> | undefined {
  if (bits?.value === 4 || bits?.value === 8) return { value: bits.value, source: bits.source };
  if (four !== undefined) return { value: 4, source: four.source };
  return eight === undefined ? undefined : { value: 8, source: eight.source };
}

/** LoRA of a YAML's `model.peft_config`, which has the fields of peft's `LoraConfig`. */
export function peftSection(reader: KeyReader): Pick<LauncherFile, 'adapters'> {
  const kind = reader.one('model.peft_config.peft_type', word);
  if (kind?.source.kind !== 'file') return {};
  const rank = reader.one('model.peft_config.r', count(1));
  const targets = reader.one('model.peft_config.target_modules', names);
  const dropout = reader.one('model.peft_config.lora_dropout', share);
  const adapters: GivenAdapters = {
    place: kind.source.place,
    name: 'model.peft_config',
    ...(/^lora$/i.test(kind.value) ? {} : { unlike: kind.value }),
    ...(rank && { rank }),
    ...(targets && targets.value.length > 0 && { targets }),
    ...(dropout && { dropout }),
  };
  return { adapters };
}
