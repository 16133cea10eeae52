import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import type { Facts } from '../../../../src/core/run/facts';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { recogniseConfig } from '../../../../src/core/config-files/readers';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../src/core/sentence';
import { editableFile, writtenInto } from '../../../../src/core/export/launchers/edit-launcher';
import { planWith } from '../export/launchers/plans';

const fixtures = path.join(import.meta.dirname, '../../../fixtures/launchers');
const fixture = (name: string): string => readFileSync(path.join(fixtures, name), 'utf8');

/** Loads the first of some files, which lie in a workspace together. */
async function load(files: Readonly<Record<string, string>>): Promise<LoadedConfig> {
  const [[file, text] = ['', '']] = Object.entries(files);
  const read = (from: string, written: string) => {
    const found = path.posix.join(path.posix.dirname(from), written);
    const content = files[found];
    if (content === undefined)
      return Promise.reject(new ExpectedError('config-not-found', sentence`There is no such file`, sentence`fix the path`));
    return Promise.resolve({ file: found, text: content });
  };
  return loadConfig(file, text, { read, shell: () => Promise.reject(new Error('no script')) });
}

function valuesOf(facts: Facts | undefined, ...names: readonly (keyof Facts)[]): unknown[] {
  return names.map((name) => facts?.[name]?.value);
}

const trainer = 'extends:\n  - base.yaml\nmicro_batch_size: 2\nglobal_batch_size: 64\ncontext_parallel_size: 2\nsequence_parallel: true\n';
const model =
  'extends: ours_base.yaml\nnum_layers: 40\nhidden_size: 4096\nnum_attention_heads: 32\nnum_query_groups: 8\nffn_hidden_size: 14336\n';

