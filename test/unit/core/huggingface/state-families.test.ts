import assert from 'node:assert/strict';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { layerGroups } from '../../../../src/core/model/layers';
import { layerMatrixParameters, layerParameters, parameterCount } from '../../../../src/core/model/parameters';
import type { LayerKind } from '../../../../src/core/domain/model';
import { load } from '../config-files/files';
import { say, sentence } from '../../../../src/core/sentence';

function read(config: object) {
  return readHuggingFace('config.json', JSON.stringify(config));
}

function spec(config: object) {
  const { model, traits } = read(config);
  return toModelSpec(model, traits);
}

const nemotron8b = 'M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-';
const nano30b = 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME';
const attendingAt = (layers: number, at: readonly number[], state: string, attention: string): string[] =>
  Array.from({ length: layers }, (_, layer) => (at.includes(layer) ? attention : state));

/**
 * Parameters of models as their publishers give them, and of the same config in transformers 5.23 to the last one (`num_parameters()` of
 * the class on the meta device).
 */
const published: readonly (readonly [name: string, parameters: number, config: object])[] = [
  ['Mamba 130M', 129_135_360, { model_type: 'mamba', num_hidden_layers: 24 }],
  ['Mamba-2 130M', 128_989_632, { model_type: 'mamba2', num_hidden_layers: 24, hidden_size: 768, num_heads: 24, n_groups: 1, vocab_size: 50288, tie_word_embeddings: true }], // prettier-ignore
  ['Codestral Mamba 7B', 7_285_403_648, { model_type: 'mamba2' }],
  ['Falcon Mamba 7B', 7_272_665_088, { model_type: 'falcon_mamba', hidden_size: 4096, num_hidden_layers: 64, vocab_size: 65024, tie_word_embeddings: false, expand: 16, intermediate_size: 8192 }], // prettier-ignore
  ['Jamba v0.1', 51_570_323_328, { model_type: 'jamba' }],
  ['Bamba 9B v2', 9_780_235_392, { model_type: 'bamba', attn_layer_indices: [9, 18, 27], vocab_size: 128256, mamba_d_state: 128 }],
  ['Nemotron-H 8B', 8_100_852_736, { model_type: 'nemotron_h', hybrid_override_pattern: nemotron8b }],
  [
    'Nemotron 3 Nano 30B-A3B',
    31_577_937_344,
    {
      model_type: 'nemotron_h',
      hybrid_override_pattern: nano30b,
      hidden_size: 2688,
      num_key_value_heads: 2,
      mamba_num_heads: 64,
      n_routed_experts: 128,
      num_experts_per_tok: 6,
      moe_intermediate_size: 1856,
      moe_shared_expert_intermediate_size: 3712,
      intermediate_size: 1856, // prettier-ignore
    },
  ],
  [
    'Granite 4.0 H Tiny',
    6_939_037_248,
    {
      model_type: 'granitemoehybrid',
      hidden_size: 1536,
      intermediate_size: 512,
      num_hidden_layers: 40,
      num_attention_heads: 12,
      num_key_value_heads: 4,
      num_local_experts: 64,
      num_experts_per_tok: 6,
      vocab_size: 100352,
      tie_word_embeddings: true,
      mamba_n_heads: 48,
      mamba_d_state: 128,
      mamba_d_head: 64,
      layer_types: attendingAt(40, [5, 15, 25, 35], 'mamba', 'attention'),
    },
  ],
  ['Qwen3-Next 80B-A3B without its multi-token prediction', 79_674_391_296, { model_type: 'qwen3_next' }],
  [
    'MiniMax-Text-01',
    456_089_655_296,
    {
      model_type: 'minimax',
      hidden_size: 6144,
      intermediate_size: 9216,
      num_hidden_layers: 80,
      num_attention_heads: 64,
      head_dim: 128,
      num_local_experts: 32,
      vocab_size: 200064,
      layer_types: Array.from({ length: 80 }, (_, layer) => (layer % 8 === 7 ? 'full_attention' : 'linear_attention')),
    },
  ],
];

