import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { readCerebras } from '../../../../src/core/launchers/cerebras/cerebras';
import { readLevanter } from '../../../../src/core/launchers/levanter/levanter';
import { maxtext } from '../../../../src/core/launchers/maxtext';
import { readMaxtext } from '../../../../src/core/launchers/maxtext/maxtext';
import { parameterCount } from '../../../../src/core/model/parameters';
import { applyOverrides } from '../../../../src/core/terapipe/overrides';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { PlanRequest } from '../../../../src/core/domain/request';
import type { LauncherFile, LauncherReader } from '../../../../src/core/run/facts';
import { readerOf } from '../config-files/files';
import { shellReader } from './shell/shell-reader';

const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers', name), 'utf8');
const values = ({ facts }: LauncherFile, ...names: readonly string[]): unknown[] =>
  names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);
const open = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

let shell: LauncherReader;

async function request(file: string, text: string, nodes: number): Promise<PlanRequest> {
  const { run } = await loadConfig(file, text, { read: readerOf({}), shell: () => Promise.resolve(shell) });
  assert.ok(run !== null);
  assert.throws(() => resolveRun(run, open), /TPU|Cerebras/);
  return resolveRun(applyOverrides(run, [`cluster.gpu=H100-80GB`, `cluster.nodes=${nodes}`]), open);
}