describe('a Primus experiment', () => {
  const files = {
    'examples/megatron/configs/ours.yaml': fixture('primus.yaml'),
    'primus/configs/modules/megatron/pre_trainer.yaml': trainer,
    'primus/configs/modules/megatron/base.yaml': 'bf16: true\nmicro_batch_size: 7\nrecompute_num_layers: null\n',
    'primus/configs/models/megatron/ours_9B.yaml': model,
    'primus/configs/models/megatron/ours_base.yaml':
      'group_query_attention: true\nswiglu: true\nuntie_embeddings_and_output_weights: true\nnum_layers: 2\nvocab_size: 64000\n',
  };

  it('is read over the presets that it names and those that they extend', async () => {
    const { launcher, run, findings } = await load(files);
    assert.deepEqual(valuesOf(launcher?.facts, 'layers', 'hidden', 'kvHeads', 'gatedMlp', 'tiedEmbeddings', 'vocab', 'precision'), [
      40,
      4096,
      8,
      true,
      false,
      64_000,
      'bf16',
    ]);
    // its own values are over theirs, and null takes one back
    assert.deepEqual(valuesOf(launcher?.facts, 'microBatch', 'globalBatch', 'sequenceLength', 'pipeline', 'context'), [
      3,
      192,
      6144,
      4,
      undefined,
    ]);
    assert.deepEqual(valuesOf(launcher?.facts, 'pipelineLayout', 'recomputeGranularity'), ['Et*9|t*11|t*11|t*9L', undefined]);
    assert.deepEqual(run?.layout.stageLayers?.value, [9, 11, 11, 9]);
    // what a preset sets is not a finding of the experiment
    assert.deepEqual(findings.map(({ code }) => code), []); // prettier-ignore
    const { source } = launcher!.facts.layers!;
    assert.ok(source.kind === 'file' && source.place.file.endsWith('ours_9B.yaml') && launcher!.place.file.endsWith('configs/ours.yaml'));
  });

  it('names which preset is missing', async () => {
    const others = Object.entries(files).filter(([name]) => !name.endsWith('ours_9B.yaml'));
    const { run, findings, noRun } = await load(Object.fromEntries(others));
    assert.equal(run, null);
    assert.equal(noRun?.code, 'model-not-planned');
    const [finding] = findings;
    assert.equal(finding?.code, 'base-not-found');
    const { start, end } = finding.place.range;
    assert.equal(fixture('primus.yaml').slice(start, end), '${PRIMUS_MODEL:ours_9B}.yaml');
  });

  it('is held to no rule while a preset is missing that may set something else', async () => {
    const broken = fixture('primus.yaml').replace('global_batch_size: 192', 'num_attention_heads: 12\n      hidden_size: 1000');
    const codes = async (others: object) => (await load({ ...others, 'examples/megatron/configs/ours.yaml': broken })).findings.map(({ code }) => code); // prettier-ignore
    assert.deepEqual(await codes({ 'examples/megatron/configs/ours.yaml': broken }), ['base-not-found', 'base-not-found']);
    assert.ok((await codes(files)).includes('hidden-heads'));
  });

  it('has layers of multi-token prediction on the last stage of a list of layers', async () => {
    const own = fixture('primus.yaml').replace('train_iters: 40', 'mtp_num_layers: 2\n      train_iters: 40');
    const { launcher, findings } = await load({ ...files, 'examples/megatron/configs/ours.yaml': own });
    assert.equal(launcher?.facts.pipelineLayout?.value, 'Et*9|t*11|t*11|t*9mmL');
    assert.deepEqual(findings.filter(({ severity }) => severity === 'error'), []); // prettier-ignore
  });

  it('takes a zero-bubble schedule only with a runtime that runs it', async () => {
    const presets = {
      ...files,
      'primus/configs/modules/megatron/base.yaml': 'enable_zero_bubble: true\npatch_zero_bubble: false\npp_algorithm: 1f1b\n',
    };
    const scheduleWith = async (more: string) => {
      const text = fixture('primus.yaml').replace('train_iters: 40', `${more}\n      train_iters: 40`);
      return (await load({ ...presets, 'examples/megatron/configs/ours.yaml': text })).launcher?.facts.schedule?.value;
    };
    assert.equal(await scheduleWith(''), undefined);
    assert.equal(await scheduleWith('patch_zero_bubble: true'), 'ZB-H1');
    assert.equal(await scheduleWith('pp_algorithm: v-half'), undefined);
    assert.equal(await scheduleWith('patch_primus_pipeline: true\n      pp_algorithm: v-half'), 'V-Half');
    assert.equal(await scheduleWith('patch_primus_pipeline: true\n      pp_algorithm: zbv-formatted'), 'ZBVZeroBubble');
  });

  it('is edited without lines for switches that its preset leaves off, and switches off those that it has on', async () => {
    const edited = async (base: string) => {
      const { launcher, reread } = await load({ ...files, 'primus/configs/modules/megatron/base.yaml': `bf16: true\n${base}` });
      assert.ok(launcher !== null && reread !== null);
      const plan = planWith({ layers: 40, pipeline: 8, data: 1, microBatch: 3, globalBatch: 192, sequenceLength: 6144 });
      const target = await editableFile(launcher, reread);
      return target === null ? '' : writtenInto(plan, target).text;
    };
    const names = ['account_for_embedding_in_pipeline_split', 'account_for_loss_in_pipeline_split'];
    assert.doesNotMatch(await edited(names.map((name) => `${name}: false\n`).join('')), /account_for/);
    assert.match(await edited(names.map((name) => `${name}: true\n`).join('')), /account_for_embedding_in_pipeline_split: false\n/);
  });

  it('ends where presets extend each other', async () => {
    const { launcher } = await load({ 'a.yaml': 'extends: [b.yaml]\nnum_layers: 3\n', 'b.yaml': 'extends: [a.yaml]\nhidden_size: 64\n' });
    assert.deepEqual(valuesOf(launcher?.facts, 'layers', 'hidden'), [3, 64]);
  });
});

describe('a Primus experiment of other trainers', () => {
  const own = (name: string) => `examples/${name}/configs/ours.yaml`;

  it("is read by TorchTitan's names over its presets", async () => {
    const { launcher, run } = await load({
      [own('torchtitan')]: fixture('primus-torchtitan.yaml'),
      'primus/configs/modules/torchtitan/pre_trainer.yaml':
        'training: { local_batch_size: 8, mixed_precision_param: bfloat16 }\nparallelism: { pipeline_parallel_schedule: 1F1B, expert_parallel_degree: 1 }\n',
      'primus/configs/models/torchtitan/ours_8B.yaml': 'model: { name: llama3, flavor: 8B }\n',
    });
    assert.equal(launcher?.format, 'primus-torchtitan');
    assert.deepEqual(valuesOf(launcher.facts, 'localBatch', 'sequenceLength', 'tensor', 'pipeline', 'context', 'recomputeGranularity', 'precision', 'schedule'), [6, 6144, 2, 4, undefined, 'full', 'bf16', undefined]); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [32]);
  });

  it('is read as arguments of a recipe of Megatron-Bridge', async () => {
    const { launcher, run } = await load({
      [own('megatron_bridge')]: fixture('primus-bridge.yaml'),
      'primus/configs/modules/megatron_bridge/sft_trainer.yaml': 'stage: sft\n',
      'primus/configs/models/megatron_bridge/qwen3_8b.yaml':
        'recipe: qwen.qwen3\nflavor: qwen3_8b_finetune_config\nhf_path: Qwen/Qwen3-8B\n',
    });
    assert.equal(launcher?.format, 'primus-bridge');
    assert.deepEqual(valuesOf(launcher.facts, 'globalBatch', 'microBatch', 'sequenceLength', 'tensor', 'pipeline', 'virtualStages', 'precision'), [48, 2, 3072, 2, 3, undefined, 'bf16']); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [36]);
  });
});

