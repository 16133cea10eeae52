import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import type { ModelSpec } from '../../../../src/core/domain/model';

/** The model of a Hugging Face config. */
export function modelOf(config: object): ModelSpec {
  const { model, traits } = readHuggingFace('config.json', JSON.stringify(config));
  return toModelSpec(model, traits);
}

/** A T5 1.1 as wide as XXL. */
export function t5(encoderLayers: number, decoderLayers: number): ModelSpec {
  return modelOf({
    model_type: 't5',
    d_model: 4096,
    d_ff: 10240,
    d_kv: 64,
    num_heads: 64,
    num_layers: encoderLayers,
    num_decoder_layers: decoderLayers,
    feed_forward_proj: 'gated-gelu',
    tie_word_embeddings: false,
  });
}

/** Twice as wide as BART large, with a decoder of half the heads and feed-forward width. */
export function bart(encoderLayers: number, decoderLayers: number): ModelSpec {
  return modelOf({
    model_type: 'bart',
    encoder_layers: encoderLayers,
    decoder_layers: decoderLayers,
    d_model: 2048,
    encoder_attention_heads: 16,
    encoder_ffn_dim: 8192,
    decoder_attention_heads: 8,
    decoder_ffn_dim: 4096,
  });
}

/** As wide as Whisper large. */
export function whisper(encoderLayers: number, decoderLayers: number): ModelSpec {
  return modelOf({
    model_type: 'whisper',
    d_model: 1280,
    encoder_layers: encoderLayers,
    decoder_layers: decoderLayers,
    encoder_attention_heads: 16,
    decoder_attention_heads: 16,
    encoder_ffn_dim: 5120,
    decoder_ffn_dim: 5120,
  });
}