describe('MaxText', () => {
  before(async () => {
    shell = await shellReader();
  });

  it('gives a model by the names of base.yml, planned where a GPU is named', async () => {
    const { model, training } = await request('llama3.1-70b.yml', fixture('maxtext.yml'), 8);
    assert.deepEqual([model.layers, model.hidden, model.heads, model.kvHeads, model.ffn, model.vocab], [80, 8192, 64, 8, 28672, 128256]);
    assert.deepEqual([model.gatedMlp, model.norm, training.microBatch, training.sequenceLength, training.recompute], [true, 'rmsnorm', 12, 2048, 'full']); // prettier-ignore
  });

  it('scales base.yml by powers of two: heads, then width, then layers', async () => {
    const { model, layout, training } = await request('256b.sh', fixture('maxtext.sh'), 4);
    assert.deepEqual([model.layers, model.hidden, model.heads, model.ffn], [64, 16384, 128, 57344]);
    assert.deepEqual([layout.tensor, layout.data, training.microBatch, training.globalBatch], [8, 4, 16, 64]);
  });

  it('takes GPT-3 for what it is', () => {
    const gpt = 'decoder_block: "gpt3"\nbase_emb_dim: 16\nbase_num_query_heads: 2\nbase_num_kv_heads: 2\nbase_num_decoder_layers: 1\nbase_mlp_dim: 64\nmlp_activations: ["gelu"]\nlogits_via_embedding: true\n'; // prettier-ignore
    assert.deepEqual(values(readMaxtext('gpt3-52k.yml', gpt), 'norm', 'positions', 'bias', 'gatedMlp', 'tiedEmbeddings'), ['layernorm', 'learned', true, false, true]); // prettier-ignore
  });

  it('takes the sequences of its own smaller GPT-3', () => {
    const length = (name: string, more = ''): unknown[] =>
      values(readMaxtext('a.yml', `base_config: base.yml\nmodel_name: ${name}\n${more}`), 'sequenceLength');
    assert.deepEqual(['gpt3-22b', 'gpt3-6b', 'gpt3-175b'].map((name) => length(name)), [[1024], [1024], [undefined]]); // prettier-ignore
    assert.deepEqual(length('gpt3-6b', 'max_target_length: 512\n'), [512]);
  });

  it('names its own GPT-3 and Llama 4', () => {
    const configs = ['gpt3-175b', 'llama4-17b-16e'].map((name) => maxtext.modelNamed?.(name, {}).config ?? '');
    assert.match(configs[0] ?? '', /"n_layer":96,"n_embd":12288,.*"vocab_size":50304/);
    assert.match(configs[1] ?? '', /"num_local_experts":16/);
  });

  it('gives no sizes of a block that is not planned, and names it', () => {
    const read = readMaxtext('gemma4-31b.yml', fixture('maxtext.yml').replace("'llama2'", 'gemma4'));
    assert.deepEqual([read.facts.layers, read.leftOut], [undefined, ['decoder_block: gemma4']]);
  });

  // src/maxtext/configs/models/qwen3-next-80b-a3b.yml; 79.67 billion parameters on the hub
  it('plans Gated DeltaNet, each fourth layer of which attends', async () => {
    const sizes = 'decoder_block: qwen3_next\nbase_emb_dim: 2048\nbase_num_decoder_layers: 48\nbase_num_query_heads: 16\nbase_num_kv_heads: 2\nhead_dim: 256\nvocab_size: 151936\nbase_mlp_dim: 512\nbase_moe_mlp_dim: 512\nnum_experts: 512\nshared_experts: 1\nnum_experts_per_tok: 10\n'; // prettier-ignore
    const state = 'inhomogeneous_layer_cycle_interval: 4\ngdn_conv_kernel_dim: 4\ngdn_key_head_dim: 128\ngdn_value_head_dim: 128\ngdn_num_key_heads: 16\ngdn_num_value_heads: 32\n'; // prettier-ignore
    const { model } = await request('qwen3-next-80b-a3b.yml', sizes + state, 4);
    assert.ok(Math.abs(parameterCount(model) / 79.67e9 - 1) < 2e-3, String(parameterCount(model)));
    assert.deepEqual(model.layerKinds?.slice(0, 4).map(({ mixer }) => mixer ?? 'attention'), ['state', 'state', 'state', 'attention']); // prettier-ignore
  });

  // src/maxtext/configs/models/envy-switch-large.yml
  it('has experts in the last layer of each interleave_moe_layer_step', async () => {
    const envy = 'decoder_block: envy\nbase_emb_dim: 2048\nbase_num_decoder_layers: 4\nbase_num_query_heads: 16\nbase_num_kv_heads: 16\nbase_mlp_dim: 8192\nbase_moe_mlp_dim: 4096\nnum_experts: 8\nnum_experts_per_tok: 1\ninterleave_moe_layer_step: 2\n'; // prettier-ignore
    const { model } = await request('envy.yml', envy, 4);
    assert.deepEqual(model.layerKinds?.map(({ feedForward }) => feedForward), ['dense', 'experts', 'dense', 'experts']); // prettier-ignore
  });

  // src/maxtext/configs/models/llama4-17b-128e.yml
  it('plans Llama 4 with its experts in every other layer, and names its chunks where a sequence is longer', async () => {
    const llama = 'decoder_block: "llama4"\nbase_emb_dim: 5120\nbase_num_decoder_layers: 4\nbase_num_query_heads: 40\nbase_num_kv_heads: 8\nbase_mlp_dim: 16384\nbase_moe_mlp_dim: 8192\nvocab_size: 202048\nnum_experts: 128\nshared_experts: 1\nnum_experts_per_tok: 1\ninterleave_moe_layer_step: 2\nchunk_attn_window_size: 8192\n'; // prettier-ignore
    const { model } = await request('llama4.yml', llama, 4);
    assert.deepEqual([model.denseFfn ?? model.ffn, model.experts?.count, model.experts?.sharedFfn], [16384, 128, 8192]);
    assert.deepEqual(model.layerKinds?.map(({ feedForward }) => feedForward), ['dense', 'experts', 'dense', 'experts']); // prettier-ignore
    const leftOut = (length: string): unknown => readMaxtext('llama4.yml', llama + length).leftOut;
    assert.deepEqual([leftOut(''), leftOut('max_target_length: 8192\n')], [undefined, undefined]);
    assert.deepEqual(leftOut('max_target_length: 16384\n'), ['chunk_attn_window_size: 8192']);
    const own = 'use_qk_norm: true\nnope_layer_interval: 4\ntemperature_tuning: true\n';
    const { model: whole } = await request('llama4.yml', llama + own, 4);
    const { qkL2Norm, noRopeLayers, attentionTemperature, attentionChunk, routerScore, routerInputScaling } = whole.details ?? {};
    assert.deepEqual([qkL2Norm, noRopeLayers, attentionTemperature, attentionChunk, routerScore, routerInputScaling], [true, [3], 0.1, 8192, 'sigmoid', true]); // prettier-ignore
    assert.equal(whole.qkNorm, false);
  });

  // src/maxtext/configs/types.py 3575 to 3604
  it('stops where stages and their layers do not divide the layers of the pipeline', () => {
    const sizes = 'base_emb_dim: 1024\nbase_num_decoder_layers: 16\ndecoder_block: llama2\n';
    const codes = (more: string): string[] => readMaxtext('m.yml', sizes + more).remarks.map(({ code }) => code);
    assert.deepEqual(codes('ici_pipeline_parallelism: 3\n'), ['maxtext-stages']);
    assert.deepEqual(codes('ici_pipeline_parallelism: 4\nnum_layers_per_pipeline_stage: 3\n'), ['maxtext-stages']);
    assert.deepEqual(codes('ici_pipeline_parallelism: 4\nnum_pipeline_repeats: 2\n'), ['maxtext-stages']);
    assert.deepEqual(codes('ici_pipeline_parallelism: 4\nnum_layers_per_pipeline_stage: 2\nnum_pipeline_repeats: 2\n'), []);
    assert.deepEqual(codes('ici_pipeline_parallelism: 4\n'), []);
    assert.deepEqual(codes('ici_pipeline_parallelism: 5\npipeline_parallel_layers: 15\n'), []);
    assert.deepEqual(codes('ici_pipeline_parallelism: -1\n'), []);
    const deepseek = sizes.replace('llama2', 'deepseek');
    assert.deepEqual(
      readMaxtext('m.yml', `${deepseek}num_experts: 4\nfirst_num_dense_layers: 1\nici_pipeline_parallelism: 5\n`).remarks,
      [],
    );
  });

  it('scales the width of experts as that of feed-forward blocks', () => {
    const experts = 'base_emb_dim: 1024\nbase_num_decoder_layers: 8\ndecoder_block: mixtral\nnum_experts: 8\nbase_moe_mlp_dim: 512\n';
    assert.deepEqual(values(readMaxtext('m.yml', `${experts}global_parameter_scale: 4\n`), 'expertFfn', 'ffn', 'hidden'), [1024, 14336, 2048]); // prettier-ignore
    assert.deepEqual(values(readMaxtext('m.yml', experts), 'expertFfn', 'headDim'), [512, 128]);
  });

  it('repeats its stages until all layers are done', async () => {
    const virtualStages = async (written: string): Promise<number> => {
      const text = `${fixture('maxtext.yml')}\nici_pipeline_parallelism: 4\nnum_pipeline_microbatches: 8\n${written}`;
      return (await request('llama3.1-70b.yml', text, 8)).layout.virtualStages;
    };
    assert.equal(await virtualStages(''), 20);
    assert.equal(await virtualStages('num_layers_per_pipeline_stage: 5\n'), 4);
    assert.equal(await virtualStages('num_layers_per_pipeline_stage: 10\nnum_pipeline_repeats: 2\n'), 2);
    assert.equal(await virtualStages('num_layers_per_pipeline_stage: 20\n'), 1);
    const script = fixture('maxtext.sh').replace('global_parameter_scale', 'ici_pipeline_parallelism=2 num_layers_per_pipeline_stage=4 global_parameter_scale'); // prettier-ignore
    assert.equal((await request('256b.sh', script, 4)).layout.virtualStages, 8);
  });

  it('names layers outside of the pipeline', () => {
    const text = `${fixture('maxtext.yml')}\nici_pipeline_parallelism: 4\n`;
    assert.deepEqual(readMaxtext('a.yml', `${text}pipeline_parallel_layers: 76\n`).leftOut, ['pipeline_parallel_layers: 76']);
    assert.equal(readMaxtext('a.yml', `${text}pipeline_parallel_layers: 80\n`).leftOut, undefined);
  });

  it('names a published model', async () => {
    const run = 'base_config: "base.yml"\nmodel_name: "llama3.1-70b"\nhardware: "gpu"\nper_device_batch_size: 4\nmax_target_length: 8192\n';
    const { run: loaded } = await loadConfig('llama3_70b.yml', run, { read: readerOf({}), shell: () => Promise.resolve(shell) });
    assert.deepEqual([loaded?.model.layers.value, loaded?.training.sequenceLength?.value], [80, 8192]);
  });
});

