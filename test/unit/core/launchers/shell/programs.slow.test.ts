import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';
import type { ComposingReader } from '../../../../../src/core/launchers/composition';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../../src/core/sentence';
import { shellReader, values } from './shell-reader';

let reader: ComposingReader;
before(async () => {
  reader = await shellReader();
});

const missing = (): Promise<never> => Promise.reject(new ExpectedError('config-unreadable', sentence`missing`, sentence`no file`));
const load = (text: string): Promise<LoadedConfig> => loadConfig('run.sh', text, { read: missing, shell: () => Promise.resolve(reader) });
const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../../fixtures/launchers', name), 'utf8');

async function factsOf(text: string): Promise<ReturnType<typeof values>> {
  const { launcher } = await load(text);
  return values(launcher?.facts ?? {});
}

describe('scripts that start verl', () => {
  it('show the training of the actor: overrides from variables and arrays, and as many sequences as responses', async () => {
    const facts = await factsOf(fixture('verl.sh'));
    const { flavor, sequenceLength, microBatch, globalBatch, nodes, gpusPerNode, tensor, pipeline, distributedOptimizer } = facts;
    assert.deepEqual(
      { flavor, sequenceLength, microBatch, globalBatch, nodes, gpusPerNode, tensor, pipeline, distributedOptimizer },
      {
        flavor: 'Qwen/Qwen2.5-32B-Instruct',
        sequenceLength: 8192,
        microBatch: 2,
        globalBatch: 512,
        nodes: 4,
        gpusPerNode: 8,
        tensor: 4,
        pipeline: 2,
        distributedOptimizer: true,
      },
    );
    assert.equal(facts.recomputeGranularity, 'full');
  });

  it('are planned with the sizes of the hub, and found right', async () => {
    const { run, findings } = await load(fixture('verl.sh'));
    assert.deepEqual(
      findings.filter(({ severity }) => severity !== 'information'),
      [],
    );
    assert.ok(run);
    const planned = makePlan(resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }));
    assert.equal(planned.request.layout.pipeline, 2);
  });

  it('report that only the training step is planned, where a policy is trained', async () => {
    const codes = (await load(fixture('verl.sh'))).findings.map(({ code }) => code);
    assert.ok(codes.includes('policy-alone'), codes.join());
    const tuning = await load('torchrun -m verl.trainer.sft_trainer data.max_length=8 model.path=a/b trainer.nnodes=1\n');
    assert.ok(!tuning.findings.some(({ code }) => code === 'policy-alone'));
  });

  it('run FSDP where nothing is reported of Megatron, and adapters where a rank is given', async () => {
    const sft = (more: string): string =>
      `torchrun --nnodes=1 --nproc_per_node=8 -m verl.trainer.fsdp_sft_trainer data.max_length=2048 data.micro_batch_size_per_gpu=4 model.partial_pretrain=Qwen/Qwen2.5-0.5B-Instruct trainer.logger=console ${more}\n`;
    const facts = await factsOf(sft('ulysses_sequence_parallel_size=2 data.train_batch_size=64'));
    assert.deepEqual([facts.zeroStage, facts.context, facts.globalBatch, facts.gpusPerNode], [3, 2, 64, 8]);
    assert.equal((await load(sft('model.lora_rank=0'))).launcher?.adapters, undefined);
    const { run } = await load(sft('model.lora_rank=32 model.target_modules=[q_proj,v_proj]'));
    assert.ok(run);
    const { training } = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
    assert.deepEqual(training.adapter, { rank: 32, targets: ['query', 'value'] });
    const all = (await load(sft('model.lora_rank=32 model.target_modules=all-linear'))).launcher?.adapters;
    assert.deepEqual(all?.targets?.value, ['all-linear']);
  });
});