describe('a FlagScale task', () => {
  const task = (more = '') =>
    `defaults:\n  - _self_\n  - train: ours\nexperiment:\n  task:\n    type: train\n    backend: megatron\n  runner:\n    nnodes: 3\n    nproc_per_node: 8\n${more}`;

  it('is read with its nodes over the file that its defaults name', async () => {
    const { launcher, run } = await load({ 'conf/train.yaml': task(), 'conf/train/ours.yaml': fixture('flagscale.yaml') });
    assert.deepEqual(valuesOf(launcher?.facts, 'layers', 'nodes', 'gpusPerNode', 'tensor', 'pipeline', 'kvHeads'), [36, 3, 8, 2, 3, 4]);
    assert.deepEqual(valuesOf(launcher?.facts, 'vocab', 'precision', 'globalBatch', 'positions'), [undefined, 'bf16', 480, 'rotary']);
    assert.deepEqual(launcher?.remarks, []);
    assert.equal(run?.nodes?.value, 3);
  });
});

describe('a NeMo-RL recipe', () => {
  it('is known by the file that it changes, with a section of such runs', () => {
    assert.equal(recogniseConfig('a.yaml', 'defaults: ../base.yaml\nvalue:\n  megatron_cfg:\n    context_parallel_size: 2\n'), 'nemo-rl');
    assert.equal(recogniseConfig('a.yaml', 'defaults:\n  - base.yaml\nvalue:\n  a: 2\n'), null);
    assert.equal(recogniseConfig('a.yaml', 'defaults: ../base.yaml\nserver:\n  a: 2\n'), null);
  });

  const base =
    'policy:\n  model_name: "ours/unknown"\n  precision: bfloat16\n  dtensor_cfg: { enabled: true, tensor_parallel_size: 4, activation_checkpointing: true }\n  megatron_cfg:\n    enabled: false\n    context_parallel_size: 2\n    recompute_granularity: full\n    expert_model_parallel_size: null\ngrpo: { num_prompts_per_step: 8 }\n';
  const recipe = { 'a/b/c/ours.yaml': fixture('nemo-rl.yaml'), 'a/grpo_math_1B.yaml': base };

  it('is read over its defaults, references across files included, with the GPUs that train', async () => {
    const { launcher, run, findings } = await load(recipe);
    assert.deepEqual(
      valuesOf(launcher?.facts, 'globalBatch', 'microBatch', 'sequenceLength', 'tensor', 'pipeline', 'context', 'precision'),
      [768, 2, 3072, 2, 3, 2, 'bf16'],
    );
    assert.deepEqual(valuesOf(launcher?.facts, 'nodes', 'gpusPerNode', 'recomputeGranularity', 'recomputeMethod', 'zeroStage'), [3, 8, 'full', 'uniform', undefined]); // prettier-ignore
    assert.deepEqual(valuesOf(run?.facts, 'layers'), [36]);
    assert.deepEqual(findings.map(({ code }) => code), ['policy-alone', 'sizes-of-launcher']); // prettier-ignore
    const { source } = launcher!.facts.context!;
    assert.ok(source.kind === 'file' && source.place.file === 'a/grpo_math_1B.yaml');
    assert.equal(base.slice(source.place.range.start, source.place.range.end), '2');
  });

  it('has the other backend where that one is on', async () => {
    const dtensor = { ...recipe, 'a/b/c/ours.yaml': fixture('nemo-rl.yaml').replaceAll(/enabled: (false|true)\n {4}tensor/g, 'enabled: false\n    tensor').replace('dtensor_cfg:\n    enabled: false', 'dtensor_cfg:\n    enabled: true') }; // prettier-ignore
    const { launcher } = await load(dtensor);
    assert.deepEqual(valuesOf(launcher?.facts, 'tensor', 'pipeline', 'zeroStage', 'recomputeGranularity'), [4, undefined, 3, 'full']);
  });
});

