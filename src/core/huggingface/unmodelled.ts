import { type Sentence, sentence } from '../sentence';

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
  [sentence`an encoder attends to both sides, so its sequence cannot be cut in slices`, 'bert-generation data2vec-text electra ernie megatron-bert rembert roberta-prelayernorm roc_bert roformer xlm-roberta-xl xmod albert deberta deberta-v2 mpnet nezha convbert funnel squeezebert mobilebert modernbert eurobert layoutlm nystromformer yoso fnet mra ibert esm flaubert'],
  [sentence`it makes sound with layers that are not modelled`, 'moshi csm dia bark higgs_audio_v2 vibevoice kyutai_speech_to_text moss_transcribe_diarize fun_asr_nano'],
  [sentence`its words and its segments share attention`, 'cpmant'],
  [sentence`its layers are relayed between images and text`, 'idefics fuyu evolla pi0 cosmos3_omni mllama_vision chameleon unlimited_ocr_text'],
  [sentence`its layers are convolutions and attention of a kind that is not modelled`, 'lfm2 lfm2_moe lfm3 lfm3_text inkling_text inkling2_text'],
]; // prettier-ignore

const reasons: ReadonlyMap<string, Sentence> = new Map(
  byReason.flatMap(([reason, types]) => types.split(' ').map((type) => [type, reason])),
);

/** Why models of a type are read but not planned; undefined for a type that is planned, or not known. */
export function unmodelledReason(modelType: string): Sentence | undefined {
  return reasons.get(modelType);
}
