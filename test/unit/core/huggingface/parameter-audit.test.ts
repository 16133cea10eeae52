import assert from 'node:assert/strict';
import { configError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { parameterCount } from '../../../../src/core/model/parameters';
import { sentence } from '../../../../src/core/sentence';

const gpt2Large = { model_type: 'gpt2', n_layer: 36, n_embd: 1280, n_head: 20, n_positions: 1024, vocab_size: 50257 };
const mistral7b = {
  model_type: 'mistral',
  num_hidden_layers: 32,
  hidden_size: 4096,
  intermediate_size: 14336,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  vocab_size: 32768,
  sliding_window: null,
  tie_word_embeddings: false,
};
const phi4 = {
  model_type: 'phi3',
  num_hidden_layers: 40,
  hidden_size: 5120,
  intermediate_size: 17920,
  num_attention_heads: 40,
  num_key_value_heads: 10,
  vocab_size: 100352,
  tie_word_embeddings: false,
};
const qwen25 = {
  model_type: 'qwen2',
  num_hidden_layers: 64,
  hidden_size: 5120,
  intermediate_size: 27648,
  num_attention_heads: 40,
  num_key_value_heads: 8,
  vocab_size: 152064,
  sliding_window: 131072,
  use_sliding_window: false,
  tie_word_embeddings: false,
};
const qwen3Moe = {
  model_type: 'qwen3_moe',
  num_hidden_layers: 48,
  hidden_size: 2048,
  intermediate_size: 6144,
  num_attention_heads: 32,
  head_dim: 128,
  num_key_value_heads: 4,
  vocab_size: 151936,
  num_experts: 128,
  num_experts_per_tok: 8,
  moe_intermediate_size: 768,
  decoder_sparse_step: 1,
  mlp_only_layers: [],
  tie_word_embeddings: false,
};
/** With the names of experts that some copies of the file have. */
const deepseekV3 = {
  model_type: 'deepseek_v3',
  num_hidden_layers: 61,
  hidden_size: 7168,
  intermediate_size: 18432,
  num_attention_heads: 128,
  num_key_value_heads: 128,
  vocab_size: 129280,
  num_routed_experts: 256,
  num_shared_experts: 1,
  num_experts_per_tok: 8,
  moe_intermediate_size: 2048,
  first_k_dense_replace: 3,
  q_lora_rank: 1536,
  kv_lora_rank: 512,
  qk_nope_head_dim: 128,
  qk_rope_head_dim: 64,
  v_head_dim: 128,
  num_nextn_predict_layers: 1,
  tie_word_embeddings: false,
};

const config = (sizes: object): readonly [file: string, text: string] => ['config.json', JSON.stringify(sizes)];
const flavor = (name: string, size: string): readonly [file: string, text: string] => [
  'run.toml',
  `[model]\nname = "${name}"\nflavor = "${size}"\n\n[training]\nseq_len = 4096\nlocal_batch_size = 1\n`,
];

/** Parameters as the publishers' weights have them, of the sizes that the publishers state. */
const published: readonly (readonly [name: string, file: readonly [string, string], parameters: number])[] = [
  ['GPT-2 large', config(gpt2Large), 774030080],
  ['Mistral 7B v0.3', config(mistral7b), 7248023552],
  ['Phi-4', config(phi4), 14659507200],
  ['Qwen2.5 32B', config(qwen25), 32763876352],
  ['Qwen3 30B-A3B', config(qwen3Moe), 30532122624],
  ['DeepSeek-V3', config(deepseekV3), 671026404352],
  ['TorchTitan, DeepSeek-V3 671B', flavor('deepseek_v3', '671B'), 671026404352],
  ['TorchTitan, DeepSeek-V3 16B', flavor('deepseek_v3', '16B'), 15706484224],
  ['TorchTitan, Qwen3 32B', flavor('qwen3', '32B'), 32762123264],
  ['TorchTitan, Llama 4 17Bx128E', flavor('llama4', '17bx128e'), 400711848960],
];

describe('parameters of published models', () => {
  for (const [name, [file, text], parameters] of published)
    it(`are ${parameters} of ${name}`, async () => {
      const refuse = () =>
        Promise.reject(configError('config-not-found', sentence`There is no other file`, sentence`plan without it`, fileStart(file)));
      const { run } = await loadConfig(file, text, { read: refuse, shell: refuse });
      assert.equal(run === null ? null : parameterCount(toModelSpec(run.model, run.traits)), parameters);
    });
});
