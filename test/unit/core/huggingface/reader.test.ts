import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../../src/core/errors';
import { readHuggingFace } from '../../../../src/core/huggingface/reader';
import { families } from '../../../../src/core/huggingface/families';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { plainValues } from '../../../../src/core/domain/located';
import { parameterCount } from '../../../../src/core/model/parameters';
import { fixtures } from '../config-files/files';
import { say } from '../../../../src/core/sentence';
import { plainSource } from '../../sentence-text';

function read(config: object) {
  return readHuggingFace('config.json', JSON.stringify(config));
}

describe('HuggingFace config reader', () => {
  it('keeps the place of every value', () => {
    const file = path.join(fixtures, 'gpt2-tiny/config.json');
    const text = readFileSync(file, 'utf8');
    const { model } = readHuggingFace(file, text);
    assert.equal(model.layers.value, 6);
    assert.equal(model.layers.source.kind, 'file');
    const { place, key } = model.layers.source;
    assert.equal(key, 'n_layer');
    assert.equal(text.slice(place.range.start, place.range.end), '6');
    assert.equal(model.ffn.value, 1024);
    assert.deepEqual(plainSource(model.ffn), { kind: 'default', reason: 'GPT2Config: without n_inner, 4 times the hidden size' });
    assert.deepEqual(plainSource(model.tiedEmbeddings), { kind: 'default', reason: 'GPT2Config default: tie_word_embeddings true' });
  });

  it('reads what no size gives: rotary base, its scaling, the rotated share, the epsilon of the norms', () => {
    const scaling = { rope_type: 'llama3', factor: 8, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 };
    const llama3 = { kind: 'llama3', factor: 8, lowFrequencyFactor: 1, highFrequencyFactor: 4, originalPositions: 8192 };
    const old = read({ model_type: 'llama', rope_theta: 500000, rms_norm_eps: 1e-5, rope_scaling: scaling });
    const [rotary, normEpsilon] = [{ base: 500_000, scaling: llama3 }, 1e-5];
    assert.deepEqual([old.traits.rotary, old.traits.normEpsilon], [rotary, normEpsilon]);
    const rope = { ...scaling, rope_theta: 500000 };
    assert.deepEqual(read({ model_type: 'llama', rope_parameters: rope }).traits.rotary, rotary);
    const neox = read({ model_type: 'gpt_neox', rotary_pct: 0.25, rotary_emb_base: 10000, layer_norm_eps: 1e-5 });
    assert.deepEqual(neox.traits.rotary, { base: 10_000, share: 0.25 });
    const none = read({ model_type: 'llama', rope_theta: 'x', rope_scaling: null, rms_norm_eps: -1 });
    assert.deepEqual([none.traits.rotary, none.traits.normEpsilon], [{ base: 10_000 }, 1e-6]);
  });

  it('shows for a template that its sizes are to be filled in, and of broken JSON that it is broken', () => {
    const code = (text: string) => {
      try {
        readHuggingFace('config.json', text);
      } catch (error) {
        return error instanceof ExpectedError ? error.code : 'thrown';
      }
      return null;
    };
    assert.equal(code('{ "model_type": "llama", "hidden_size": CONFIG_HIDDEN, "num_hidden_layers": 3 }'), 'model-not-planned');
    assert.equal(code('{ "model_type": "llama", "hidden_size": , "num_hidden_layers": 3 }'), 'config-json-syntax');
  });

  it('fills each family by its documented defaults', () => {
    const parameters = Object.fromEntries(
      Object.keys(families).map((name) => [name, parameterCount(toModelSpec(read({ model_type: name }).model))]),
    );
    // What the class of each family instantiated with its defaults reports as num_parameters().
    assert.equal(parameters['gpt2'], 124_439_808);
    assert.equal(parameters['llama'], 6_738_415_616);
    assert.equal(parameters['mistral'], 7_241_732_096);
    assert.equal(parameters['gpt_neox'], 20_554_567_680);
    assert.equal(parameters['mixtral'], 46_702_792_704);
  });

  it('knows where each family has biases and norms', () => {
    const traitsOf = (name: string): object => {
      const { qkvBias, attentionOutputBias, mlpBias, norm, qkNorm, positions, gatedMlp } = plainValues(read({ model_type: name }).model);
      return { qkvBias, attentionOutputBias, mlpBias, norm, qkNorm, positions, gatedMlp };
    };
    const gpt = { qkvBias: true, attentionOutputBias: true, mlpBias: true, norm: 'layernorm', qkNorm: false, gatedMlp: false };
    const llama = { qkvBias: false, attentionOutputBias: false, mlpBias: false, norm: 'rmsnorm', qkNorm: false, gatedMlp: true };
    const [learned, rotary, none] = (['learned', 'rotary', 'none'] as const).map((positions) => ({ positions }));
    const plain = { qkvBias: false, attentionOutputBias: false, mlpBias: false };
    const alike = (names: readonly string[], trait: object) => Object.fromEntries(names.map((name) => [name, trait]));
    const expected = {
      ...alike(['gpt2', 'gpt_bigcode', 'opt', 'bert', 'roberta', 'camembert', 'xlm-roberta', 'distilbert'], { ...gpt, ...learned }),
      ...alike(['vit', 'bart', 'mbart', 'whisper'], { ...gpt, ...learned }),
      ...alike(['marian', 'pegasus', 'm2m_100'], { ...gpt, ...none }),
      gpt_neo: { ...gpt, ...learned, qkvBias: false },
      mpt: { ...gpt, ...plain, ...none },
      bloom: { ...gpt, ...none },
      ...alike(['gpt_neox', 'phi', 'starcoder2'], { ...gpt, ...rotary }),
      ...alike(['falcon', 'nemotron'], { ...gpt, ...plain, ...rotary }),
      ...alike(['gptj', 'codegen'], { ...gpt, ...plain, ...rotary, mlpBias: true }),
      ...alike(['llama', 'mistral', 'mixtral', 'phi3', 'gemma', 'gemma2', 'granite', 'mllama_text_model'], { ...llama, ...rotary }),
      ...alike(['llama4_text', 'deepseek_v2', 'deepseek_v3', 'kimi_k2'], { ...llama, ...rotary }),
      ...alike(['qwen2', 'qwen2_moe', 'qwen2_vl', 'qwen2_vl_text', 'qwen2_5_vl', 'qwen2_5_vl_text'], {
        ...llama,
        ...rotary,
        qkvBias: true,
      }),
      ...alike(['qwen3', 'qwen3_moe', 'qwen3_vl_text', 'qwen3_vl_moe_text', 'gemma3_text', 'olmo2'], { ...llama, ...rotary, qkNorm: true }),
      ...alike(['olmo', 'stablelm', 'cohere', 'cohere2'], { ...llama, ...rotary, norm: 'layernorm' }),
      gpt_oss: { ...llama, ...rotary, qkvBias: true, attentionOutputBias: true, mlpBias: true },
      ...alike(['bamba', 'falcon_h1', 'minimax', 'zamba', 'zamba2'], { ...llama, ...rotary }),
      qwen3_next: { ...llama, ...rotary, qkNorm: true },
      ...alike(['jamba', 'granitemoehybrid'], { ...llama, ...none }),
      ...alike(['mamba', 'mamba2', 'falcon_mamba', 'nemotron_h'], { ...llama, ...none, gatedMlp: false }),
      rwkv: { ...llama, ...none, norm: 'layernorm', gatedMlp: false },
      t5: { ...llama, ...none, gatedMlp: false },
      ...alike(['mt5', 'umt5'], { ...llama, ...none }),
    };
    for (const [name, trait] of Object.entries(expected)) assert.deepEqual(traitsOf(name), trait, name);
  });

  it('takes attention_bias and mlp_bias where the family has them', () => {
    const llama = plainValues(read({ model_type: 'llama', attention_bias: true, mlp_bias: true }).model);
    assert.deepEqual([llama.qkvBias, llama.attentionOutputBias, llama.mlpBias], [true, true, true]);
    const mistral = plainValues(read({ model_type: 'mistral', attention_bias: true }).model);
    assert.equal(mistral.qkvBias, false);
  });

  it('reads null as transformers does', () => {
    const mistral = plainValues(read({ model_type: 'mistral', num_key_value_heads: null, head_dim: null }).model);
    assert.deepEqual([mistral.kvHeads, mistral.headDim], [32, 128]);
    const llama = plainValues(read({ model_type: 'llama', num_key_value_heads: null, num_attention_heads: 16 }).model);
    assert.deepEqual([llama.kvHeads, llama.headDim], [16, 256]);
    assert.throws(() => read({ model_type: 'llama', num_hidden_layers: null }), { code: 'config-wrong-type' });
  });

  it('accepts the aliases of GPT-2 attributes', () => {
    const model = plainValues(
      read({ model_type: 'gpt2', hidden_size: 128, num_hidden_layers: 2, num_attention_heads: 4, n_ctx: 64 }).model,
    );
    assert.deepEqual([model.hidden, model.layers, model.heads, model.maxPositions], [128, 2, 4, 64]);
  });

  it('takes early GPT-2 configs without model_type', () => {
    assert.equal(plainValues(read({ n_embd: 64, n_layer: 2 }).model).modelType, 'gpt2');
  });

  it('reads experts, their number active and their width', () => {
    const mixtral = read({ model_type: 'mixtral', num_local_experts: 16, num_experts_per_tok: 4 });
    assert.deepEqual(toModelSpec(mixtral.model).experts, { count: 16, active: 4 });
    assert.equal(toModelSpec(mixtral.model).ffn, 14336);
    const qwen = toModelSpec(read({ model_type: 'qwen3_moe', moe_intermediate_size: 1536, intermediate_size: 4096 }).model);
    assert.deepEqual([qwen.experts, qwen.ffn, qwen.layers, qwen.kvHeads, qwen.headDim], [{ count: 128, active: 8 }, 1536, 24, 4, 64]);
    assert.equal(toModelSpec(read({ model_type: 'llama' }).model).experts, null);
    assert.throws(() => read({ model_type: 'mixtral', num_local_experts: 0 }), { code: 'config-out-of-range' });
  });

  it('reports the layers of a mixture of experts that are dense', () => {
    const dense = (config: object) => read({ model_type: 'qwen3_moe', num_hidden_layers: 4, ...config }).traits.layerKinds?.map(({ feedForward }) => feedForward === 'dense'); // prettier-ignore
    assert.equal(dense({ decoder_sparse_step: 1, mlp_only_layers: [] }), undefined);
    assert.equal(dense({ mlp_only_layers: null }), undefined);
    assert.deepEqual(dense({ decoder_sparse_step: 2 }), [true, false, true, false]);
    assert.deepEqual(dense({ mlp_only_layers: [0, 3] }), [true, false, false, true]);
    assert.throws(() => read({ model_type: 'qwen3_moe', mlp_only_layers: 'all' }), { code: 'config-wrong-type' });
  });

  it('notices a misspelt size, and only that', () => {
    const { remarks } = read({
      model_type: 'llama',
      num_hiden_layers: 8,
      hidden_act: 'silu',
      rope_theta: 1e4,
      use_cache: true,
      bos_token_id: 1,
    });
    assert.deepEqual(
      remarks.map(({ code, remedy }) => [code, say(remedy)]),
      [['unknown-key', 'did you mean "num_hidden_layers"?']],
    );
  });

  it('takes a sliding window where the model uses one', () => {
    const window = (config: object) => read(config).traits.layerKinds?.[0]?.window;
    assert.equal(window({ model_type: 'mistral', sliding_window: 4096 }), 4096);
    assert.equal(window({ model_type: 'mistral', sliding_window: null }), undefined);
    assert.equal(window({ model_type: 'qwen2', sliding_window: 4096 }), undefined);
    assert.equal(window({ model_type: 'qwen2', sliding_window: 4096, use_sliding_window: true }), 4096);
  });
});
