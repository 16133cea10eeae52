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

  it('is read: what LLM Foundry has in the attention of MPT', () => {
    const mpt = { model_type: 'mpt', d_model: 256, n_heads: 4, n_layers: 4 };
    const model = modelOf({ ...mpt, attn_config: { alibi: true, alibi_bias_max: 16, qk_ln: true, attn_type: 'multiquery_attention' } });
    assert.deepEqual([model.details?.alibiRange, model.qkNorm, model.qkNormAcrossHeads, model.kvHeads], [16, true, true, 1]);
    assert.equal(modelOf({ ...mpt, attn_config: { alibi: true, alibi_bias_max: 8 } }).details?.alibiRange, undefined);
    const rotary = modelOf({
      ...mpt,
      attn_config: { rope: true, rope_theta: 50_000, alibi: false, attn_type: 'grouped_query_attention', kv_n_heads: 2 },
    });
    assert.deepEqual([rotary.positions, rotary.rotary?.base, rotary.kvHeads], ['rotary', 50_000, 2]);
    assert.equal(modelOf({ ...mpt, attn_config: { attn_type: 'multihead_attention', kv_n_heads: 2 } }).kvHeads, 4);
  });

  it('is read: factors of MiniMax and of Falcon-H1, where one is not 1', () => {
    const minimax = { model_type: 'minimax', num_local_experts: 4, num_experts_per_tok: 2, head_dim: 64 };
    const { details } = modelOf({ ...minimax, full_attn_alpha_factor: 3.5, mlp_beta_factor: 0.5 });
    assert.deepEqual([details?.residualWeights, details?.normResidual], [[3.5, 1, 1, 1, 1, 0.5], true]);
    assert.equal(modelOf({ ...minimax, full_attn_alpha_factor: 1 }).details?.residualWeights, undefined);
    const falcon = { model_type: 'falcon_h1', mamba_d_ssm: 512, mamba_n_heads: 8, mamba_d_head: 64 };
    assert.deepEqual(
      modelOf({ ...falcon, key_multiplier: 0.5, ssm_multipliers: [1, 2, 3, 4, 5], mlp_multipliers: null }).details?.branchMultipliers,
      [1, 0.5, 1, 1, 1, 2, 3, 4, 5, 1, 1],
    );
    assert.equal(modelOf(falcon).details?.branchMultipliers, undefined);
    // another class does not read them
    assert.equal(modelOf({ model_type: 'llama', key_multiplier: 0.5 }).details?.branchMultipliers, undefined);
  });

  it('is read: scores of DBRX without a norm, norms of Molmo 2 after their layer', () => {
    const dbrx = (order: unknown) =>
      modelOf({
        model_type: 'dbrx',
        attn_config: { kv_n_heads: 2 },
        ffn_config: { ffn_hidden_size: 512, moe_num_experts: 4, moe_top_k: 2, moe_normalize_expert_weights: order },
      }).details?.routerNormalised;
    assert.deepEqual([dbrx(null), dbrx(1)], [false, true]);
    assert.equal(modelOf({ model_type: 'molmo2_text', norm_after: true }).details?.normPlacement, 'output');
    assert.equal(modelOf({ model_type: 'molmo2_text', norm_after: false }).details?.normPlacement, undefined);
  });

  it('is read: groups of DeepSeek-V2, where its method has them', () => {
    const groups = (method: object) =>
      modelOf({
        model_type: 'deepseek_v2',
        n_routed_experts: 8,
        num_experts_per_tok: 4,
        moe_intermediate_size: 128,
        n_group: 4,
        topk_group: 2,
        ...method,
      }).experts?.groups;
    assert.deepEqual(groups({ topk_method: 'group_limited_greedy' }), { count: 4, active: 2 });
    assert.deepEqual([groups({ topk_method: 'greedy' }), groups({})], [undefined, undefined]);
  });

  it('is read: biases by the keys of their class, and the width of GPT-NeoX-Japanese', () => {
    const experts = { num_experts: 4, num_experts_per_tok: 2, moe_intermediate_size: 128 };
    const ofQueries = (config: object): boolean => modelOf({ model_type: 'qwen2_moe', ...experts, ...config }).qkvBias;
    assert.deepEqual([ofQueries({}), ofQueries({ qkv_bias: false })], [true, false]);
    assert.equal(modelOf({ model_type: 'cwm', mlp_bias: true }).mlpBias, true);
    assert.equal(modelOf({ model_type: 'gpt_neox_japanese', intermediate_size: undefined, intermediate_multiple_size: 6 }).ffn, 1536);
  });

  it('is read: another base of layers with a window, unless their positions are those of the others', () => {
    const local = (whole: object, sliding: object) =>
      modelOf({
        model_type: 'olmo3',
        sliding_window: 64,
        max_position_embeddings: 4096,
        rope_parameters: { full_attention: { rope_theta: 500_000, ...whole }, sliding_attention: { rope_theta: 500_000, ...sliding } },
      }).details?.localRotaryBase;
    assert.equal(local({}, {}), undefined);
    assert.equal(local({}, { rope_theta: 10_000 }), 10_000);
    // only the others are scaled
    assert.equal(local({ rope_type: 'yarn', factor: 8 }, { rope_type: 'default' }), 500_000);
    assert.equal(local({}, { rope_type: 'default' }), undefined);
    const scaled = { rope_type: 'llama3', factor: 8, low_freq_factor: 1 };
    assert.equal(local(scaled, scaled), undefined);
    assert.equal(local(scaled, { ...scaled, low_freq_factor: 2 }), 500_000);
    // the older key with the newer
    const gemma = { model_type: 'gemma3_text', sliding_window: 64, head_dim: 64, rope_local_base_freq: 20_000 };
    const both = (parameters: object) => modelOf({ ...gemma, rope_parameters: parameters }).details?.localRotaryBase;
    assert.equal(both({ full_attention: { rope_theta: 1e6 } }), 20_000);
    assert.equal(both({ full_attention: { rope_theta: 1e6 }, sliding_attention: { rope_type: 'default' } }), 20_000);
    assert.equal(both({ full_attention: { rope_theta: 1e6 }, sliding_attention: { rope_theta: 30_000 } }), 30_000);
  });

  it('is read: what is dropped out, and of which', () => {
    const shares = (config: object) => {
      const { details } = modelOf({ model_type: 'phi', ...config });
      return [details?.hiddenDropoutShare, details?.attentionDropoutShare];
    };
    assert.deepEqual(shares({ resid_pdrop: 0.1, attention_dropout: 0 }), [0.1, undefined]);
    assert.deepEqual(shares({ resid_pdrop: 0, attention_dropout: 0.2 }), [undefined, 0.2]);
    assert.deepEqual(shares({ resid_pdrop: 'none', attention_dropout: 3 }), [undefined, undefined]);
  });

  it('is read: what is dropped out by default of the class, of which the config sets the other share', () => {
    const shares = (model_type: string, config: object) => {
      const { details } = modelOf({ model_type, ...config });
      return [details?.hiddenDropoutShare, details?.attentionDropoutShare];
    };
    assert.deepEqual(shares('gpt2', { resid_pdrop: 0.1 }), [0.1, 0.1]);
    assert.deepEqual(shares('gpt2', { resid_pdrop: 0 }), [undefined, 0.1]);
    assert.deepEqual(shares('gpt2', { resid_pdrop: 0.2, attn_pdrop: 0 }), [0.2, undefined]);
    assert.deepEqual(shares('gpt2', { resid_pdrop: 0.2, attn_pdrop: null }), [0.2, undefined]);
    assert.deepEqual(shares('gpt2', { attn_pdrop: 0.2 }), [0.1, 0.2]);
    assert.deepEqual(shares('gpt2', {}), [undefined, undefined]);
    assert.deepEqual(shares('opt', { dropout: 0.3, ffn_dim: 512 }), [0.3, undefined]);
  });

  it('is read: dropout of attention of MPT and DBRX, in its section', () => {
    const section = { attn_config: { attn_pdrop: 0.2, kv_n_heads: 2 } };
    const mpt = { model_type: 'mpt', d_model: 256, n_heads: 4, n_layers: 4 };
    const dbrx = { model_type: 'dbrx', ffn_config: { ffn_hidden_size: 512, moe_num_experts: 4, moe_top_k: 2 } };
    for (const config of [mpt, dbrx]) {
      const { details } = modelOf({ ...config, resid_pdrop: 0.1, ...section });
      assert.deepEqual([details?.hiddenDropoutShare, details?.attentionDropoutShare], [0.1, 0.2]);
    }
  });

  it('has no norms of queries and keys where its class could have them', () => {
    const cohere = { model_type: 'cohere', use_qk_norm: false };
    assert.equal(modelOf(cohere).qkNormAcrossHeads, undefined);
    assert.equal(modelOf({ ...cohere, use_qk_norm: true }).qkNormAcrossHeads, true);
  });
});