describe('batches of verl', () => {
  const training = (more: string): string =>
    `python3 -m verl.experimental.fully_async_policy.fully_async_main data.max_prompt_length=1024 data.max_response_length=3072 actor_rollout_ref.rollout.n=16 actor_rollout_ref.actor.ppo_mini_batch_size=32 trainer.n_gpus_per_node=8 ${more}\n`;
  const sizes = async (more: string): Promise<readonly unknown[]> => {
    const { globalBatch, microBatch, sequenceLength } = await factsOf(training(more));
    return [globalBatch, microBatch, sequenceLength];
  };

  it('lose what does not make a sample more on every replica, so that no run is refused for it', async () => {
    assert.deepEqual(await sizes('trainer.nnodes=4'), [512, undefined, 4096]);
    assert.deepEqual(await sizes('trainer.nnodes=3'), [504, undefined, 4096]);
    const { findings } = await load(training('trainer.nnodes=3 actor_rollout_ref.model.path=Qwen/Qwen3-8B'));
    assert.ok(!findings.some(({ severity }) => severity === 'error'));
  });

  it('are packed by tokens where the batch size is dynamic: their size in sequences is not read', async () => {
    const dynamic = 'actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=3';
    assert.deepEqual(await sizes(`${dynamic} trainer.nnodes=4`), [512, 4, 4096], "verl's own 16,384 tokens");
    const most = (tokens: number): string => `${dynamic} trainer.nnodes=4 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=${tokens}`;
    assert.deepEqual(await sizes(most(4096)), [512, 1, 4096]);
    assert.deepEqual(await sizes(most(24576)), [512, 4, 4096]);
    const replicas = 'actor_rollout_ref.actor.ulysses_sequence_parallel_size=2';
    assert.deepEqual(
      await sizes(`${dynamic} ${replicas} trainer.nnodes=4 actor_rollout_ref.actor.ppo_max_token_len_per_gpu=24576`),
      [512, 8, 4096],
    );
  });

  it('are read at once however large their batch is', async () => {
    const prompts = (count: string, responses: string): string =>
      `${training('trainer.nnodes=4 actor_rollout_ref.actor.use_dynamic_bsz=True').trim()} ` +
      `actor_rollout_ref.actor.ppo_mini_batch_size=${count} actor_rollout_ref.rollout.n=${responses}\n`;
    assert.equal((await factsOf(prompts('1000000', '32'))).globalBatch, 32_000_000);
    assert.equal((await factsOf(prompts('999999999989', '1'))).microBatch, 1);
    assert.equal((await factsOf(prompts('999999999989', '999999999989'))).microBatch, 1);
  });

  it('train the model of a folder that only a run knows, by the name of a published one', async () => {
    const model = async (written: string): Promise<unknown> => {
      const { run } = await load(`${written}\n${training('trainer.nnodes=1 actor_rollout_ref.model.path=$M')}`);
      return run?.model.layers.value ?? null;
    };
    assert.equal(await model('M=${RAY_HOME}/models/Qwen3-8B'), 36);
    assert.equal(await model('M=$HOME/models/Qwen/Qwen2.5-3B-Instruct'), 36);
    // of another owner: an assumption, which is reported
    assert.equal(await model('M=$CKPT/ours-Qwen3-8B'), 36);
    const others = await load(`M=someone/Qwen3-8B\n${training('trainer.nnodes=1 actor_rollout_ref.model.path=$M')}`);
    assert.ok(others.findings.some(({ message }) => say(message).endsWith('those of qwen3-8b, whose name it contains, are planned')));
    assert.equal(await model('M=$CKPT/ours-Qwen3-8B-pruned'), null);
    assert.equal(await model('M=$RUN'), null);
    const { findings } = await load(training('trainer.nnodes=1 actor_rollout_ref.model.path=$HOME/models/Qwen2.5-VL-7B-Instruct'));
    assert.ok(findings.some(({ message }) => say(message).includes('its published language model is planned')));
  });
});

