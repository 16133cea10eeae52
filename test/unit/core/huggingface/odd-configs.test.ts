import assert from 'node:assert/strict';
import { plannedModel } from '../../../corpus/round-trip';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { say } from '../../../../src/core/sentence';

const sizes = { hidden_size: 256, num_hidden_layers: 4, num_attention_heads: 4, intermediate_size: 512, vocab_size: 1000 };

function modelOf(config: object) {
  return plannedModel(JSON.stringify({ ...sizes, ...config })) ?? assert.fail('not planned');
}

describe('what changes a model and no time, in a config.json', () => {
  it('is read: the switch of GPT-2, whose activation is under one key', () => {
    const config = { model_type: 'gpt2', n_embd: 256, n_layer: 4, n_head: 4, n_positions: 128, hidden_act: 'silu' };
    const { details } = modelOf({ ...config, activation_function: 'gelu_new', scale_attn_by_inverse_layer_idx: true });
    assert.equal(details?.attentionByLayer, true);
    assert.equal(details.activation, 'gelu_pytorch_tanh');
    assert.equal(modelOf(config).details?.attentionByLayer, undefined);
  });

  it('is read: where BLOOM adds outputs to', () => {
    const bloom = { model_type: 'bloom', n_layer: 4, n_head: 4 };
    assert.equal(modelOf({ ...bloom, apply_residual_connection_post_layernorm: true }).details?.normResidual, true);
  });

  it('is read: jitter of routers, and positions, loss and jitter of DBRX in its sections', () => {
    const mixtral = { model_type: 'mixtral', num_local_experts: 4, num_experts_per_tok: 2 };
    assert.equal(modelOf({ ...mixtral, router_jitter_noise: 0.02 }).details?.routerJitter, 0.02);
    assert.equal(modelOf({ ...mixtral, router_jitter_noise: 0 }).details?.routerJitter, undefined);
    const { rotary, details } = modelOf({
      model_type: 'dbrx',
      attn_config: { kv_n_heads: 2, rope_theta: 123_456 },
      ffn_config: { ffn_hidden_size: 512, moe_num_experts: 4, moe_top_k: 2, moe_loss_weight: 0.03, moe_jitter_eps: 0.01 },
    });
    assert.deepEqual([rotary?.base, details?.routerAuxLoss, details?.routerJitter], [123_456, 0.03, 0.01]);
  });

  it('is read: the scale of attention of MPT, in its section, unless it is the usual one', () => {
    const mpt = { model_type: 'mpt', d_model: 256, n_heads: 4, n_layers: 4 };
    const scale = (attention: object) => modelOf({ ...mpt, attn_config: attention }).details?.attentionScale;
    assert.equal(scale({ softmax_scale: 0.05 }), 0.05);
    // heads are 64 wide
    for (const usual of [{ softmax_scale: 0.125 }, { softmax_scale: null }, {}]) assert.equal(scale(usual), undefined);
    const read = readHuggingFace('config.json', JSON.stringify({ ...sizes, ...mpt, attn_config: { softmax_scale: 0.05 } }));
    const { source } = read.facts.attentionScale ?? assert.fail('no fact');
    assert.ok(source.kind === 'file');
    assert.equal(source.key, 'softmax_scale');
  });

  it('is read: windows of GPT-Neo, by layer', () => {
    const neo = { model_type: 'gpt_neo', num_layers: 4, num_heads: 4, window_size: 64, max_position_embeddings: 512 };
    const windows = (config: object) => modelOf({ ...neo, ...config }).layerKinds?.map(({ window }) => window);
    assert.deepEqual(windows({ attention_types: [[['global', 'local'], 1], [['local'], 2]] }), [null, 64, 64, 64]); // prettier-ignore
    assert.deepEqual(windows({}), [null, 64, null, 64]);
    const most = [[], 300_000_000];
    assert.deepEqual(windows({ attention_types: [most, [['local', 'global'], 5e9], [['local'], 5e9]] }), [64, null, 64, null]);
    const planned = (types: unknown): string[] =>
      readHuggingFace('config.json', JSON.stringify({ ...sizes, ...neo, attention_types: types })).remarks.flatMap(
        ({ message }) => /^Planned with (.*), though/.exec(say(message))?.slice(1) ?? [],
      );
    assert.deepEqual([planned([[['global', 'local'], 2]]), planned(undefined)], [[], []]); // prettier-ignore
    // counts that are none, and too few kinds
    for (const types of [[most], [[['local'], -1]], [[['local'], 1.5]], [[['local'], 2]]]) {
      assert.deepEqual(
        [windows({ attention_types: types }), planned(types)],
        [[64, 64, 64, 64], ['all layers with attention to a window']],
      );
    }
  });

  it('is read: chunks of Llama 4', () => {
    const llama4 = { model_type: 'llama4_text', num_local_experts: 4, num_experts_per_tok: 1, intermediate_size_mlp: 512 };
    assert.equal(modelOf({ ...llama4, attention_chunk_size: 1024 }).details?.attentionChunk, 1024);
    assert.equal(modelOf(llama4).details?.attentionChunk, 8192);
    assert.equal(modelOf({ ...llama4, attention_chunk_size: null }).details?.attentionChunk, undefined);
  });

  it('has no norms of queries and keys where its class could have them', () => {
    const cohere = { model_type: 'cohere', use_qk_norm: false };
    assert.equal(modelOf(cohere).qkNormAcrossHeads, undefined);
    assert.equal(modelOf({ ...cohere, use_qk_norm: true }).qkNormAcrossHeads, true);
  });
});
