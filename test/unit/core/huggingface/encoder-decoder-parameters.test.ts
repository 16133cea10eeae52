import assert from 'node:assert/strict';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { parameterCount } from '../../../../src/core/model/parameters';

const t5 = (d_model: number, d_ff: number, d_kv: number, num_heads: number, num_layers: number) => ({ model_type: 't5', d_model, d_ff, d_kv, num_heads, num_layers }); // prettier-ignore
const gated = { feed_forward_proj: 'gated-gelu', tie_word_embeddings: false };
const bart = (model_type: string, vocab_size: number, d_model: number, layers: number, heads: number, ffn: number) => ({
  model_type,
  vocab_size,
  d_model,
  encoder_layers: layers,
  encoder_attention_heads: heads,
  encoder_ffn_dim: ffn,
  decoder_layers: layers,
  decoder_attention_heads: heads,
  decoder_ffn_dim: ffn,
});

/** Parameters as the weights' publishers or those who loaded them report; what the config leaves out is the class's default. */
const published: readonly (readonly [name: string, parameters: number, config: object])[] = [
  ['T5 small', 60506624, { model_type: 't5' }],
  ['T5 large', 737668096, t5(1024, 4096, 64, 16, 24)],
  ['T5 3B', 2851598336, t5(1024, 16384, 128, 32, 24)],
  ['T5 11B', 11307321344, t5(1024, 65536, 128, 128, 24)],
  ['T5 1.1 small', 76961152, { ...t5(512, 1024, 64, 6, 8), ...gated }],
  ['T5 1.1 base and FLAN-T5 base', 247577856, { ...t5(768, 2048, 64, 12, 12), ...gated }],
  ['T5 1.1 XL', 2849757184, { ...t5(2048, 5120, 64, 32, 24), ...gated }],
  ['T5 1.1 XXL', 11135332352, { ...t5(4096, 10240, 64, 64, 24), ...gated }],
  ['mT5 small', 300176768, { model_type: 'mt5' }],
  ['BART base', 139420416, bart('bart', 50265, 768, 6, 12, 3072)],
  ['BART large', 406291456, { model_type: 'bart' }],
  ['mBART large 50', 610879488, bart('mbart', 250054, 1024, 12, 16, 4096)],
  ['NLLB-200 600M', 615073792, bart('m2m_100', 256206, 1024, 12, 16, 4096)],
  ['Whisper tiny', 37760640, { model_type: 'whisper' }],
  ['Whisper large v2', 1543304960, bart('whisper', 51865, 1280, 32, 20, 5120)],
  ['Whisper large v3', 1543490560, { ...bart('whisper', 51866, 1280, 32, 20, 5120), num_mel_bins: 128 }],
  ['Whisper large v3 turbo', 808878080, { ...bart('whisper', 51866, 1280, 32, 20, 5120), decoder_layers: 4, num_mel_bins: 128 }],
];

function count(config: object): number {
  const { model, traits } = readHuggingFace('config.json', JSON.stringify(config));
  return parameterCount(toModelSpec(model, traits));
}

describe('parameters of encoder-decoder models', () => {
  for (const [name, parameters, config] of published)
    it(`equal those published for ${name}`, () => {
      assert.equal(count(config), parameters);
    });

  // Embedding, then of each stack its attention (four projections with biases), norms of weight and bias, feed-forward with biases.
  const [h, f] = [512, 2048];
  const attention = 4 * (h * h + h);
  const feedForward = 2 * h * f + f + h;
  // tables of sinusoids for 1,024 tokens of source and target, which count though they are not learned
  const sinusoids = 2 * 1024 * h;
  const stacks = 6 * (attention + feedForward + 2 * 2 * h) + 6 * (2 * attention + feedForward + 3 * 2 * h);

  it('are those of the layers and one embedding in Marian, whose stacks end without a norm', () => {
    assert.equal(count(bart('marian', 58101, h, 6, 8, f)), 58101 * h + sinusoids + stacks);
  });

  it('have a norm at the end of both stacks in Pegasus', () => {
    assert.equal(count(bart('pegasus', 96103, h, 6, 8, f)), 96103 * h + sinusoids + stacks + 2 * 2 * h);
  });

  it('have a bias by distance in every layer of UMT5, and in the first of each stack of T5', () => {
    const layer = (attentions: number) => attentions * 4 * 512 * 6 * 64 + 3 * 512 * 1024 + (attentions + 1) * 512;
    const rest = 2 * 250112 * 512 + 2 * 512 + 8 * (layer(1) + layer(2));
    assert.equal(count({ model_type: 'umt5' }), rest + 16 * 32 * 6);
    assert.equal(count({ model_type: 'mt5' }), rest + 2 * 32 * 6);
    assert.equal(count({ model_type: 'mt5', relative_attention_num_buckets: 64 }), rest + 2 * 64 * 6);
  });

  it('follow other sizes of the decoder', () => {
    const small = bart('marian', 1000, h, 6, 8, f);
    const [encoder, decoder] = [attention + feedForward + 4 * h, 2 * attention + (2 * h * 64 + 64 + h) + 6 * h];
    assert.equal(count({ ...small, decoder_layers: 2, decoder_ffn_dim: 64 }), 1000 * h + sinusoids + 6 * encoder + 2 * decoder);
  });
});