describe("scripts that start Hugging Face's Trainer", () => {
  it('show model, batch and sharding, by flags of Accelerate, DeepSpeed and the Trainer', async () => {
    const { flavor, sequenceLength, microBatch, gradientAccumulation, precision, zeroStage, nodes, world, recomputeGranularity } =
      await factsOf(fixture('trainer.sh'));
    assert.deepEqual(
      { flavor, sequenceLength, microBatch, gradientAccumulation, precision, zeroStage, nodes, world, recomputeGranularity },
      {
        flavor: 'meta-llama/Llama-3.1-8B',
        sequenceLength: 4096,
        microBatch: 2,
        gradientAccumulation: 4,
        precision: 'bf16',
        zeroStage: 3,
        nodes: 4,
        world: 32,
        recomputeGranularity: 'full',
      },
    );
  });

  it('build a model from overrides of its config', async () => {
    const facts = await factsOf(
      'deepspeed --num_gpus 8 run_clm.py --model_type gpt2 --tokenizer_name gpt2 --config_overrides "n_embd=1024,n_head=16,n_layer=24,n_positions=1024" --per_device_train_batch_size 4 --block_size 1024 --fp16 --deepspeed ds_zero2.json\n',
    );
    const { layers, hidden, heads, vocab, maxPositions, zeroStage, precision } = facts;
    assert.deepEqual([layers, hidden, heads, vocab, maxPositions, zeroStage, precision], [24, 1024, 16, 50_257, 1024, 2, 'fp16']);
  });

  it('are planned where those overrides are between two quoted pieces of one word', async () => {
    const { run } = await load(fixture('trainer-overrides.sh'));
    assert.ok(run);
    const { layers, hidden, heads, maxPositions } = run.model;
    assert.deepEqual([layers.value, hidden.value, heads.value, maxPositions.value], [40, 5120, 40, 2048]);
    assert.deepEqual([run.nodes?.value, run.gpusPerNode?.value, run.training.microBatch?.value], [8, 4, 6]);
    assert.equal(makePlan(resolveRun(run, { gpu: 'V100-32GB', nodes: null, gpusPerNode: null })).request.model.layers, 40);
  });

  it('follow the files that the launch names: a DeepSpeed JSON, a YAML of Accelerate and the JSON that this names', async () => {
    const files: Readonly<Record<string, string>> = {
      'conf/ds.json': '{"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}, "train_batch_size": "auto"}',
      'conf/fsdp.yaml': fixture('accelerate.yaml'),
      'conf/deepspeed.yaml':
        'distributed_type: DEEPSPEED\nnum_processes: 64\nnum_machines: 8\ndeepspeed_config:\n  deepspeed_config_file: conf/ds.json\n',
      'conf/left.yaml':
        'distributed_type: FSDP\nnum_processes: 64\nnum_machines: 8\ndeepspeed_config:\n  deepspeed_config_file: conf/ds.json\n',
      'conf/megatron.yaml':
        'distributed_type: MEGATRON_LM\nnum_processes: 8\nmegatron_lm_config:\n  megatron_lm_recompute_activations: true\n',
      'conf/other.yaml': 'distributed_type: [\nnum_processes: 4\n',
    };
    const read = (_: string, file: string): Promise<{ file: string; text: string }> => {
      const text = files[file];
      return text === undefined ? missing() : Promise.resolve({ file, text });
    };
    const started = async (launch: string, own: string): Promise<ReturnType<typeof values>> => {
      const text = `${launch} train.py --model_name_or_path a/b --per_device_train_batch_size 1 ${own}\n`;
      const { launcher } = await loadConfig('run.sh', text, { read, shell: () => Promise.resolve(reader) });
      return values(launcher?.facts ?? {});
    };
    const json = await started('deepspeed --num_gpus 8', '--deepspeed conf/ds.json');
    assert.deepEqual([json.zeroStage, json.offloadOptimizer, json.gpusPerNode], [2, 'cpu', 8]);
    const fsdp = await started('accelerate launch --config_file conf/fsdp.yaml', '');
    assert.deepEqual([fsdp.zeroStage, fsdp.tensor, fsdp.context, fsdp.nodes, fsdp.world], [2, 2, 2, 2, 16]);
    assert.deepEqual([fsdp.precision, fsdp.recomputeGranularity, fsdp.recomputeMethod], ['bf16', 'full', 'uniform']);
    const both = await started('accelerate launch --config_file conf/deepspeed.yaml --num_machines 4', '');
    assert.deepEqual([both.zeroStage, both.offloadOptimizer, both.world, both.nodes], [2, 'cpu', 64, 4]);
    const left = await started('accelerate launch --config_file conf/left.yaml', '');
    assert.deepEqual([left.zeroStage, left.offloadOptimizer], [3, undefined], 'FSDP reads no DeepSpeed JSON');
    const megatron = await started('accelerate launch --config_file conf/megatron.yaml', '');
    assert.deepEqual([megatron.recomputeGranularity, megatron.recomputeMethod], ['selective', undefined]);
    const broken = await started('accelerate launch --config_file conf/other.yaml --zero_stage 1', '--deepspeed gone/stage3.json');
    assert.deepEqual([broken.zeroStage, broken.world], [1, undefined]);
  });

  it('take switches with their truth, and adapters by any of their names', async () => {
    const script = (more: string): string => `torchrun train.py --model_name_or_path a/b --per_device_train_batch_size 1 ${more}\n`;
    assert.equal((await factsOf(script('--bf16 False'))).precision, undefined);
    const isAdapted = async (more: string): Promise<boolean> => (await load(script(more))).launcher?.adapters !== undefined;
    for (const flags of ['--use_lora', '--lora_rank 8', '--train_type lora', '--use_peft True', '--lora_dim 128'])
      assert.ok(await isAdapted(flags), flags);
    for (const flags of ['', '--use_lora False --lora_r 8', '--train_type full --lora_rank 8', '--lora_dim 0'])
      assert.ok(!(await isAdapted(flags)), flags);
  });

  it('are not taken for Megatron, nor is a comment or an evaluation for training', async () => {
    const flags = '--model_name_or_path a/b --per_device_train_batch_size 1';
    assert.equal(recogniseConfig('a.sh', `# python train.py ${flags}\n`), null);
    assert.equal(recogniseConfig('a.sh', `python train.py ${flags}\n`), 'trainer-shell');
    assert.equal(recogniseConfig('a.sh', `python pretrain_gpt.py --num-layers 2 ${flags}\n`), 'megatron-shell');
    assert.equal((await load(`python evaluate.py ${flags}\n`)).launcher?.purpose, 'evaluation');
  });
});