describe('levanter', () => {
  it('gives a class of model with its defaults, and a batch of one pass of each device', async () => {
    const { model, training, layout } = await request('llama.yaml', fixture('levanter.yaml'), 4);
    assert.deepEqual([model.layers, model.ffn, model.kvHeads, layout.data], [32, 11008, 32, 32]);
    assert.deepEqual([training.globalBatch, training.microBatch, training.precision, training.recompute], [2048, 64, 'bf16', 'full']);
    const mistral = readLevanter('m.yaml', 'model:\n  type: mistral\ntrainer:\n  mp: p=f32,c=bfloat16\n  num_train_steps: 5\n');
    assert.deepEqual(values(mistral, 'ffn', 'kvHeads', 'sequenceLength'), [14336, 8, 8192]);
  });

  it('has GPT-2 with four times the width, biases and a tied head', () => {
    const text = 'model:\n  type: gpt2\n  hidden_dim: 1600\n  num_heads: 25\n  num_layers: 48\ntrainer:\n  mp: f32\n  num_train_steps: 5\n';
    assert.deepEqual(values(readLevanter('xl.yaml', text), 'ffn', 'bias', 'tiedEmbeddings', 'positions', 'precision'), [6400, true, true, 'learned', 'fp32']); // prettier-ignore
  });

  it('takes the model of the hub that it starts from, which true and false are not', () => {
    const read = (text: string): unknown[] => values(readLevanter('a.yaml', `${text}trainer:\n  num_train_steps: 5\n`), 'flavor', 'layers');
    assert.deepEqual(read('initialize_from_hf: true\nmodel:\n  type: llama\n'), [undefined, 32]);
    assert.deepEqual(read('initialize_from_hf: true\n'), [undefined, 12]);
    assert.deepEqual(read('initialize_from_hf: false\nmodel_name_or_path: Qwen/Qwen3-8B\n'), ['Qwen/Qwen3-8B', undefined]);
    const reference = 'model:\n  type: llama\n  reference_checkpoint: meta-llama/Llama-3.1-8B\n';
    assert.deepEqual(read(`initialize_from_hf: true\nuse_hf_model_config: true\n${reference}`), ['meta-llama/Llama-3.1-8B', undefined]);
    assert.deepEqual(read(`use_hf_model_config: true\n${reference}`), [undefined, 32]);
  });

  it('computes in fp32, and keeps no master weights where parameters have 16 bits', async () => {
    const text = fixture('levanter.yaml');
    const { training } = await request('a.yaml', text.replace(/^ *mp:.*\n/m, ''), 4);
    assert.equal(training.precision, 'fp32');
    const read = (mp: string): unknown[] => values(readLevanter('a.yaml', text.replace(/mp:.*/, `mp: ${mp}`)), 'precision', 'masterWeightBytes', 'gradAccumulationFp32'); // prettier-ignore
    assert.deepEqual(read('p=bf16,c=bfloat16'), ['bf16', 0, false]);
    assert.deepEqual(read('bfloat16'), ['bf16', 0, false]);
    assert.deepEqual(read('params=bfloat16'), ['bf16', 0, false]);
    assert.deepEqual(read('p=f32,c=bfloat16'), ['bf16', undefined, undefined]);
  });

  it('recomputes by words of a policy', () => {
    const read = (written: string): LauncherFile => readLevanter('a.yaml', `model:\n  type: llama\n  gradient_checkpointing: ${written}\ntrainer:\n  num_train_steps: 5\n`); // prettier-ignore
    assert.deepEqual(values(read('offload'), 'recomputeGranularity', 'cpuCheckpointing'), ['full', true]);
    assert.deepEqual(values(read('save_all'), 'recomputeGranularity', 'cpuCheckpointing'), ['none', undefined]);
    assert.deepEqual([values(read('nested'), 'recomputeGranularity'), read('nested').leftOut], [['full'], ['model.gradient_checkpointing: nested']]); // prettier-ignore
  });

  it('has replicas in a slice and over slices', () => {
    const read = (written: string): LauncherFile => readLevanter('a.yaml', `model:\n  type: llama\ntrainer:\n  num_train_steps: 5\n${written}`); // prettier-ignore
    assert.deepEqual(values(read('  replica_ici_axis_size: 2\n  replica_dcn_axis_size: 4\n'), 'dataReplicate'), [8]);
    assert.deepEqual(read('  replica_dcn_axis_size: -1\n').leftOut, ['trainer.replica_dcn_axis_size: -1']);
  });

  it('names a model that is not planned', () => {
    assert.deepEqual(readLevanter('b.yaml', 'model:\n  type: backpack\ntrainer:\n  num_train_steps: 5\n').leftOut, [
      'model.type: backpack',
    ]);
  });
});

