import type { ModelSpec } from '../../domain/model';
import type { ModelDetails } from '../../domain/settings/model-details';
import { formatNumber } from '../../format';
import { sentence, type Sentence, type Value } from '../../sentence';

/** Something that a model has, and how Megatron-LM's flags express it (`megatron/training/arguments.py` at d98e8a64). */
export interface ModelPart {
  /** Fields of `ModelSpec` that only these flags set, dotted: `rotary.base`. */
  readonly fields: readonly string[];
  /** Its flags; none where Megatron-LM has the model's value without any. */
  readonly flags?: (model: ModelSpec) => readonly string[];
  /** What the model has and no flag expresses, in words; null: nothing. */
  readonly lacks?: (model: ModelSpec) => Sentence | null;
  /** What Megatron-LM takes where the model's config leaves the part open; null: it does not. */
  readonly open?: (model: ModelSpec) => Sentence | null;
}

export function when<T>(is: boolean, ...words: readonly T[]): readonly T[] {
  return is ? words : [];
}

/** A flag with its value, if there is one. */
export function valued(flag: string, value: number | undefined): readonly string[] {
  return value === undefined ? [] : [`--${flag} ${value}`];
}

/** The words for something, if the model has it. */
export function wordsIf(is: boolean, words: Sentence): Sentence | null {
  return is ? words : null;
}

/** A part that no flag expresses; a model without it leaves the field out, or has false. */
export function inexpressible(field: keyof ModelSpec, words: Sentence): ModelPart {
  return { fields: [field], lacks: (model) => wordsIf((model[field] ?? false) !== false, words) };
}

/** The same of a detail; a multiplier or a cap is shown with its number. */
export function inexpressibleDetail(name: keyof ModelDetails, words: Sentence, isShown = false): ModelPart {
  return {
    fields: [`details.${name}`],
    lacks: ({ details }) => {
      const value = details?.[name] ?? false;
      return value === false ? null : isShown && typeof value === 'number' ? sentence`${words} (${formatNumber(value)})` : words;
    },
  };
}

/** A value that configs may leave open. */
export function takes(name: Sentence, value: Value): Sentence {
  return sentence`${name} (it takes ${value})`;
}

/** A model that a file describes, not sizes given inline, which no other file trains. */
export function isOfConfig({ modelType }: ModelSpec): boolean {
  return modelType !== 'custom';
}

/**
 * Megatron-LM's biases are on or off in all linear layers, apart from those of queries, keys and values. Experts without biases are kept
 * so: those with biases cannot be divided.
 */
export function isBiased({ attentionOutputBias, mlpBias, experts }: ModelSpec): boolean {
  return mlpBias || (attentionOutputBias && experts === null);
}

export function hasLatent({ latent }: ModelSpec): boolean {
  return latent !== undefined && latent !== null;
}

/** A Python list expression of ones and zeros by layer: `([0]*3+[1]*11)`. */
export function layerList(ones: readonly boolean[]): string {
  const runs: { readonly one: boolean; count: number }[] = [];
  for (const one of ones) {
    const last = runs.at(-1);
    if (last?.one === one) last.count += 1;
    else runs.push({ one, count: 1 });
  }
  return `"(${runs.map(({ one, count }) => `[${one ? 1 : 0}]*${count}`).join('+')})"`;
}