describe("metaseq's launcher of OPT", () => {
  it('gets the sizes that it computes from --model-size: OPT-175B on 992 GPUs', async () => {
    const { launcher, run, findings } = await load(
      'opt-baselines -n 124 -g 8 -p opt --model-size 175b --azure --checkpoint-dir /shared/opt\n',
    );
    const facts = launcher?.facts;
    assert.deepEqual(
      [facts?.nodes?.value, facts?.gpusPerNode?.value, facts?.tensor?.value, facts?.globalBatch?.value, facts?.microBatch?.value],
      [124, 8, 8, 992, 8],
    );
    assert.deepEqual(
      findings.filter(({ severity }) => severity !== 'information'),
      [],
    );
    assert.deepEqual([run?.model.layers.value, run?.model.hidden.value, run?.model.heads.value], [96, 12_288, 96]);
  });

  it('is the source of the sizes of OPT on the hub too', async () => {
    const layersOf = async (name: string): Promise<number | undefined> =>
      (await load(`deepspeed main.py --model_name_or_path ${name} --per_device_train_batch_size 4\n`)).run?.model.layers.value;
    assert.equal(await layersOf('facebook/opt-1.3b'), 24);
    assert.equal(await layersOf('facebook/opt-350m'), undefined);
    assert.equal(await layersOf('gpt2-medium'), 24);
  });

  it('is not planned with a size that it does not have', async () => {
    const { run, noRun } = await load('python -m metaseq.launcher.opt_baselines -n 1 -g 8 -p a --model-size 9b\n');
    assert.equal(run, null);
    assert.equal(noRun?.code, 'model-not-planned');
  });
});
