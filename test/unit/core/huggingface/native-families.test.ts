import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { recogniseConfig } from '../../../../src/core/config-files/readers';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { load } from '../config-files/files';

const llama = { norm_eps: 1e-5, multiple_of: 256, vocab_size: -1 };
const latent = { kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128 };
const openLm = { seq_len: 2048, vocab_size: 50432, post_embed_norm: false, weight_tying: false };

/** Sizes as the repositories of the models write them, and how many parameters the models have, in billions. */
const models: Readonly<Record<string, readonly [billions: number, config: object]>> = {
  'Llama 7B': [6.738, { ...llama, dim: 4096, n_heads: 32, n_layers: 32 }],
  'Llama 65B': [65.286, { ...llama, dim: 8192, n_heads: 64, n_layers: 80 }],
  'Llama 2 70B': [68.977, { ...llama, dim: 8192, multiple_of: 4096, ffn_dim_multiplier: 1.3, n_heads: 64, n_kv_heads: 8, n_layers: 80 }],
  'Llama 3 8B': [8.03, { ...llama, dim: 4096, n_layers: 32, n_heads: 32, n_kv_heads: 8, vocab_size: 128256, multiple_of: 1024, ffn_dim_multiplier: 1.3 }], // prettier-ignore
  'DeepSeek-V2-Lite': [15.706, { ...latent, vocab_size: 102400, dim: 2048, inter_dim: 10944, moe_inter_dim: 1408, n_layers: 27, n_dense_layers: 1, n_heads: 16, n_routed_experts: 64, n_shared_experts: 2, n_activated_experts: 6, q_lora_rank: 0 }], // prettier-ignore
  'DeepSeek-V2': [235.741, { ...latent, vocab_size: 102400, dim: 5120, inter_dim: 12288, moe_inter_dim: 1536, n_layers: 60, n_dense_layers: 1, n_heads: 128, n_routed_experts: 160, n_shared_experts: 2, n_activated_experts: 6, n_expert_groups: 8, n_limited_groups: 3, q_lora_rank: 1536 }], // prettier-ignore
  'DeepSeek-V3': [671.027, { ...latent, vocab_size: 129280, dim: 7168, inter_dim: 18432, moe_inter_dim: 2048, n_layers: 61, n_dense_layers: 3, n_heads: 128, n_routed_experts: 256, n_shared_experts: 1, n_activated_experts: 8, n_expert_groups: 8, n_limited_groups: 4, score_func: 'sigmoid', q_lora_rank: 1536 }], // prettier-ignore
  'open_lm 1B': [1.44, { ...openLm, hidden_dim: 2048, n_layers: 24, n_heads: 16 }],
  'open_lm 7B': [6.889, { ...openLm, hidden_dim: 4096, n_layers: 32, n_heads: 32 }],
  'Mamba 130M': [0.12913, { d_model: 768, n_layer: 24, vocab_size: 50277, ssm_cfg: {}, pad_vocab_size_multiple: 8 }],
};

describe('models by the sizes that their own repositories write', () => {
  for (const [name, [billions, config]] of Object.entries(models))
    it(`${name} has ${billions}B parameters`, async () => {
      const text = JSON.stringify(config);
      assert.equal(recogniseConfig('params.json', text), 'huggingface');
      const run = await load({ 'params.json': text });
      assert.ok(Math.abs((countModelParameters(run) ?? 0) / (1e9 * billions) - 1) < 1e-3, String(countModelParameters(run)));
      assert.deepEqual(
        run.remarks?.filter(({ severity }) => severity !== 'information'),
        [],
      );
    });

  it('has the network and the norms that open_lm chooses by words', async () => {
    const words = {
      ...openLm,
      hidden_dim: 1024,
      n_layers: 2,
      n_heads: 8,
      ffn_type: 'gelu',
      model_norm: 'default_layer_norm',
      qk_norm: true,
    };
    const { model } = await load({ 'ours.json': JSON.stringify(words) });
    assert.deepEqual([model.ffn.value, model.gatedMlp.value, model.norm.value, model.qkNorm.value], [4096, false, 'layernorm', true]);
  });

  it('leaves off what heads cannot share, as open_lm does', async () => {
    const { model } = await load({ 'ours.json': JSON.stringify({ ...openLm, hidden_dim: 488, n_layers: 2, n_heads: 12 }) });
    assert.deepEqual([model.hidden.value, model.headDim.value], [488, 40]);
  });

  it('takes no other list of layers and heads for one', () => {
    assert.equal(recogniseConfig('a.json', '{"n_layers": 4, "n_heads": 2}'), null);
    assert.equal(recogniseConfig('a.json', '{"d_model": 4, "n_layer": 2}'), null);
  });
});
