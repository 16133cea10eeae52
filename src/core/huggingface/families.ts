import { byDefault, type Located, type LocatedFields } from '../domain/located';
import { expertFamilies } from './expert-families';
import { expertVariants } from './expert-variants';
import { anyRoutedKeys, assumedClass, llamaAlways, llamaKeys, noBias, type Family, type FamilyField } from './family';
import { gptFamilies } from './gpt-families';
import { gptVariants } from './gpt-variants';
import { latentVariants } from './latent-variants';
import { llamaFamilies } from './llama-families';
import { llamaVariants } from './llama-variants';
import { nativeFamilies } from './native-families';
import { otherFamilies } from './other-families';
import { remoteFamilies } from './remote-families';
import { stateFamilies } from './ssm-families';
import { unmodelledReason } from './unmodelled';
import type { LocatedPartial } from '../run/given';
import type { WrittenModel } from '../run/written-model';
import { sentence, type Sentence } from '../sentence';

const known = {
  ...gptFamilies,
  ...gptVariants,
  ...llamaFamilies,
  ...llamaVariants,
  ...expertFamilies,
  ...expertVariants,
  ...latentVariants,
  ...nativeFamilies,
  ...remoteFamilies,
  ...stateFamilies,
  ...otherFamilies,
};

type FamilyName = keyof typeof known;

/** What is known of each model type that transformers names. */
export const families: Readonly<Record<FamilyName, Family>> = known;

/**
 * A type we do not know with the keys that most have: read as Llama has them. Sizes have no defaults; the reader asks for those that
 * planning cannot do without.
 */
const assumed: Family = {
  configClass: assumedClass,
  assumed: true,
  keys: {
    ...llamaKeys,
    ...anyRoutedKeys,
    qkvBias: ['attention_bias', 'qkv_bias'],
    attentionOutputBias: ['attention_bias'],
    mlpBias: ['mlp_bias'],
  },
  defaults: {
    layers: 1,
    hidden: 1,
    heads: 1,
    ffn: null,
    vocab: 0,
    maxPositions: null,
    kvHeads: null,
    headDim: null,
    tiedEmbeddings: false,
    ...noBias,
  },
  always: llamaAlways,
  assumedFields: ['vocab', 'tiedEmbeddings', 'ffn'],
};

/** Whether transformers' name of a model type is one we read. */
export function isFamily(modelType: string): modelType is FamilyName {
  return Object.hasOwn(families, modelType);
}

/**
 * The family of a model type as a HuggingFace config writes it; a Llama of other sizes for a type we do not know, which is not planned
 * where its layers are known to be none of ours.
 */
export function findFamily(modelType: string): Family {
  if (isFamily(modelType)) return families[modelType];
  const unplanned = unmodelledReason(modelType);
  return unplanned === undefined ? assumed : { ...assumed, unplanned };
}

/** The family that fills in what a model leaves out; null for a model that comes from no HuggingFace config. */
export function familyOfModel({ value, source }: Located<string>): Family | null {
  return isFamily(value) || (source.kind === 'file' && source.key === 'model_type') ? findFamily(value) : null;
}

/** Fills what a config of a family leaves out by the family's documented defaults, each marked with the sentence that documents it. */
export function completeFamily(
  family: Family,
  modelType: Located<string>,
  given: LocatedPartial<WrittenModel>,
): LocatedFields<WrittenModel> {
  const { configClass, keys, defaults, always, stacks } = family;
  const reason =
    family.assumed === true ? sentence`as in Llama: the model type is not known` : sentence`every ${modelType.value} model has this`;
  const orDefault = <K extends FamilyField | 'encoderLayers'>(field: K, value: WrittenModel[K]): Located<WrittenModel[K]> => {
    const found: Located<WrittenModel[K]> | undefined = given[field];
    const key = keys[field === 'encoderLayers' ? 'layers' : field]?.[0];
    return found ?? byDefault(value, key === undefined ? reason : sentence`${configClass} default: ${key} ${String(value)}`);
  };
  const dense = family.assumed === true ? sentence`no key of experts` : sentence`every ${modelType.value} model is dense`;
  const orNone = (field: 'experts' | 'activeExperts' | 'expertFfn', value: number | undefined, none: Sentence) =>
    value === undefined ? (given[field] ?? byDefault(null, none)) : orDefault(field, value);
  const hidden = orDefault('hidden', defaults.hidden);
  const heads = orDefault('heads', defaults.heads);
  return {
    modelType,
    ...(stacks === undefined
      ? { layers: orDefault('layers', defaults.layers), encoderLayers: given.encoderLayers ?? byDefault(null, sentence`decoder only`) }
      : {
          layers:
            given.layers ??
            byDefault(
              defaults.layers + (stacks.decoderLayers ?? defaults.layers),
              sentence`${configClass} default: of encoder and decoder together`,
            ),
          encoderLayers: orDefault('encoderLayers', defaults.layers),
        }),
    hidden,
    heads,
    kvHeads: defaults.kvHeads === null ? (given.kvHeads ?? likeHeads(heads.value, configClass)) : orDefault('kvHeads', defaults.kvHeads),
    headDim:
      defaults.headDim === null ? (given.headDim ?? hiddenOverHeads(hidden.value, heads.value)) : orDefault('headDim', defaults.headDim),
    ffn: defaults.ffn === null ? (given.ffn ?? fourHidden(hidden.value, family)) : orDefault('ffn', defaults.ffn),
    experts: orNone('experts', defaults.experts?.count, dense),
    activeExperts: orNone('activeExperts', defaults.experts?.active, dense),
    expertFfn: orNone('expertFfn', defaults.experts?.ffn, sentence`experts have the feed-forward width of dense layers`),
    vocab: orDefault('vocab', defaults.vocab),
    tiedEmbeddings: orDefault('tiedEmbeddings', defaults.tiedEmbeddings),
    maxPositions:
      defaults.maxPositions === null
        ? (given.maxPositions ?? byDefault(null, sentence`no table bounds the positions`))
        : orDefault('maxPositions', defaults.maxPositions),
    qkvBias: orDefault('qkvBias', defaults.qkvBias),
    attentionOutputBias: orDefault('attentionOutputBias', defaults.attentionOutputBias),
    mlpBias: orDefault('mlpBias', defaults.mlpBias),
    gatedMlp: given.gatedMlp ?? byDefault(always.gatedMlp, reason),
    positions: given.positions ?? byDefault(always.positions, reason),
    norm: given.norm ?? byDefault(always.norm, reason),
    qkNorm: given.qkNorm ?? byDefault(always.qkNorm, reason),
  };
}

/** Head size when no file gives one; at least 1, so that a model with more heads than width can still be shown with its error. */
export function hiddenOverHeads(hidden: number, heads: number): Located<number> {
  return byDefault(Math.max(1, Math.floor(hidden / heads)), sentence`head size is hidden size / attention heads`);
}

function likeHeads(heads: number, configClass: string): Located<number> {
  return byDefault(heads, sentence`${configClass}: as many key/value heads as attention heads`);
}

function fourHidden(hidden: number, { configClass, keys }: Family): Located<number> {
  const [key] = keys.ffn ?? [];
  return byDefault(
    4 * hidden,
    key === undefined
      ? sentence`${configClass}: 4 times the hidden size`
      : sentence`${configClass}: without ${key}, 4 times the hidden size`,
  );
}
