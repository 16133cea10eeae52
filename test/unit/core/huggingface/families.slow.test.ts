import assert from 'node:assert/strict';
import { families } from '../../../../src/core/huggingface/families';
import type { FactName } from '../../../../src/core/run/facts';
import { countModelParameters } from '../../../../src/core/huggingface/count';
import { factsOfHuggingFace, readHuggingFace } from '../../../../src/core/huggingface/reader';
import { toModelSpec } from '../../../../src/core/run/written-model';
import { ExpectedError } from '../../../../src/core/errors';
import { say, sentence } from '../../../../src/core/sentence';
import { plainValues } from '../../../../src/core/domain/located';
import { parameterCount } from '../../../../src/core/model/parameters';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { load } from '../config-files/files';
import { plainSource } from '../../sentence-text';

function read(config: object) {
  return readHuggingFace('config.json', JSON.stringify(config));
}

function model(config: object) {
  return plainValues(read(config).model);
}

function facts(config: object): Partial<Record<FactName, unknown>> {
  return Object.fromEntries(Object.entries(read(config).facts).map(([name, { value }]) => [name, value]));
}

function codes(config: object): readonly string[] {
  return read(config).remarks.map(({ code }) => code);
}

/** `count` published for a model; planning may differ by norms and biases. */
function assertParameters(config: object, count: number): void {
  const ours = parameterCount(toModelSpec(read(config).model));
  assert.ok(Math.abs(ours / count - 1) < 2e-4, `${JSON.stringify(config)}: ${ours}, published ${count}`);
}

