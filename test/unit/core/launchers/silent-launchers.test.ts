import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../src/core/errors';
import type { LauncherReader } from '../../../../src/core/run/facts';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../src/core/sentence';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { shellReader } from './shell/shell-reader';

const node = { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 } as const;

const megatron = (flags: string): string => `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 4096 --max-position-embeddings 4096 --micro-batch-size 2 --bf16 --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 ${flags}\n`; // prettier-ignore
const axolotl = (more: string): string => `base_model: meta-llama/Llama-3.2-1B\ndatasets: []\nsequence_len: 4096\nmicro_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: auto\n${more}`; // prettier-ignore
const factory = (more: string): string => `model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\ncutoff_len: 2048\nper_device_train_batch_size: 1\n${more}`; // prettier-ignore
const verl = (more: string): string => `python3 -m verl.trainer.main_ppo data.train_batch_size=256 data.max_prompt_length=1024 data.max_response_length=3072 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.actor.ppo_mini_batch_size=64 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2 trainer.n_gpus_per_node=8 trainer.nnodes=1 ${more}\n`; // prettier-ignore

let shell: LauncherReader;

async function request(file: string, text: string): Promise<PlanRequest> {
  const { run } = await loadConfig(file, text, {
    read: () => Promise.reject(new ExpectedError('config-not-found', sentence`none`, sentence`none`)),
    shell: () => Promise.resolve(shell),
  });
  assert.ok(run !== null, file);
  return resolveRun(run, node);
}

describe('what a launcher does where its file leaves it open', () => {
  before(async () => {
    shell = await shellReader();
  });

  it('is a batch of one micro-batch on each replica under Megatron-LM', async () => {
    const { training, assumptions } = await request('run.sh', megatron(''));
    assert.equal(training.globalBatch, 2 * 4);
    const assumed = assumptions.find(({ key }) => key === 'training.globalBatch');
    assert.match(say(assumed?.reason ?? ''), /Megatron-LM's default without --global-batch-size/);
    const { training: open } = await request('run.sh', megatron('--global-batch-size $BATCH'));
    assert.notEqual(open.globalBatch, 8, 'a flag whose value is not known is not left out');
  });

  it('is DDP without DeepSpeed and FSDP: nothing is sharded, the gradient exchange overlaps backward', async () => {
    const script = 'torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --bf16';
    for (const [file, text] of [
      ['a.yaml', axolotl('')],
      ['f.yaml', factory('bf16: true\n')],
      ['run.sh', script],
    ] as const) {
      // prettier-ignore
      const { training } = await request(file, text);
      assert.deepEqual([training.runtime, training.zeroStage, training.overlapGradReduce], ['ddp', 0, true], file);
    }
    assert.equal((await request('a.yaml', axolotl('deepspeed: ds.json\n'))).training.runtime, 'deepspeed');
    assert.equal((await request('run.sh', `${script} --deepspeed ds.json`)).training.runtime, 'deepspeed');
  });

  it('has no master weight where a program trains weights in bf16 as they are', async () => {
    const { training } = await request('a.yaml', axolotl(''));
    assert.deepEqual([training.masterWeightBytes, training.gradAccumulationFp32], [0, false]);
    const { training: sharded } = await request('a.yaml', axolotl('fsdp_config:\n  fsdp_version: 2\n'));
    assert.equal(sharded.masterWeightBytes, undefined, 'FSDP keeps its shards in fp32');
    const { training: cast } = await request('f.yaml', factory('bf16: true\n'));
    assert.deepEqual([cast.masterWeightBytes, cast.gradAccumulationFp32], [undefined, true], 'LLaMA-Factory makes them fp32');
    const { training: pure } = await request('f.yaml', factory('pure_bf16: true\n'));
    assert.deepEqual([pure.masterWeightBytes, pure.precision], [0, 'bf16']);
  });

  it('has no master weight where a script of Transformers loads its weights in bf16', async () => {
    const script = (flags: string): string =>
      `accelerate launch --num_processes 8 run_clm.py --per_device_train_batch_size 1 --block_size 2048 ${flags}`;
    const masterBytes = async (flags: string): Promise<readonly unknown[]> => {
      const { training } = await request('run.sh', script(flags));
      return [training.masterWeightBytes, training.precision];
    };
    assert.deepEqual(await masterBytes('--model_name_or_path Qwen/Qwen2.5-7B --bf16 --torch_dtype bfloat16'), [0, 'bf16']);
    assert.deepEqual(await masterBytes('--model_name_or_path Qwen/Qwen2.5-7B --dtype bfloat16'), [0, 'bf16']);
    assert.deepEqual(await masterBytes('--model_name_or_path Qwen/Qwen2.5-7B --bf16 --torch_dtype float32'), [undefined, 'bf16']);
    assert.deepEqual(await masterBytes('--model_name_or_path Qwen/Qwen2.5-7B --bf16 --torch_dtype auto'), [undefined, 'bf16']);
  });

  it('has no recompute where a launcher does none, unless something may ask for it', async () => {
    const isAssumed = async (file: string, text: string): Promise<boolean> =>
      (await request(file, text)).assumptions.some(({ key }) => key === 'training.recompute');
    assert.equal(await isAssumed('run.sh', megatron('')), false);
    assert.equal(await isAssumed('a.yaml', axolotl('')), false);
    assert.equal(await isAssumed('run.sh', megatron('--recompute-granularity $RECOMPUTE')), true);
  });

  it('is FSDP where verl runs on it', async () => {
    const { training } = await request('run.sh', verl('actor_rollout_ref.actor.strategy=fsdp'));
    assert.deepEqual([training.runtime, training.zeroStage, training.attentionKernel], ['fsdp1', 3, 'flash2']);
    const core = 'actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.megatron.tensor_model_parallel_size=2';
    assert.equal((await request('run.sh', verl(core))).training.runtime, undefined);
  });
});

describe('the attention that a launcher names', () => {
  before(async () => {
    shell = await shellReader();
  });

  it('is timed as that kernel', async () => {
    const kernel = async (flags: string): Promise<string | undefined> =>
      (await request('run.sh', megatron(flags))).training.attentionKernel;
    assert.equal(await kernel('--attention-backend flash'), 'flash2');
    assert.equal(await kernel('--attention-backend fused'), 'cudnn');
    assert.equal(await kernel('--attention-backend auto'), undefined);
    const { training } = await request('run.sh', megatron('--attention-backend unfused'));
    assert.deepEqual([training.attention, training.attentionKernel], ['unfused', undefined]);
  });
});
