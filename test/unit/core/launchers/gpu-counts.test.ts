import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import type { ComposingReader } from '../../../../src/core/launchers/composition';
import { fileStart } from '../../../../src/core/languages/json/document';
import { readGptNeox } from '../../../../src/core/launchers/neox/gpt-neox';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { sentence } from '../../../../src/core/sentence';
import { shellReader } from './shell/shell-reader';

let shell: ComposingReader;

before(async () => {
  shell = await shellReader();
});

/** Nodes and GPUs of each, as the files give them. */
async function gpusOf(text: string, others: Readonly<Record<string, string>> = {}, file = 'run.sh'): Promise<readonly unknown[]> {
  const { run } = await loadConfig(file, text, {
    read: (_from, path) => {
      const found = others[path.replace(/^\.\//, '')];
      if (found !== undefined) return Promise.resolve({ file: path, text: found });
      return Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(path)));
    },
    shell: () => Promise.resolve(shell),
  });
  return [run?.nodes?.value, run?.gpusPerNode?.value];
}

const megatron = 'pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --micro-batch-size 1 --global-batch-size 64';
const trainer = 'sft.py --model_name_or_path Qwen/Qwen2.5-32B-Instruct --max_length 2048 --per_device_train_batch_size 1 --bf16';

describe('the number of GPUs of a launch', () => {
  it('is one node where torchrun or DeepSpeed is given the GPUs of only one', async () => {
    assert.deepEqual(await gpusOf(`torchrun --nproc_per_node 8 ${megatron}`), [1, 8]);
    assert.deepEqual(await gpusOf(`torchrun --nproc-per-node 4 ${trainer}`), [1, 4]);
    assert.deepEqual(await gpusOf(`deepspeed --num_gpus 8 ${trainer}`), [1, 8]);
    assert.deepEqual(await gpusOf(`accelerate launch ${trainer}`), [1, undefined]);
  });

  it('is open where something else may set how many nodes', async () => {
    assert.deepEqual(await gpusOf(`torchrun --nproc_per_node 8 --nnodes $NNODES ${megatron}`), [undefined, 8]);
    assert.deepEqual(await gpusOf(`srun torchrun --nproc_per_node 8 ${megatron}`), [undefined, 8]);
    assert.deepEqual(await gpusOf(`deepspeed --hostfile hosts --num_gpus 8 ${trainer}`), [undefined, 8]);
  });

  it('is one where torchrun is given nothing and the sizes fit one', async () => {
    assert.deepEqual(await gpusOf(`torchrun ${megatron}`), [1, 1]);
    assert.deepEqual(await gpusOf(`python -m torch.distributed.run ${trainer}`), [1, 1]);
    assert.deepEqual(await gpusOf(`torchrun ${megatron} --tensor-model-parallel-size 2`), [undefined, undefined]);
    assert.deepEqual(await gpusOf(`torchrun $DISTRIBUTED_ARGS ${megatron}`), [undefined, undefined]);
    assert.deepEqual(await gpusOf(`srun torchrun ${megatron}`), [undefined, undefined]);
    assert.deepEqual(await gpusOf(`python ${megatron}`), [undefined, undefined]);
  });

  it('is read from the beginning of a flag, which argparse takes', async () => {
    assert.deepEqual(await gpusOf(`torchrun --nproc_per 4 --nnode 2 ${megatron}`), [2, 4]);
    assert.deepEqual(await gpusOf(`accelerate launch --num_process 8 ${trainer}`), [1, 8]);
  });

  it("is Accelerate's num_processes over all machines", async () => {
    const yaml = (processes: number, machines: number) =>
      `compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: ${machines}\nnum_processes: ${processes}\n`;
    const launch = `accelerate launch --config_file ds.yaml ${trainer}`;
    assert.deepEqual(await gpusOf(launch, { 'ds.yaml': yaml(4, 1) }), [1, 4]);
    assert.deepEqual(await gpusOf(launch, { 'ds.yaml': yaml(32, 4) }), [4, 8]);
    assert.deepEqual(await gpusOf(`accelerate launch --num_processes 2 ${trainer}`), [1, 2]);
    assert.deepEqual(await gpusOf(`accelerate launch --num_processes 64 ${trainer}`), [8, 8]);
  });

  it("is that of slime's actor", async () => {
    const launch = `ray job submit -- python3 train.py --actor-num-nodes 2 --actor-num-gpus-per-node 8 ${megatron.replace('pretrain_gpt.py ', '')}`;
    assert.deepEqual(await gpusOf(launch), [2, 8]);
  });

  it("is verl's default where its settings leave it open", async () => {
    const launch = 'python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-14B data.train_batch_size=256';
    assert.deepEqual(await gpusOf(launch), [1, 8]);
    assert.deepEqual(await gpusOf(`${launch} trainer.nnodes=2 trainer.n_gpus_per_node=4`), [2, 4]);
  });
});

describe('sizes of 0 in GPT-NeoX', () => {
  it('are 1', () => {
    const { facts, remarks } = readGptNeox('neox.yml', 'pipe_parallel_size: 0\nmodel_parallel_size: 0\nnum_layers: 40\n');
    assert.deepEqual([facts.tensor?.value, facts.pipeline?.value, remarks], [1, 1, []]);
  });
});
