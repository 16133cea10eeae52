import { byDefault, type Located, type LocatedFields } from '../domain/located';
import { expertFamilies, expertVariants, latentVariants } from './expert-families';
import { anyRoutedKeys, assumedClass, llamaAlways, llamaKeys, noBias, type Family, type FamilyField } from './family';
import { gptFamilies, gptVariants } from './gpt-families';
import { llamaFamilies, llamaVariants } from './llama-families';
import { nativeFamilies } from './native-families';
import { otherFamilies } from './other-families';
import { remoteFamilies } from './remote-families';
import { stateFamilies } from './ssm-families';
import type { LocatedPartial } from '../run/given';
import type { WrittenModel } from '../run/written-model';
import { sentence, type Sentence } from '../sentence';

/*
 * Model types of transformers 5.23 that generate text and whose layers are none of ours, by what keeps them from being planned. Their sizes
 * are shown; no count of their parameters is guessed.
 */

const byReason: readonly (readonly [reason: Sentence, types: string])[] = [
  [sentence`heads of attention differ from layer to layer`, 'gemma4 gemma4_text gemma4_assistant gemma4_unified gemma4_unified_text gemma4_unified_assistant gemma3n gemma3n_text mimo_v2_flash step3p5 step3p7 laguna dots3_note dots3_note_text diffusion_gemma'],
  [sentence`several streams of hidden states run in parallel`, 'deepseek_v4 hy_v4 axk2'],
  [sentence`an indexer picks the tokens that its attention sees`, 'mistral_large4_text'],
  [sentence`its experts work on compressed tokens`, 'muse_spark_text'],
  [sentence`its attention is a mixture of experts`, 'jetmoe zaya'],
  [sentence`its experts are picked from pairs of embeddings`, 'doge'],
  [sentence`two blocks of layers run in turns`, 'hrm_text'],
  [sentence`each layer has two attentions and two networks`, 'longcat_flash'],
  [sentence`experts of text and of images have sizes of their own`, 'ernie4_5_vl_moe ernie4_5_vl_moe_text aria_moe'],
  [sentence`its layers end in low-rank parts for each kind of input`, 'phi4_multimodal'],
  [sentence`its layers are recurrent`, 'recurrent_gemma xlstm rwkv5 rwkv6 rwkv7 rwkv6hybrid gla gsa retnet hgrn hgrn2 delta_net gated_deltanet gated_deltaproduct deltaformer comba kda linear_attn lightnet log_linear_mamba2 mesa_net mom nsa path_attn rodimus samba transformer_fla bitnet_fla abc forgetting_transformer'],
  [sentence`its linear attention is of a kind that is not modelled`, 'kimi_linear bailing_hybrid bailing_moe_linear glm5_next_text minimax_text_01 qwen4_exp qwen4_exp_text'],
  [sentence`it works on bytes in patches`, 'blt'],
  [sentence`its attention is sparse by blocks or by hashes`, 'big_bird bigbird_pegasus led longformer longt5 pegasus_x reformer'],
  [sentence`its encoder and decoder are of a kind that is not modelled`, 'nllb-moe switch_transformers t5gemma t5gemma2 prophetnet xlm-prophetnet fsmt seamless_m4t seamless_m4t_v2 udop pix2struct encoder-decoder vision-encoder-decoder speech-encoder-decoder moonshine moonshine_streaming cohere_asr speech_to_text kosmos-2 kosmos-2.5 florence2 florence2_language pp_formulanet pp_chart2table trocr git blip blip_text_model musicgen musicgen_decoder musicgen_melody musicgen_melody_decoder'],
  [sentence`it predicts tokens in any order`, 'xlnet xlm'],
  [sentence`an encoder attends in both directions, so its sequence cannot be cut into slices`, 'bert-generation data2vec-text electra ernie megatron-bert rembert roberta-prelayernorm roc_bert roformer xlm-roberta-xl xmod albert deberta deberta-v2 mpnet nezha convbert funnel squeezebert mobilebert modernbert eurobert layoutlm nystromformer yoso fnet mra ibert esm flaubert'],
  [sentence`its layers that generate audio are not modelled`, 'moshi csm dia bark higgs_audio_v2 vibevoice kyutai_speech_to_text moss_transcribe_diarize fun_asr_nano'],
  [sentence`its words and its segments share attention`, 'cpmant'],
  [sentence`its layers are relayed between images and text`, 'idefics fuyu evolla pi0 cosmos3_omni mllama_vision chameleon unlimited_ocr_text'],
  [sentence`its layers are convolutions and attention of a kind that is not modelled`, 'lfm2 lfm2_moe lfm3 lfm3_text inkling_text inkling2_text'],
]; // prettier-ignore

const reasons: ReadonlyMap<string, Sentence> = new Map(
  byReason.flatMap(([reason, types]) => types.split(' ').map((type) => [type, reason])),
);

/** Why models of a type are read but not planned; undefined for a type that is planned, or not known. */
function unmodelledReason(modelType: string): Sentence | undefined {
  return reasons.get(modelType);
}

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

/** The keys by which any of the types names a size: `num_hidden_layers`, GPT-2's `n_layer`, GPT-Neo's `num_layers`. */
export function keysOfSize(field: FamilyField): readonly string[] {
  return [...new Set(Object.values<Family>(families).flatMap(({ keys }) => keys[field] ?? []))];
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
    family.assumed === true ? sentence`as in Llama: the model type is not known` : sentence`the same in all ${modelType.value} models`;
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
