import assert from 'node:assert/strict';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { parameterCount } from '../../../../src/core/model/parameters';

/**
 * Parameters as the publishers' weights have them (the safetensors metadata of the model pages), and the config they come from; what is
 * left out is the class's default.
 */
const published: readonly (readonly [name: string, parameters: number, config: object])[] = [
  [
    'DeepSeek-V2',
    235741434880,
    {
      model_type: 'deepseek_v2',
      hidden_size: 5120,
      intermediate_size: 12288,
      moe_intermediate_size: 1536,
      num_hidden_layers: 60,
      num_attention_heads: 128,
      num_key_value_heads: 128,
      n_shared_experts: 2,
      n_routed_experts: 160,
      num_experts_per_tok: 6,
      kv_lora_rank: 512,
      q_lora_rank: 1536,
      qk_rope_head_dim: 64,
      v_head_dim: 128,
      qk_nope_head_dim: 128,
      first_k_dense_replace: 1,
      vocab_size: 102400,
      moe_layer_freq: 1,
    },
  ],
  [
    'DeepSeek-V2-Lite',
    15706484224,
    {
      model_type: 'deepseek_v2',
      hidden_size: 2048,
      intermediate_size: 10944,
      moe_intermediate_size: 1408,
      num_hidden_layers: 27,
      num_attention_heads: 16,
      num_key_value_heads: 16,
      n_shared_experts: 2,
      n_routed_experts: 64,
      num_experts_per_tok: 6,
      kv_lora_rank: 512,
      q_lora_rank: null,
      qk_rope_head_dim: 64,
      v_head_dim: 128,
      qk_nope_head_dim: 128,
      first_k_dense_replace: 1,
      vocab_size: 102400,
      moe_layer_freq: 1,
    },
  ],
  ['Qwen-7B', 7721324544, { model_type: 'qwen', intermediate_size: 22016 }],
  ['ChatGLM3-6B', 6243584000, { model_type: 'chatglm', add_bias_linear: false, add_qkv_bias: true, multi_query_attention: true }],
  ['Baichuan2-7B', 7505973248, { model_type: 'baichuan' }],
  ['InternLM2-7B', 7737708544, { model_type: 'internlm2', bias: false }],
  ['DeepSeekMoE-16B', 16375728128, { model_type: 'deepseek' }],
  ['MiniCPM-2B', 2724880896, { model_type: 'minicpm' }],
  ['Yi-6B', 6061035520, { model_type: 'Yi' }],
  [
    'MiniCPM3-4B, whose config names only its class',
    4073875968,
    {
      architectures: ['MiniCPM3ForCausalLM'],
      hidden_size: 2560,
      intermediate_size: 6400,
      num_hidden_layers: 62,
      num_attention_heads: 40,
      num_key_value_heads: 40,
      kv_lora_rank: 256,
      q_lora_rank: 768,
      qk_nope_head_dim: 64,
      qk_rope_head_dim: 32,
      vocab_size: 73448,
    },
  ],
  ['DeepSeek-V3 without its multi-token prediction', 671026404352, { model_type: 'deepseek_v3' }],
  [
    'Qwen1.5-MoE-A2.7B',
    14315784192,
    {
      model_type: 'qwen2_moe',
      hidden_size: 2048,
      intermediate_size: 5632,
      moe_intermediate_size: 1408,
      shared_expert_intermediate_size: 5632,
      num_hidden_layers: 24,
      num_attention_heads: 16,
      num_key_value_heads: 16,
      num_experts: 60,
      num_experts_per_tok: 4,
      vocab_size: 151936,
      tie_word_embeddings: false,
    },
  ],
  ['gpt-oss-20b', 20914757184, { model_type: 'gpt_oss', num_hidden_layers: 24, num_local_experts: 32 }],
  ['gpt-oss-120b', 116829156672, { model_type: 'gpt_oss' }],
  ['Gemma 2 2B', 2614341888, { model_type: 'gemma2' }],
  [
    'Gemma 3 1B',
    999885952,
    {
      model_type: 'gemma3_text',
      hidden_size: 1152,
      intermediate_size: 6912,
      num_hidden_layers: 26,
      num_attention_heads: 4,
      num_key_value_heads: 1,
      head_dim: 256,
      vocab_size: 262144,
    },
  ],
  ['Command R', 34980831232, { model_type: 'cohere' }],
  [
    'OLMo 1B',
    1176764416,
    {
      model_type: 'olmo',
      hidden_size: 2048,
      intermediate_size: 8192,
      num_hidden_layers: 16,
      num_attention_heads: 16,
      vocab_size: 50304,
      tie_word_embeddings: true,
    },
  ],
  [
    'OLMo 2 7B',
    7298617344,
    {
      model_type: 'olmo2',
      hidden_size: 4096,
      intermediate_size: 11008,
      num_hidden_layers: 32,
      num_attention_heads: 32,
      num_key_value_heads: 32,
      vocab_size: 100352,
    },
  ],
  [
    'Phi-2',
    2779683840,
    { model_type: 'phi', hidden_size: 2560, intermediate_size: 10240, num_hidden_layers: 32, num_attention_heads: 32, vocab_size: 51200 },
  ],
  ['Falcon 7B', 6921720704, { model_type: 'falcon' }],
  [
    'Falcon 40B',
    41303293952,
    {
      model_type: 'falcon',
      new_decoder_architecture: true,
      hidden_size: 8192,
      num_hidden_layers: 60,
      num_attention_heads: 128,
      num_kv_heads: 8,
    },
  ],
  ['GPT-J 6B', 6050882784, { model_type: 'gptj' }],
  ['BLOOM 560M', 559214592, { model_type: 'bloom', hidden_size: 1024, n_layer: 24, n_head: 16 }],
  ['OPT 125M', 125239296, { model_type: 'opt' }],
  ['MPT 7B', 6649286656, { model_type: 'mpt', d_model: 4096, n_layers: 32, n_heads: 32, vocab_size: 50432, attn_config: { alibi: true } }],
  ['StarCoder2 3B', 3030371328, { model_type: 'starcoder2' }],
  ['StableLM 3B', 2795443200, { model_type: 'stablelm' }],
  ['Phi-3 mini', 3821079552, { model_type: 'phi3' }],
  ['GPT-Neo 125M', 125198592, { model_type: 'gpt_neo', hidden_size: 768, num_layers: 12, num_heads: 12 }],
];

describe('parameter counts of families', () => {
  for (const [name, parameters, config] of published) {
    it(`equal those published for ${name}`, () => {
      const { model, traits } = readHuggingFace('config.json', JSON.stringify(config));
      assert.equal(parameterCount(toModelSpec(model, traits)), parameters);
    });
  }
});