describe("Cerebras' Model Zoo", () => {
  const text = fixture('cerebras.yaml');

  it('gives a decoder with its groups, gate, norm and biases, planned where a GPU is named', async () => {
    const { model, training } = await request('llama.yaml', text, 1);
    assert.deepEqual([model.layers, model.hidden, model.heads, model.kvHeads, model.ffn, model.vocab], [16, 2048, 32, 8, 8192, 128256]);
    assert.deepEqual([model.gatedMlp, model.norm, model.tiedEmbeddings, model.positions, training.globalBatch, training.sequenceLength], [true, 'rmsnorm', true, 'rotary', 1024, 8192]); // prettier-ignore
  });

  it('has one group without num_kv_groups, heads by their inner width, norms of queries and shared experts', async () => {
    const other = text
      .replace(/ {6}extra_attention_params:\n.*\n/, '      attention_inner_dim: 4096\n      attention_qk_norm_layer: rmsnorm\n')
      .replace('name: llama', 'name: llama\n      moe_params:\n        num_experts: 8\n        top_k: 2\n        num_shared_experts: 1');
    const { model } = await request('llama.yaml', other, 1);
    assert.deepEqual([model.kvHeads, model.headDim, model.qkNorm, model.experts], [1, 128, true, { count: 8, active: 2, sharedFfn: 8192 }]);
  });

  it('leaves open how GPUs share it: a batch for wafers need not divide over all of them', async () => {
    // params_bloom_7b.yaml has 135
    const { layout, assumptions, training } = await request('llama.yaml', text.replace(/batch_size: \d+/, 'batch_size: 135'), 1);
    assert.deepEqual([training.globalBatch, layout.tensor * layout.pipeline * layout.data, 135 % layout.data], [135, 8, 0]);
    assert.ok(assumptions.some(({ key }) => key === 'layout.tensor'));
  });

  it('slides a window in every other layer', async () => {
    const window = 'name: llama\n      attention_sliding_window_length: 1024\n      sliding_window_every_other_decoder_layer: true';
    const { model } = await request('llama.yaml', text.replace('name: llama', window), 1);
    assert.deepEqual(
      model.layerKinds?.slice(0, 3).map((kind) => kind.window),
      [1024, null, 1024],
    );
  });

  it('has biases of queries, keys and values without a key, and names those that only attention has', () => {
    const bare = text.replace(/ {6}use_projection.*\n/, '');
    assert.deepEqual([values(readCerebras('a.yaml', bare), 'bias', 'qkvBias'), readCerebras('a.yaml', bare).leftOut], [[false, true], undefined]); // prettier-ignore
    assert.deepEqual(readCerebras('a.yaml', text.replace(/ {6}use_ffn_bias_in.*\n/, '')).leftOut, ['trainer.init.model.use_ffn_bias_in_attention: true']); // prettier-ignore
  });

  // models/nlp/dpo/configs/params_zephyr_7b_dpo.yaml, models/multimodal/llava/configs
  it('takes the policy of DPO, and the language model of one that sees unless that is frozen', () => {
    const model = (name: string, section: string, more = ''): string =>
      `trainer:\n  init:\n    model:\n      name: ${name}\n${more}      ${section}:\n        name: mistral\n        num_hidden_layers: 32\n        hidden_size: 4096\n        use_ffn_bias: false\n  fit:\n    train_dataloader:\n      batch_size: 8\n`; // prettier-ignore
    const dpo = readCerebras('a.yaml', model('dpo', 'policy_model'));
    assert.deepEqual([values(dpo, 'layers', 'hidden', 'bias'), dpo.remarks.some(({ code }) => code === 'policy-alone')], [[32, 4096, false], true]); // prettier-ignore
    const sees = readCerebras('a.yaml', model('llava', 'text_model'));
    assert.deepEqual([values(sees, 'layers'), sees.leftOut?.includes('trainer.init.model.image_model')], [[32], true]);
    const frozen = readCerebras('a.yaml', model('llava', 'text_model', "      freeze:\n      - '^image_model'\n      - '^text_model'\n"));
    assert.deepEqual(values(frozen, 'layers'), [undefined]);
    const isPlanned = (pattern: string): boolean =>
      readCerebras('a.yaml', model('llava', 'text_model', `      freeze:\n      - '${pattern}'\n`)).facts.layers !== undefined;
    assert.deepEqual(['^text', 'text_', '.*', '^text_model.*', '(a+)+$', '^(?!image)'].map(isPlanned), Array(6).fill(false));
    assert.deepEqual(['^image_model', 'image', '^model', '^image_model\\.image_model_list'].map(isPlanned), Array(4).fill(true));
  });

  it('names a model that does not decode', () => {
    const read = readCerebras('t5.yaml', text.replace('name: llama', 'name: t5'));
    assert.deepEqual([read.facts.layers, read.leftOut], [undefined, ['trainer.init.model.name: t5']]);
  });
});