/** Small configs with the switches of each class, counted by the same class. */
const counted: readonly (readonly [parameters: number, config: object])[] = [
  [46_483_200, { model_type: 'mamba', num_hidden_layers: 2, use_bias: true, use_conv_bias: false, time_step_rank: 100 }],
  [487_744_512, { model_type: 'mamba2', num_hidden_layers: 2, use_bias: true, use_conv_bias: false }],
  [3_737_219_336, { model_type: 'jamba', num_hidden_layers: 2, mamba_proj_bias: true, mamba_conv_bias: false, mamba_dt_rank: 100 }],
  [1_099_829_824, { model_type: 'jamba', num_hidden_layers: 2, num_experts: 1 }],
  [1_546_286_080, { model_type: 'bamba', num_hidden_layers: 2, attn_layer_indices: [1], attention_bias: true, mlp_bias: true, mamba_proj_bias: true, mamba_conv_bias: false }], // prettier-ignore
  [8_514_961_408, { model_type: 'falcon_h1' }],
  [1_281_912_320, { model_type: 'falcon_h1', num_hidden_layers: 1, mamba_rms_norm: true, mamba_proj_bias: true }],
  [1_370_020_736, { model_type: 'falcon_h1', num_hidden_layers: 1, mamba_d_ssm: null }],
  [2_622_139_904, { model_type: 'granitemoehybrid', num_hidden_layers: 2, layer_types: ['mamba', 'attention'], attention_bias: true, mamba_proj_bias: true }], // prettier-ignore
  [378_076_032, { model_type: 'granitemoehybrid', num_hidden_layers: 1, num_local_experts: 0 }],
  [1_968_355_712, { model_type: 'nemotron_h' }],
  [2_078_041_088, { model_type: 'nemotron_h', hybrid_override_pattern: 'M-M*E', use_bias: true }],
  [7_210_014_784, { model_type: 'qwen3_next', num_hidden_layers: 4, attention_bias: true }],
  [4_049_591_360, { model_type: 'qwen3_next', num_hidden_layers: 4, mlp_only_layers: [0, 3] }],
  [94_946_112, { model_type: 'qwen3_next', num_hidden_layers: 8, full_attention_interval: 2, decoder_sparse_step: 2, hidden_size: 512, num_experts: 8, vocab_size: 1000, linear_num_value_heads: 8, linear_num_key_heads: 4, linear_key_head_dim: 32, linear_value_head_dim: 64 }], // prettier-ignore
  [3_143_718_912, { model_type: 'minimax', num_hidden_layers: 2, head_dim: 64 }],
];

