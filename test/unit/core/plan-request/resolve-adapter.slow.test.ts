import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import type { ComposingReader } from '../../../../src/core/launchers/composition';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { adapterParameters, undivided } from '../../../../src/core/model/adapters';
import { readNorms, readsActivated } from '../../../../src/core/memory-model/adapter-tensors';
import { layerGroups } from '../../../../src/core/model/layers';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../src/core/sentence';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { shellReader } from '../launchers/shell/shell-reader';

let reader: ComposingReader;
before(async () => {
  reader = await shellReader();
});

const llama = {
  model_type: 'llama',
  hidden_size: 2048,
  intermediate_size: 5632,
  num_attention_heads: 32,
  num_key_value_heads: 4,
  num_hidden_layers: 6,
  vocab_size: 32_000,
  tie_word_embeddings: false,
};
const mixtral = { ...llama, model_type: 'mixtral', num_local_experts: 4, num_experts_per_tok: 2 };
const deepseek = {
  ...llama,
  model_type: 'deepseek_v2',
  num_key_value_heads: 32,
  q_lora_rank: 512,
  kv_lora_rank: 256,
  qk_nope_head_dim: 64,
  qk_rope_head_dim: 32,
  v_head_dim: 64,
  n_routed_experts: 8,
  n_shared_experts: 1,
  num_experts_per_tok: 2,
  moe_intermediate_size: 1024,
  first_k_dense_replace: 1,
};
const script =
  'torchrun --nproc_per_node 4 tune.py --model_name_or_path here --bf16 True --per_device_train_batch_size 2 --gradient_accumulation_steps 2 --max_seq_length 1024';

async function requestOf(text: string, config: object = llama, file = 'run.sh'): Promise<PlanRequest> {
  const read = (from: string, path: string) =>
    path.endsWith('config.json')
      ? Promise.resolve({ file: path, text: JSON.stringify(config) })
      : Promise.reject(new ExpectedError('file-not-found', sentence`no ${from}`, sentence`none`));
  const { run, noRun } = await loadConfig(file, text, { read, shell: () => Promise.resolve(reader) });
  if (run === null) throw noRun ?? new Error('no run');
  return resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: null });
}

const section = (more: string): string =>
  `sft:\n  max_num_steps: 10\npolicy:\n  model_name: here\n  train_global_batch_size: 8\n  max_total_sequence_length: 1024\n  megatron_cfg:\n    enabled: true\n    peft:\n      enabled: true\n      dim: 8\n${more}`;
const flags = (more: string): Promise<PlanRequest> => requestOf(`${script} ${more}\n`);