describe('a run that trains only adapters', () => {
  const experiment = (settings: string): string =>
    `modules:\n  trainer:\n    framework: megatron\n    config: sft_trainer.yaml\n    model: llama2_70B.yaml\n    overrides:\n      micro_batch_size: 1\n      global_batch_size: 16\n${settings}`;
  const bridge = experiment('      peft: lora\n').replace('framework: megatron', 'framework: megatron_bridge');
  const recipe = 'defaults: base.yaml\npolicy:\n  model_name: Qwen/Qwen3-8B\n  megatron_cfg: { enabled: true, peft: { enabled: true, dim: 128 } }\nsft: {}\n'; // prettier-ignore
  const nemo = 'trainer: { devices: 8, precision: bf16 }\nmodel:\n  restore_from_path: llama.nemo\n  tensor_model_parallel_size: 2\n  micro_batch_size: 1\n  global_batch_size: 8\n  peft: { peft_scheme: lora }\n  data: { train_ds: {} }\n'; // prettier-ignore

  for (const [name, text] of Object.entries({
    Primus: experiment('      lora:\n        enabled: true\n'),
    'Megatron-Bridge': bridge,
    'NeMo-RL': recipe,
    NeMo: nemo,
  }))
    it(`is read as such, with its rank and its modules: ${name}`, async () => {
      const { launcher } = await load({ 'ours.yaml': text });
      const { rank, targets, defaults, unlike } = launcher?.adapters ?? {};
      const all = ['linear_qkv', 'linear_proj', 'linear_fc1', 'linear_fc2'];
      const wanted = { Primus: [32, all], 'Megatron-Bridge': [32, all], 'NeMo-RL': [128, all], NeMo: [32, ['linear_qkv']] }[name];
      assert.deepEqual([rank?.value ?? defaults?.rank, targets?.value ?? defaults?.targets, unlike], [...(wanted ?? []), undefined]);
    });

  it('is planned with what its section sets', async () => {
    const lora =
      '      lora:\n        enabled: true\n        dim: 16\n        dropout: 0.1\n        target_modules: [linear_qkv, linear_proj]\n';
    const { run } = await load({ 'ours.yaml': experiment(lora) });
    assert.ok(run);
    const { training } = resolveRun(run, { gpu: 'H100-80GB', nodes: 16, gpusPerNode: null });
    assert.deepEqual(training.adapter, { rank: 16, targets: ['qkv', 'output'], dropout: true });
  });

  it('knows by their names of NeMo several modules at once', async () => {
    const text = nemo.replace(
      'peft_scheme: lora',
      "peft_scheme: lora, lora_tuning: { target_modules: ['attention', mlp_fc2], adapter_dim: 8 }",
    );
    const { launcher } = await load({ 'ours.yaml': text });
    assert.deepEqual(launcher?.adapters?.targets?.value, ['linear_qkv', 'linear_proj', 'mlp_fc2']);
  });

  it('is not planned where it trains something else than LoRA', async () => {
    for (const text of [nemo.replace('peft_scheme: lora', 'peft_scheme: ptuning'), bridge.replace('peft: lora', 'peft: dora')]) {
      const { run, noRun } = await load({ 'ours.yaml': text });
      assert.equal(run, null);
      assert.match(noRun?.message ?? '', /^The run trains adapters \(/);
    }
  });

  it('is planned where it does not', async () => {
    const { run, findings } = await load({ 'ours.yaml': experiment('      lora:\n        enabled: false\n') });
    assert.equal(run?.model.layers.value, 80);
    assert.ok(findings.some(({ code, message }) => code === 'sizes-of-launcher' && say(message).includes('"llama2_70B" is not here')));
  });
});

describe('a NeMo config over others', () => {
  const base =
    'num_layers: 12\nhidden_size: 768\nffn_hidden_size: 3072\nnum_attention_heads: 12\nnum_moe_experts: 1\nactivations_checkpoint_num_layers: 1\n';
  const t5 =
    'defaults:\n  - .@model.encoder: sizes\n  - .@model.decoder: sizes\n  - optional overlap@model.overlap:\n  - _self_\ntrainer: { devices: 8, num_nodes: 2, precision: bf16 }\nmodel:\n  micro_batch_size: 4\n  global_batch_size: 64\n  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1\n  seq_length: 512\n';

  it('has what its Hydra defaults put under its keys', async () => {
    const { run, findings } = await load({ 'conf/t5.yaml': t5, 'conf/sizes.yaml': base });
    const { layers, encoderLayers, hidden, experts } = run!.model;
    assert.deepEqual([layers.value, encoderLayers.value, hidden.value, experts.value], [24, 12, 768, null]);
    assert.deepEqual(findings.filter(({ severity }) => severity !== 'information'), []); // prettier-ignore
  });

  it('lets its own keys win, and names which file is missing', async () => {
    const gpt = `defaults:\n  - size@model: ours\n  - missing@model.data\n${t5.slice(t5.indexOf('trainer'))}  num_layers: 24\n`;
    const { run, findings } = await load({ 'conf/gpt.yaml': gpt, 'conf/size/ours.yaml': base });
    assert.deepEqual([run?.model.layers.value, run?.model.hidden.value], [24, 768]);
    assert.deepEqual(findings.filter(({ code }) => code === 'base-not-found').map(({ message }) => say(message)), ['"missing" is missing, so its settings are unknown']); // prettier-ignore
  });

  it('that restores a checkpoint and has nothing to train on is none to train with', async () => {
    const asked = `${t5.slice(t5.indexOf('trainer'))}  restore_from_path: a.nemo\n  data: { test_ds: {} }\ninference: { greedy: true }\n`;
    assert.match((await load({ 'a.yaml': asked })).noRun?.message ?? '', /generates text/);
    assert.match((await load({ 'a.yaml': `${asked}export: { dtype: 16 }\n` })).noRun?.message ?? '', /converts or changes a checkpoint/);
    assert.doesNotMatch((await load({ 'a.yaml': asked.replace('test_ds', 'train_ds') })).noRun?.message ?? '', /nothing is trained/);
  });
});

describe('a nanotron YAML', () => {
  it('is a Llama on replicas that accumulate', async () => {
    const { launcher, run, findings } = await load({ 'ours.yaml': fixture('nanotron.yaml') });
    assert.deepEqual(valuesOf(launcher?.facts, 'layers', 'hidden', 'heads', 'kvHeads', 'ffn', 'vocab', 'tiedEmbeddings', 'gatedMlp'), [30, 2560, 20, 4, 7168, 49_152, true, true]); // prettier-ignore
    assert.deepEqual(
      valuesOf(
        launcher?.facts,
        'tensor',
        'pipeline',
        'data',
        'schedule',
        'sequenceParallel',
        'precision',
        'zeroStage',
        'recomputeGranularity',
      ),
      [4, 2, 12, '1F1B', true, 'bf16', 1, undefined],
    );
    assert.equal(run?.batchPerReplica?.value, 24);
    assert.deepEqual(findings, []);
  });
});

describe('an Axolotl or LLaMA-Factory YAML', () => {
  const axolotl = fixture('hf-trainer.yaml');
  const json = '{\n\t"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}},\n\t"bf16": {"enabled": true}\n}\n';

  it('is a model of the hub under the DeepSpeed JSON that it names', async () => {
    const { launcher, run } = await load({ 'examples/qwen/ours.yml': axolotl, 'deepspeed_configs/zero3_bf16.json': json });
    assert.deepEqual(
      valuesOf(launcher?.facts, 'sequenceLength', 'microBatch', 'gradientAccumulation', 'precision', 'attention', 'recomputeGranularity'),
      [6144, 3, 6, 'bf16', 'flash', 'full'],
    );
    assert.deepEqual(valuesOf(launcher?.facts, 'zeroStage', 'offloadOptimizer'), [3, 'cpu']);
    assert.deepEqual([run?.model.layers.value, run?.batchPerReplica?.value], [28, 18]);
  });

  it('reports that the JSON is missing, and plans all the same', async () => {
    const { run, findings } = await load({ 'ours.yml': axolotl });
    assert.deepEqual(findings.map(({ code }) => code), ['base-not-found', 'sizes-of-launcher']); // prettier-ignore
    assert.notEqual(run, null);
  });

  it('has the sizes that Axolotl takes while the JSON is missing, and the stage of its name', async () => {
    const { run } = await load({ 'ours.yml': axolotl });
    assert.ok(run !== null);
    const { layout, training } = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data, training.zeroStage], [1, 1, 8, 3]);
    for (const [name, stage] of [
      ['ds_z2_config.json', 2],
      ['configs/Zero-1.json', 1],
      ['zero3/ds.json', undefined],
      ['quartz1.json', undefined],
      ['llama-z3b.json', undefined],
    ] as const) {
      // prettier-ignore
      const { launcher } = await load({ 'ours.yml': axolotl.replace('deepspeed_configs/zero3_bf16.json', name) });
      assert.equal(launcher?.facts.zeroStage?.value, stage, name);
    }
  });

  it('has the offload that the name of the missing JSON has, each with that reason', async () => {
    for (const [name, stage, optimizer, weights] of [
      ['ds_z2_offload_config.json', 2, 'cpu', undefined],
      ['ds_z3_offload_config.json', 3, 'cpu', 'cpu'],
      ['zero3_bf16_cpuoffload_all.json', 3, 'cpu', 'cpu'],
      ['zero3_bf16_cpuoffload_params.json', 3, undefined, 'cpu'],
      ['zero3_offload_optimizer.json', 3, 'cpu', undefined],
      ['zero3_no_offload.json', 3, undefined, undefined],
    ] as const) {
      const { launcher } = await load({ 'ours.yml': axolotl.replace('deepspeed_configs/zero3_bf16.json', name) });
      assert.deepEqual(valuesOf(launcher?.facts, 'zeroStage', 'offloadOptimizer', 'offloadParameters'), [stage, optimizer, weights], name);
      const source = launcher?.facts.zeroStage?.source;
      assert.equal(source?.kind === 'default' && say(source.reason), 'by the name of the missing DeepSpeed JSON');
    }
  });

  it('is planned with what the name of the missing JSON has as assumptions', async () => {
    const named = axolotl.replace('zero3_bf16.json', 'ds_z3_offload_config.json');
    const { run } = await load({ 'ours.yml': named });
    assert.ok(run !== null);
    const { assumptions } = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    const guesses = assumptions.flatMap(({ key, value, reason }) =>
      say(reason) === 'by the name of the missing DeepSpeed JSON' ? [`${key} ${value}`] : [],
    );
    assert.deepEqual(guesses, ['training.zeroStage 3', 'training.offloadOptimizer true']);
  });

  it('is planned where it trains an adapter, with the modules that LLaMA-Factory takes', async () => {
    const factory =
      'model_name_or_path: Qwen/Qwen3-8B\nstage: sft\ndo_train: true\nfinetuning_type: lora\ncutoff_len: 2048\nper_device_train_batch_size: 1\ngradient_accumulation_steps: 8\nbf16: true\n';
    const { run, launcher } = await load({ 'train.yaml': factory });
    assert.ok(run);
    const { training, assumptions } = resolveRun(run, { gpu: 'H100-80GB', nodes: 1, gpusPerNode: null });
    assert.deepEqual(training.adapter, { rank: 8, targets: ['query', 'key', 'value', 'output', 'gate', 'up', 'down'] });
    const assumed = assumptions.filter(({ key }) => key.startsWith('training.adapter')).map(({ key, reason }) => `${key}: ${say(reason)}`);
    assert.deepEqual(
      assumed,
      ['rank', 'targets', 'dropout'].map((name) => `training.adapter.${name}: LLaMA-Factory's default`),
    );
    assert.deepEqual(valuesOf(launcher?.facts, 'sequenceLength', 'microBatch', 'gradientAccumulation'), [2048, 1, 8]);
    assert.notEqual((await load({ 'train.yaml': factory.replace('lora', 'full') })).run, null);
  });
});

describe('a key that is twice', () => {
  const repeated = '  seq_length: 2048\n  seq_length: 4096\n';

  it('is a warning where the loader takes the last, and an error where it refuses', async () => {
    const plain = 'MODEL_ARGS:\n  --num-layers: 12\n  --hidden-size: 512\n  --num-attention-heads: 8\n  --num-layers: 24\n';
    const { findings, launcher } = await load({ 'model_config.yaml': plain });
    assert.deepEqual(findings.map(({ code, severity, place: { range } }) => [code, severity, plain.slice(range.end, range.end + 4)]), [['repeated-key', 'warning', ': 12']]); // prettier-ignore
    assert.equal(launcher?.facts.layers?.value, 24);
    const strict = fixture('flagscale.yaml').replace('  seq_length: 4096\n', repeated);
    await assert.rejects(load({ 'conf/train/ours.yaml': strict }), { code: 'config-duplicate-key' });
  });
});