describe('models with a state', () => {
  for (const [name, parameters, config] of published)
    it(`have the parameters of ${name}`, () => {
      assert.equal(parameterCount(spec(config)), parameters);
      assert.equal(read(config).unplanned, undefined);
    });

  it('have the parameters that their classes count, whatever the switches', () => {
    for (const [parameters, config] of counted) assert.equal(parameterCount(spec(config)), parameters, JSON.stringify(config));
  });

  it('have the weights of a Mamba-2 layer by hand: in, convolution, decays, norm, out', () => {
    const model = spec({ model_type: 'mamba2' });
    const kind: LayerKind = { feedForward: 'none', window: null, mixer: 'state' };
    assert.deepEqual(layerGroups(model), [{ kind, layers: 64 }]);
    const [hidden, values, keys, heads] = [4096, 8192, 8 * 128, 128];
    const { qkv, state, mlpUp, normsAndBiases } = layerParameters(model, kind);
    assert.deepEqual([qkv, mlpUp], [0, 0]);
    assert.equal(state, hidden * (2 * values + 2 * keys + heads) + values * hidden);
    assert.equal(normsAndBiases, hidden + 5 * (values + 2 * keys) + 3 * heads + values);
    assert.equal(layerMatrixParameters(model, kind), state);
  });

  it('know what each layer is', () => {
    const kinds = (config: object) =>
      layerGroups(spec(config)).map(({ kind, layers }) => [layers, kind.mixer ?? 'attention', kind.feedForward]);
    assert.deepEqual(kinds({ model_type: 'mamba', num_hidden_layers: 3 }), [[3, 'state', 'none']]);
    assert.deepEqual(kinds({ model_type: 'falcon_h1', num_hidden_layers: 3 }), [[3, 'both', 'dense']]);
    assert.deepEqual(kinds({ model_type: 'nemotron_h', hybrid_override_pattern: 'MM-*E' }), [
      [2, 'state', 'none'],
      [1, 'none', 'dense'],
      [1, 'attention', 'none'],
      [1, 'none', 'experts'],
    ]);
    assert.deepEqual(kinds({ model_type: 'jamba', num_hidden_layers: 6 }), [
      [1, 'state', 'dense'],
      [1, 'state', 'experts'],
      [1, 'state', 'dense'],
      [1, 'state', 'experts'],
      [1, 'attention', 'dense'],
      [1, 'state', 'experts'],
    ]);
    assert.deepEqual(kinds({ model_type: 'qwen3_next', num_hidden_layers: 4 }), [
      [3, 'state', 'experts'],
      [1, 'attention', 'experts'],
    ]);
  });

  it('show the sizes of the state as facts, with their places', () => {
    const text = JSON.stringify({ model_type: 'bamba', mamba_d_state: 64, mamba_n_groups: 2 });
    const { facts } = readHuggingFace('config.json', text);
    const { stateKind, stateHeads, stateHeadDim, stateDim, stateGroups } = facts;
    assert.deepEqual(
      [stateKind?.value, stateHeads?.value, stateHeadDim?.value, stateDim?.value, stateGroups?.value],
      ['mamba2', 128, 64, 64, 2],
    );
    assert.ok(stateDim?.source.kind === 'file' && stateHeads?.source.kind === 'default');
    assert.equal(text.slice(stateDim.source.place.range.start, stateDim.source.place.range.end), '64');
    const attentionFree = readHuggingFace('config.json', '{"model_type":"mamba"}');
    assert.deepEqual(
      [attentionFree.facts.heads, attentionFree.facts.ffn, attentionFree.facts.stateKind?.value],
      [undefined, undefined, 'mamba'],
    );
  });

  it('send experts tokens of the width that a Nemotron-H projects them to', () => {
    const model = {
      model_type: 'nemotron_h',
      layers_block_type: ['mamba', 'moe'],
      n_routed_experts: 8,
      moe_intermediate_size: 512,
      hidden_size: 1024,
    };
    const [plain, narrow] = [spec(model), spec({ ...model, moe_latent_size: 256 })];
    assert.equal(narrow.experts?.latent, 256);
    assert.equal(spec({ ...model, moe_latent_size: null }).experts?.latent, undefined);
    const kind = plain.layerKinds?.[1];
    const [before, after] = [layerParameters(plain, kind), layerParameters(narrow, kind)];
    assert.deepEqual([before.mlpUp, after.mlpUp, after.mlpDown], [8 * 1024 * 512, 8 * 256 * 512, 8 * 512 * 256]);
    assert.deepEqual(
      [before.compression, after.compression, after.router, after.shared],
      [0, 2 * 1024 * 256, before.router, before.shared],
    );
  });

  it('take as many layers as a Nemotron-H lists, whatever num_hidden_layers is', () => {
    const listed = { model_type: 'nemotron_h', num_hidden_layers: 7, layers_block_type: ['mamba', 'moe', 'attention', 'mlp'] };
    assert.deepEqual([spec(listed).layers, spec(listed).layerKinds?.length], [4, 4]);
    assert.equal(spec({ model_type: 'nemotron_h', hybrid_override_pattern: 'M-*' }).experts, null);
  });

  it('are refused where something of them is not counted, and so are blocks that layers share', async () => {
    const reason = (config: object): string => say(read(config).unplanned?.message ?? sentence`planned`);
    assert.match(reason({ model_type: 'nemotron_h', mlp_bias: true }), /biases/);
    assert.equal(reason({ model_type: 'bamba', mlp_bias: true }), 'planned');
    assert.match(reason({ model_type: 'jamba', layers_block_type: ['mamba', 'something'] }), /"something"/);
    for (const model_type of ['zamba', 'zamba2', 'rwkv']) {
      assert.match(reason({ model_type }), /read but not planned/);
      assert.equal(countModelParameters(await load({ 'config.json': JSON.stringify({ model_type }) })), null);
    }
  });

  it('answer values that cannot be with an error at them', () => {
    for (const bad of [
      { mamba_d_state: 0 },
      { mamba_n_heads: 'x' },
      { mamba_expand: -1 },
      { attn_layer_period: 1.5 },
      { layer_types: [1] },
    ])
      for (const model_type of ['jamba', 'bamba', 'granitemoehybrid'])
        try {
          read({ model_type, ...bad });
        } catch (error) {
          assert.match(String((error as { code?: string }).code), /^config-/);
        }
    assert.throws(() => read({ model_type: 'bamba', mamba_d_state: 0 }), { code: 'config-out-of-range' });
    assert.throws(() => read({ model_type: 'nemotron_h', hybrid_override_pattern: 'MX' }), { code: /^config-/ });
  });
});