describe('adapters of a run', () => {
  it('are on the head by its name, next to those of the layers', async () => {
    const { training } = await flags('--use_lora --lora_r 8 --lora_target_modules q_proj lm_head');
    assert.deepEqual(training.adapter, { rank: 8, targets: ['query'], onHead: true });
    const saved = await flags('--use_lora --lora_r 8 --lora_target_modules q_proj lm_head --modules_to_save lm_head');
    assert.deepEqual(saved.training.adapter, { rank: 8, targets: ['query'], saved: ['head'] });
    await assert.rejects(() => flags('--use_lora --lora_target_modules lm_head'), /on nothing but the head, which is not planned/);
    const byEnds = await flags("--use_lora --lora_r 8 --lora_target_modules '*q_proj' '*lm_head'");
    assert.deepEqual(byEnds.training.adapter, { rank: 8, targets: ['query'], onHead: true });
    await assert.rejects(() => flags("--use_lora --lora_target_modules '*lm_head'"), /on nothing but the head/);
    await assert.rejects(() => flags('--use_lora --use_dora --lora_target_modules q_proj lm_head'), /DoRA on the head/);
  });

  it('have the rank, modules, dropout and bits that flags set', async () => {
    const { training } = await flags(
      '--use_lora --lora_r 64 --lora_alpha 16 --lora_dropout 0.1 --lora_target_modules q_proj k_proj v_proj o_proj --load_in_4bit True --double_quant --modules_to_save embed_tokens,lm_head,norm',
    );
    assert.deepEqual(training.adapter, {
      rank: 64,
      targets: ['query', 'key', 'value', 'output'],
      dropout: true,
      baseBits: 4,
      doubleQuantised: true,
      saved: ['embedding', 'head'],
    });
    const eight = await flags('--finetuning_type lora --quantization_bit 8 --lora_target q_proj,v_proj');
    assert.deepEqual(eight.training.adapter, { rank: 8, targets: ['query', 'value'], baseBits: 8 });
  });

  it('have what the library takes where flags leave it open, and that is reported', async () => {
    const { training, assumptions } = await flags('--use_peft');
    assert.deepEqual(training.adapter, { rank: 16, targets: ['query', 'value'], dropout: true });
    const reasons = assumptions.filter(({ key }) => key.startsWith('training.adapter')).map(({ reason }) => say(reason));
    assert.deepEqual(reasons, [
      "TRL's default (ModelConfig)",
      "peft's default for llama; a script may ask for others",
      "TRL's default (ModelConfig)",
    ]);
    const swift = await flags('--train_type lora');
    assert.deepEqual(swift.training.adapter?.targets.length, 7);
    assert.equal((await flags('--train_type full')).training.adapter, undefined);
  });

  it('are with joined matrices where the model has them', async () => {
    const neox = { ...llama, model_type: 'gpt_neox', num_key_value_heads: 32 };
    const { training } = await requestOf(`${script} --use_lora --lora_r 4 --lora_target_modules query_key_value dense\n`, neox);
    assert.deepEqual(training.adapter?.targets, ['qkv', 'output']);
    assert.deepEqual((await requestOf(`${script} --use_lora\n`, neox)).training.adapter?.targets, ['qkv']);
  });

  it('are those of an Axolotl or TRL YAML', async () => {
    const axolotl =
      'base_model: here\nadapter: qlora\nlora_r: 32\nlora_target_linear: true\nlora_dropout: 0.05\nsequence_len: 1024\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\ndatasets: []\n';
    const { training } = await requestOf(axolotl, llama, 'train.yml');
    assert.deepEqual([training.adapter?.rank, training.adapter?.baseBits, training.adapter?.targets.length], [32, 4, 7]);
  });

  it('are of each expert with peft, and one for the experts of a rank with Megatron-Bridge', async () => {
    const lora = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules all-linear\n`, mixtral);
    assert.deepEqual(lora.training.adapter, {
      rank: 8,
      targets: ['query', 'key', 'value', 'output', 'gate', 'up', 'down'],
      perExpert: true,
    });
    const bridge = await requestOf(section(''), mixtral, 'grpo.yaml');
    assert.deepEqual([bridge.training.adapter?.rank, bridge.training.adapter?.perExpert], [8, undefined]);
    const apart = await requestOf(section('      share_expert_adapters: false\n'), mixtral, 'grpo.yaml');
    assert.equal(apart.training.adapter?.perExpert, true);
  });

  // prime-rl names its grouped networks `experts`
  it('are of routed experts only where these are named, in a model with dense layers and a shared expert', async () => {
    const of = async (targets: string) => {
      const { model, training } = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules ${targets}\n`, deepseek);
      const { adapter } = training;
      assert.ok(adapter);
      return layerGroups(model).map(({ kind }) => adapterParameters(model, adapter, kind, { tensor: 1, expert: 1 }));
    };
    const ofExpert = 8 * 3 * (2048 + 1024);
    assert.deepEqual(await of('experts'), [{ shared: 0, experts: 0 }, { shared: 0, experts: 8 * ofExpert }]); // prettier-ignore
    const [dense, routed] = await of('experts gate_proj up_proj down_proj');
    assert.deepEqual([dense?.experts, routed?.experts], [0, 8 * ofExpert]);
    assert.ok((dense?.shared ?? 0) > 0 && (routed?.shared ?? 0) > 0);
    const ofDown = 8 * (2048 + 1024);
    assert.deepEqual(await of('mlp.experts.down_proj'), [
      { shared: 0, experts: 0 },
      { shared: 0, experts: 8 * ofDown },
    ]);
    assert.deepEqual(await of('experts.*.down_proj'), await of('mlp.experts.down_proj'));
    assert.deepEqual(await of('mlp.shared_experts.down_proj'), [
      { shared: 0, experts: 0 },
      { shared: ofDown, experts: 0 },
    ]);
    assert.deepEqual(await of('shared_expert.gate_proj'), await of('mlp.shared_experts.down_proj'));
    assert.deepEqual(await of('shared_experts.down_proj down_proj'), await of('down_proj'));
    await assert.rejects(of('experts.0.down_proj'), /on experts\.0\.down_proj, which is not planned/);
  });

  it('on routed experts only leave nothing in dense layers for backward to read', async () => {
    const { model, training } = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules experts\n`, deepseek);
    const [dense, routed] = layerGroups(model).map(({ kind }) => [readNorms(training, kind), readsActivated(training, kind)]);
    assert.deepEqual([dense, routed], [[0, false], [1, true]]); // prettier-ignore
    const { training: all } = await requestOf(
      `${script} --use_lora --lora_r 8 --lora_target_modules experts up_proj down_proj\n`,
      deepseek,
    );
    assert.deepEqual(layerGroups(model).map(({ kind }) => [readNorms(all, kind), readsActivated(all, kind)]), [[1, true], [1, true]]); // prettier-ignore
  });

  // `in_proj_qkv`, `z`, `b` and `a` of Qwen3_5GatedDeltaNet: one layer of it for each that attends here
  it('are of the projections of layers with a state, as their class has them', async () => {
    const hybrid = {
      ...llama,
      model_type: 'qwen3_5_text',
      num_hidden_layers: 2,
      head_dim: 64,
      layer_types: ['linear_attention', 'full_attention'],
      linear_num_key_heads: 16,
      linear_num_value_heads: 32,
      linear_key_head_dim: 128,
      linear_value_head_dim: 128,
      linear_conv_kernel_dim: 4,
    };
    const { model, training } = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules all-linear\n`, hybrid);
    const { adapter } = training;
    assert.ok(adapter !== undefined);
    const ofState = ['stateValues', 'stateGate', 'stateWrite', 'stateDecay', 'stateOutput'];
    assert.deepEqual(adapter.targets.filter((target) => target.startsWith('state')), ofState); // prettier-ignore
    const [stateful] = layerGroups(model);
    const network = 2 * (2048 + 5632) + (5632 + 2048);
    const mixer = 2048 + 8192 + (2048 + 4096) + 2 * (2048 + 32) + (4096 + 2048);
    assert.equal(adapterParameters(model, adapter, stateful!.kind, undivided).shared, 8 * (mixer + network));
    const named = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules in_proj_z out_proj\n`, hybrid);
    assert.deepEqual(named.training.adapter?.targets, ['stateGate', 'stateOutput']);
  });

  it('are of the matrices of latent attention', async () => {
    const lora = await requestOf(`${script} --use_lora --lora_r 8 --lora_target_modules all-linear\n`, deepseek);
    assert.deepEqual(lora.training.adapter?.targets, [
      'query',
      'queryDown',
      'queryUp',
      'keyValueDown',
      'keyValueUp',
      'output',
      'gate',
      'up',
      'down',
    ]);
    const named = await requestOf(`${script} --use_lora --lora_target_modules kv_a_proj_with_mqa kv_b_proj\n`, deepseek);
    assert.deepEqual(named.training.adapter?.targets, ['keyValueDown', 'keyValueUp']);
    const core = await requestOf(section(''), deepseek, 'grpo.yaml');
    assert.deepEqual(core.training.adapter?.targets, ['output', 'gateUp', 'down'], 'it has no linear_qkv');
  });

  it('have the rank that AdaLoRA begins with, which is not that of LoRA', async () => {
    const swift =
      'swift sft --model here --torch_dtype bfloat16 --max_length 1024 --per_device_train_batch_size 1 --tuner_type adalora --lora_rank 4';
    const { training } = await requestOf(`${swift}\n`);
    assert.deepEqual([training.adapter?.rank, training.adapter?.dropout, training.adapter?.targets.length], [12, true, 7]);
    assert.equal(training.adapter?.adaptive, true);
    assert.equal((await requestOf(`${swift} --adalora_init_r 16\n`)).training.adapter?.rank, 16);
  });

  it('are not planned as AdaLoRA where nothing gives the rank that it begins with', async () => {
    const axolotl =
      'base_model: here\nadapter: adalora\nlora_r: 32\nlora_target_linear: true\nsequence_len: 1024\nmicro_batch_size: 2\ndatasets: []\n';
    await assert.rejects(requestOf(axolotl, llama, 'train.yml'), /\(adapter\), which is not planned/);
    const factory = 'model_name_or_path: here\nstage: sft\nfinetuning_type: adalora\nlora_rank: 4\nper_device_train_batch_size: 1\n';
    await assert.rejects(requestOf(factory, llama, 'train.yml'), /\(finetuning_type\), which is not planned/);
    const swift = 'NPROC_PER_NODE=4 megatron sft --model here --tuner_type adalora --lora_rank 4 --max_length 1024\n';
    await assert.rejects(requestOf(swift), /\(--tuner_type\), which is not planned/);
  });

  it('are on modules by the ends of their names', async () => {
    const { training } = await flags("--use_lora --lora_target_modules '*q_proj' 'model.layers.*.mlp.down_proj'");
    assert.deepEqual(training.adapter?.targets, ['query', 'down']);
  });

  it('are decomposed with DoRA, unless experts have them', async () => {
    const named = '--use_lora --use_dora True --lora_target_modules q_proj v_proj';
    const { training } = await flags(named);
    assert.deepEqual([training.adapter?.decomposed, training.adapter?.targets], [true, ['query', 'value']]);
    const dropped = await flags(`${named} --lora_dropout 0.1`);
    assert.deepEqual([dropped.training.adapter?.decomposed, dropped.training.adapter?.dropout], [true, true]);
    assert.deepEqual([training.adapter?.frozenTwice, dropped.training.adapter?.frozenTwice], [undefined, true]);
    for (const bits of ['--load_in_4bit True', '--load_in_8bit True']) {
      const packed = await flags(`${named} ${bits}`);
      assert.deepEqual([packed.training.adapter?.decomposed, packed.training.adapter?.dropout], [true, undefined]);
      await assert.rejects(
        flags(`${named} --lora_dropout 0.1 ${bits}`),
        /DoRA and a dropout on weights of [48] bits, which is not planned/,
      );
    }
    const ofExperts = requestOf(`${script} --use_lora --use_dora True --lora_target_modules all-linear\n`, mixtral);
    await assert.rejects(ofExperts, /with DoRA on experts, which is not planned/);
  });

  it('are not planned as other methods, on modules that nobody knows, or that the model has not', async () => {
    const refusal = async (asked: Promise<PlanRequest>): Promise<string> => {
      const error = await asked.then(
        () => null,
        (reason: unknown) => reason,
      );
      assert.ok(error instanceof ExpectedError && error.code === 'model-not-planned' && error.place !== undefined);
      return error.message;
    };
    const values = `${script} --use_lora --lora_target_modules v_proj\n`;
    assert.match(await refusal(requestOf(values, deepseek)), /^The run trains adapters \(--use_lora\) on no module that the model has/);
    assert.match(await refusal(flags('--use_lora --lora_target_modules q_proj strange_proj')), /on strange_proj/);
    assert.match(await refusal(flags('--train_type boft')), /which is not planned/);
  });
});

describe('a plan of a run that trains adapters', () => {
  it('takes less time and memory than one of all weights, and shows what its MFU counts', async () => {
    const [full, adapted] = [makePlan(await flags('')), makePlan(await flags('--use_lora --lora_r 8 --lora_target_modules q_proj v_proj'))];
    assert.ok(chosenCandidate(adapted).iterationMs < chosenCandidate(full).iterationMs);
    assert.ok(candidatePeakBytes(chosenCandidate(adapted)) < 0.6 * candidatePeakBytes(chosenCandidate(full)));
    assert.ok(adapted.cost.errorPercent >= 35);
    assert.ok(adapted.reasons.some((reason) => say(reason).startsWith('MFU counts')));
    assert.ok(!full.reasons.some((reason) => say(reason).startsWith('MFU counts')));
  });

  it('still runs schedules that split the backward, with next to nothing in its second half', async () => {
    const request = await flags('--use_lora --lora_r 8 --lora_target_modules q_proj v_proj');
    for (const schedule of ['ZB-H1', '1F1B'] as const) {
      const layout = { ...request.layout, pipeline: 2, data: 2 };
      const plan = makePlan({ ...request, layout, schedule, training: { ...request.training, runtime: 'megatron', zeroStage: 0 } });
      const { iterationMs } = chosenCandidate(plan);
      assert.ok(Number.isFinite(iterationMs) && iterationMs > 0, schedule);
    }
  });
});