describe('families of HuggingFace configs', () => {
  it('count the parameters that publishers count', () => {
    assertParameters({ model_type: 'falcon', num_attention_heads: 71 }, 6_921_720_704);
    assertParameters({ model_type: 'gptj' }, 6_050_882_784);
    assertParameters({ model_type: 'gpt_bigcode', n_layer: 40, n_embd: 6144, n_head: 48, n_positions: 8192, vocab_size: 49152, n_inner: 24576 }, 15_517_456_384); // prettier-ignore
    assertParameters({ model_type: 'phi', hidden_size: 2560, intermediate_size: 10240, num_hidden_layers: 32 }, 2_779_683_840);
    assertParameters({ model_type: 'phi3', vocab_size: 32064 }, 3_821_079_552);
    assertParameters({ model_type: 'gemma', hidden_size: 2048, intermediate_size: 16384, num_hidden_layers: 18, num_attention_heads: 8, num_key_value_heads: 1 }, 2_506_172_416); // prettier-ignore
    assertParameters({ model_type: 'gemma2' }, 2_614_341_888);
    assertParameters({ model_type: 'opt' }, 125_239_296);
    assertParameters({ model_type: 'bloom', n_embed: 4096, n_layer: 30, num_attention_heads: 32 }, 7_069_016_064);
    assertParameters({ model_type: 'starcoder2' }, 3_030_371_328);
    assertParameters({ model_type: 'mpt', d_model: 4096, n_heads: 32, n_layers: 32, vocab_size: 50432, attn_config: { alibi: true } }, 6_649_286_656); // prettier-ignore
  });

  it('count the parameters of models that are not planned', async () => {
    const count = async (config: object) => countModelParameters(await load({ 'config.json': JSON.stringify(config) }));
    assert.equal(await count({ model_type: 'deepseek_v3' }), 671_026_404_352);
    const lite = {
      model_type: 'deepseek_v2',
      vocab_size: 102400,
      hidden_size: 2048,
      intermediate_size: 10944,
      moe_intermediate_size: 1408,
      num_hidden_layers: 27,
      num_attention_heads: 16,
      q_lora_rank: null,
      first_k_dense_replace: 1,
      num_experts_per_tok: 6,
    };
    assert.equal(await count(lite), 15_706_484_224);
    assert.equal(await count({ model_type: 'qwen2_moe' }), 14_315_784_192);
    const small = { model_type: 'qwen2_moe', num_hidden_layers: 4, hidden_size: 16 };
    const sparse = await count(small);
    const dense = await count({ ...small, mlp_only_layers: [1], decoder_sparse_step: 2 });
    // Layers 0, 1 and 2 are dense: one network instead of 60 experts, their router, and the shared expert (as wide as it) with its gate.
    assert.equal(Number(sparse) - Number(dense), 3 * (60 * 3 * 16 * 1408 + 16 * 60 + 16));
    assert.equal(await count({ model_type: 'bert' }), 109_482_240);
    assert.equal(await count({ model_type: 't5' }), 60_506_624);
    assert.equal(await count({ ...small, layer_types: Array(4).fill('linear_attention') }), null);
    const hybrid = {
      model_type: 'x',
      hidden_size: 8,
      num_hidden_layers: 1,
      num_attention_heads: 1,
      mamba_d_state: 4,
      shared_intermediate_size: 8,
    };
    assert.equal(await count(hybrid), null);
    assert.equal(await count({ model_type: 'gpt2' }), 124_439_808);
  });

  it('know the key/value heads of both decoders of Falcon', () => {
    const kv = (config: object) => model({ model_type: 'falcon', num_attention_heads: 128, ...config }).kvHeads;
    assert.equal(kv({ num_kv_heads: 8, new_decoder_architecture: true }), 8);
    assert.equal(kv({ new_decoder_architecture: true }), 128);
    assert.equal(kv({ num_kv_heads: 71, multi_query: true }), 1);
    assert.equal(kv({ multi_query: false }), 128);
    assert.equal(model({ model_type: 'falcon', alibi: true }).positions, 'none');
    const { source } = read({ model_type: 'falcon', multi_query: true }).model.kvHeads;
    assert.deepEqual(source.kind === 'file' ? source.key : source, 'multi_query');
  });

  it('take one key/value head of GPTBigCode unless multi_query is off', () => {
    assert.equal(model({ model_type: 'gpt_bigcode' }).kvHeads, 1);
    assert.equal(model({ model_type: 'gpt_bigcode', n_head: 16, multi_query: false }).kvHeads, 16);
  });

  it('read the ranks of latent attention under both names of the experts', () => {
    const v3 = facts({ model_type: 'deepseek_v3' });
    assert.deepEqual([v3.qLoraRank, v3.kvLoraRank, v3.vHeadDim, v3.latentAttention], [1536, 512, 128, true]);
    assert.deepEqual([v3.experts, v3.sharedExperts, v3.firstDenseLayers, v3.headDim, v3.mtpLayers], [256, 1, 3, undefined, undefined]);
    const other = facts({ model_type: 'deepseek_v3', num_routed_experts: 8, num_shared_experts: 2, num_nextn_predict_layers: 1 });
    assert.deepEqual([other.experts, other.sharedExperts, other.mtpLayers], [8, 2, 1]);
    const v2 = facts({ model_type: 'deepseek_v2', n_routed_experts: 16, n_shared_experts: 4, q_lora_rank: null });
    assert.deepEqual([v2.experts, v2.sharedExperts, v2.qLoraRank, v2.firstDenseLayers], [16, 4, undefined, 0]);
    const dense = facts({ model_type: 'deepseek_v2', n_routed_experts: null, num_experts_per_tok: 6 });
    assert.deepEqual([dense.experts, dense.activeExperts, dense.expertFfn], [undefined, undefined, undefined]);
  });

  it('read encoders and decoders of T5 and BART', () => {
    const t5 = facts({ model_type: 't5', num_layers: 24, d_model: 1024, d_kv: 128, d_ff: 65536, num_heads: 128 });
    assert.deepEqual([t5.layers, t5.encoderLayers, t5.decoderLayers, t5.headDim, t5.ffn, t5.gatedMlp], [24, 24, 24, 128, 65536, false]);
    assert.equal(facts({ model_type: 't5', num_layers: 4, num_decoder_layers: 2 }).decoderLayers, 2);
    assert.equal(facts({ model_type: 't5', feed_forward_proj: 'gated-gelu' }).gatedMlp, true);
    const bart = facts({ model_type: 'bart', encoder_layers: 6, decoder_layers: 3, encoder_attention_heads: 8, encoder_ffn_dim: 512 });
    assert.deepEqual([bart.encoderLayers, bart.decoderLayers, bart.heads, bart.ffn, bart.hidden], [6, 3, 8, 512, 1024]);
  });

  it('read the language model of multimodal configs', () => {
    const text_config = { model_type: 'mllama_text_model', num_hidden_layers: 5, cross_attention_layers: [1, 3] };
    const mllama = { model_type: 'mllama', text_config, vision_config: { hidden_size: 1280 } };
    assert.deepEqual([model(mllama).modelType, model(mllama).layers, model(mllama).kvHeads], ['mllama_text_model', 5, 8]);
    assert.deepEqual(facts(mllama).attentionKinds, ['full_attention', 'cross_attention', 'full_attention', 'cross_attention', 'full_attention']); // prettier-ignore
    assert.deepEqual(codes(mllama), ['model-approximated', 'model-approximated']);
    const gemma = { model_type: 'gemma3', text_config: { hidden_size: 2560, num_hidden_layers: 34 } };
    assert.deepEqual([model(gemma).modelType, model(gemma).hidden, model(gemma).headDim], ['gemma3_text', 2560, 256]);
    const vl = { model_type: 'qwen2_vl', hidden_size: 1536, num_hidden_layers: 28, num_attention_heads: 12, vision_config: {} };
    assert.deepEqual([model(vl).modelType, model(vl).hidden], ['qwen2_vl', 1536]);
    const tied = { model_type: 'qwen3_vl', tie_word_embeddings: true, text_config: { hidden_size: 64 } };
    assert.equal(model(tied).tiedEmbeddings, true);
    const inner = { ...tied, text_config: { tie_word_embeddings: false } };
    assert.equal(model(inner).tiedEmbeddings, true, 'transformers 5 follows the whole file');
    assert.equal(model({ ...inner, transformers_version: '5.0.0' }).tiedEmbeddings, true);
    assert.equal(model({ ...inner, transformers_version: '4.57.1' }).tiedEmbeddings, false, 'earlier ones follow text_config');
    assert.equal(model({ ...inner, tie_word_embeddings: null }).tiedEmbeddings, false);
    assert.equal(model({ model_type: 'llama', text_config: 'none' }).modelType, 'llama');
  });

  it('give the kind of every layer', () => {
    const kinds = (config: object) => facts(config).attentionKinds;
    const [full, sliding] = ['full_attention', 'sliding_attention'];
    assert.deepEqual(kinds({ model_type: 'gemma2', num_hidden_layers: 4 }), [sliding, full, sliding, full]);
    assert.deepEqual(kinds({ model_type: 'gemma3_text', num_hidden_layers: 7 }), [...Array<string>(5).fill(sliding), full, sliding]);
    assert.deepEqual(kinds({ model_type: 'gemma3_text', num_hidden_layers: 3, sliding_window_pattern: 2 }), [sliding, full, sliding]);
    assert.deepEqual(kinds({ model_type: 'gpt_oss', num_hidden_layers: 2, layer_types: [full, sliding] }), [full, sliding]);
    assert.deepEqual(kinds({ model_type: 'qwen2', num_hidden_layers: 3, use_sliding_window: true, max_window_layers: 1 }), [full, sliding, sliding]); // prettier-ignore
    assert.equal(kinds({ model_type: 'qwen2', num_hidden_layers: 3, max_window_layers: 1 }), undefined);
    assert.equal(kinds({ model_type: 'llama' }), undefined);
    assert.ok(codes({ model_type: 'gpt_oss', num_hidden_layers: 3, layer_types: [full, sliding] }).includes('layer-types-length'));
    assert.ok(!codes({ model_type: 'gpt_oss', num_hidden_layers: 2, layer_types: [full, sliding] }).includes('layer-types-length'));
  });

  it('name which layers attend to a window, and plan them so', () => {
    const kinds = read({ model_type: 'gpt_oss', num_hidden_layers: 4 }).traits.layerKinds;
    assert.deepEqual(
      kinds?.map(({ window }) => window),
      [128, null, 128, null],
    );
    assert.equal(read({ model_type: 'llama' }).traits.layerKinds, undefined);
    const wide = facts({ model_type: 'mistral', sliding_window: 4096, max_position_embeddings: 4096 });
    assert.deepEqual([wide.slidingWindow, wide.slidingWindowActive], [4096, false]);
    const mistral = facts({ model_type: 'mistral' });
    assert.deepEqual([mistral.slidingWindow, mistral.slidingWindowActive], [4096, true]);
    assert.equal(facts({ model_type: 'qwen2', use_sliding_window: false }).slidingWindow, undefined);
  });

  it('recognise a type that is not written by its keys, and report it', () => {
    const bert = { hidden_size: 1024, num_hidden_layers: 24, num_attention_heads: 16, intermediate_size: 4096, type_vocab_size: 2 };
    assert.deepEqual([model(bert).modelType, model(bert).positions], ['bert', 'learned']);
    assert.ok(codes(bert).includes('model-type-inferred'));
    assert.equal(model({ d_model: 512, d_kv: 64, d_ff: 2048 }).modelType, 't5');
    const llama = { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4, intermediate_size: 128, vocab_size: 100 };
    assert.deepEqual([model(llama).modelType, model(llama).ffn], ['llama', 128]);
    assert.throws(() => read({ hidden_size: 64 }), { code: 'config-unknown-model-type' });
  });

  it('read a type nobody knows as a Llama when it has the usual keys', () => {
    const config = { model_type: 'brandnew', hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4 };
    const { model: found, facts, remarks, assumedFields } = read({ ...config, intermediate_size: 128 });
    assert.deepEqual([found.layers.value, found.ffn.value, found.vocab.value, found.gatedMlp.value], [2, 128, 0, true]);
    assert.deepEqual(plainSource(found.gatedMlp), { kind: 'default', reason: 'as in Llama: the model type is not known' });
    assert.deepEqual([facts.vocab, assumedFields], [undefined, ['vocab', 'tiedEmbeddings']]);
    assert.deepEqual(
      remarks.map(({ code, severity }) => [code, severity]),
      [['config-unknown-model-type', 'warning']],
    );
    const counted = { ...config, intermediate_size: 128, vocab_size: 100 };
    const guess = (more: object) => say(read({ ...counted, ...more }).remarks[0]?.message ?? sentence``);
    assert.match(guess({}), /sizes, 72,256 to 95,040 parameters/);
    assert.match(guess({ tie_word_embeddings: true }), /sizes, 72,256 to 88,640 parameters/);
    assert.deepEqual(
      [model({ ...counted, hidden_act: 'relu2' }).gatedMlp, model({ ...counted, hidden_act: 'silu' }).gatedMlp],
      [false, true],
    );
    assert.equal(model({ ...counted, moe_num_experts: 8, moe_k: 2 }).experts, 8);
    assert.equal(model({ ...config, num_local_experts: 8, num_experts_per_tok: 2 }).experts, 8);
    assert.equal(model({ ...config, vocab_size: null, num_key_value_heads: 'two', tie_word_embeddings: 3 }).kvHeads, 4);
    for (const heads of [undefined, '4', 0, 1e308, [4]])
      assert.throws(() => read({ ...config, num_attention_heads: heads }), { code: 'config-unknown-model-type' });
  });

  it('keep the family when a size is given again', async () => {
    const config = { model_type: 'brandnew', hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4 };
    const override = { model: { from: 'config.json', layers: 6 }, layout: { pipeline: 2 } };
    const run = await load({ 'terapipe.json': JSON.stringify(override), 'config.json': JSON.stringify(config) });
    assert.deepEqual([run.model.layers.value, run.model.gatedMlp.value, run.model.norm.value], [6, true, 'rmsnorm']);
  });

  it('refuse to plan what planning has no word for, at the reason', async () => {
    const defaults = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;
    const refused = async (config: object): Promise<string> => {
      const text = JSON.stringify(config);
      const run = await load({ 'config.json': text });
      try {
        resolveRun(run, defaults);
      } catch (error) {
        if (!(error instanceof ExpectedError)) throw error;
        assert.equal(error.code, 'model-not-planned');
        assert.equal((run.remarks ?? []).at(-1)?.code, 'model-not-planned');
        return text.slice(error.place?.range.start, error.place?.range.end);
      }
      return 'planned';
    };
    const small = { hidden_size: 64, num_hidden_layers: 2, num_attention_heads: 4 };
    assert.equal(await refused({ model_type: 'deepseek_v3', kv_lora_rank: 77 }), 'planned');
    assert.equal(await refused({ model_type: 'x', ...small, kv_lora_rank: 77 }), '77');
    assert.equal(await refused({ model_type: 'bert' }), '"bert"');
    assert.equal(await refused({ model_type: 't5' }), 'planned');
    assert.equal(await refused({ model_type: 'x', ...small, is_encoder_decoder: true }), 'true');
    assert.equal(await refused({ model_type: 'mbart', is_encoder_decoder: false }), 'false');
    assert.equal(await refused({ model_type: 'vit' }), '"vit"');
    assert.equal(await refused({ model_type: 'qwen2_moe', ...small }), 'planned');
    assert.equal(await refused({ model_type: 'x', ...small, num_experts: 4, num_experts_per_tok: 1, first_k_dense_replace: 1 }), 'planned');
    assert.equal(await refused({ model_type: 'qwen3', ...small, layer_types: ['linear_attention', 'full_attention'] }), '["linear_attention","full_attention"]'); // prettier-ignore
    assert.equal(await refused({ model_type: 'x', ...small, mamba_d_state: 16 }), '16');
    assert.equal(await refused({ model_type: 'x', ...small, hybrid_override_pattern: 'M*' }), '"M*"');
    assert.equal(await refused({ model_type: 'x', ...small, layers_block_type: ['mamba', 'attention'] }), '["mamba","attention"]');
    assert.equal(await refused({ model_type: 'x', ...small, architectures: ['XForImageClassification'] }), '["XForImageClassification"]');
    assert.equal(await refused({ model_type: 'x', ...small, architectures: ['XForCausalLM'] }), 'planned');
    assert.equal(await refused({ model_type: 'falcon', num_hidden_layers: 2, num_attention_heads: 71 }), 'planned');
  });

  it('give facts with their places for joining with a launcher', () => {
    const text = JSON.stringify({ model_type: 'llama', num_hidden_layers: 8, num_key_value_heads: 2 }, null, 2);
    const launcher = factsOfHuggingFace(readHuggingFace('config.json', text));
    const { kvHeads, layers, heads } = launcher.facts;
    assert.deepEqual([launcher.format, kvHeads?.name, kvHeads?.value, heads?.source.kind], ['huggingface', 'num_key_value_heads', 2, 'default']); // prettier-ignore
    assert.ok(layers?.source.kind === 'file');
    assert.equal(text.slice(layers.source.place.range.start, layers.source.place.range.end), '8');
    assert.equal(text.slice(launcher.place.range.start, launcher.place.range.end), '"llama"');
  });

  it('answer hostile values with an error that has a place, in every family', () => {
    const values = [-1, 0, 1.5, 1e308, '12', true, [], {}, [1, 'x'], null, ''];
    const keys = [
      'hidden_size',
      'n_embd',
      'num_hidden_layers',
      'n_head',
      'kv_lora_rank',
      'layer_types',
      'sliding_window',
      'multi_query',
      'sliding_window_pattern',
      'cross_attention_layers',
      'attn_config',
      'expansion_ratio',
      'feed_forward_proj',
      'text_config',
      'mlp_only_layers',
      'max_window_layers',
      'architectures',
      'num_decoder_layers',
      'n_routed_experts',
      'tie_word_embeddings',
    ];
    for (const [family, model_type] of Object.keys(families).entries())
      for (const key of keys)
        for (const value of values.filter((_, index) => index % 4 === family % 4)) {
          try {
            read({ model_type, [key]: value });
          } catch (error) {
            assert.ok(error instanceof ExpectedError && error.place !== undefined, `${model_type} ${key} ${JSON.stringify(value)}: ${String(error)}`); // prettier-ignore
          }
        }
    for (const nested of [
      '{"model_type":"mllama","text_config":{"__proto__":{},"hidden_size":8}}',
      '{"model_type":"mpt","attn_config":{"a":1,"a":2}}',
    ])
      assert.throws(() => readHuggingFace('config.json', nested), /__proto__|twice/);
  });
});
