import assert from 'node:assert/strict';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { readerOf } from '../config-files/files';
import { shellReader } from '../launchers/shell/shell-reader';

const verl = (actor: string) => `python3 -m verl.trainer.main_ppo data.train_batch_size=64 \\
  actor_rollout_ref.model.path=Qwen/Qwen2.5-14B-Instruct actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1 \\
  trainer.n_gpus_per_node=8 trainer.nnodes=10 data.max_prompt_length=1024 data.max_response_length=64512 ${actor}
`;
const megatron = (flags: string) => `torchrun --nnodes 1 --nproc_per_node 6 pretrain_gpt.py --num-layers 24 --hidden-size 2048 \\
  --num-attention-heads 16 --seq-length 3072 --max-position-embeddings 3072 --micro-batch-size 1 ${flags}
`;

/** Codes of the errors in a file. */
async function errorsOf(name: string, text: string, others: Readonly<Record<string, string>> = {}): Promise<readonly string[]> {
  const { findings } = await loadConfig(name, text, { read: readerOf(others), shell: shellReader });
  return findings.flatMap(({ code, severity }) => (severity === 'error' ? [code] : [])).sort();
}

describe('rules', () => {
  it('see the sizes of a model that a launcher names', async () => {
    const actor = 'actor_rollout_ref.actor.megatron';
    assert.deepEqual(await errorsOf('run.sh', verl(`${actor}.tensor_model_parallel_size=16 ${actor}.pipeline_model_parallel_size=7`)), [
      'heads-tp',
      'pp-layers-not-divisible',
    ]);
    const titan = '[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\ntensor_parallel_degree = 16\n';
    assert.deepEqual(await errorsOf('tt.toml', titan), ['kv-heads-tp']);
  });

  it('divide heads for Ulysses, and the sequence into as many parts as ranks', async () => {
    const of = (size: number) => errorsOf('run.sh', verl(`actor_rollout_ref.actor.ulysses_sequence_parallel_size=${size}`));
    assert.deepEqual(await of(40), []);
    assert.deepEqual(await of(16), ['cp-heads']);
  });

  it('divide heads over the all-to-all ranks of a2a+p2p, key/value heads too', async () => {
    const flags = '--context-parallel-size 6 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes';
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 2 3`)), []);
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 2 3 --group-query-attention --num-query-groups 1`)), ['cp-heads']);
  });

  it('refuse fewer micro-batches than stages, and a small last group, where stages are interleaved', async () => {
    const flags = '--pipeline-model-parallel-size 6 --num-layers-per-virtual-pipeline-stage 2 --global-batch-size';
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 12`)), []);
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 3`)), ['vpp-microbatch-multiple']);
    const group = '--microbatch-group-size-per-virtual-pipeline-stage 8';
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 14 ${group}`)), []);
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} 12 ${group}`)), ['vpp-microbatch-multiple']);
  });

  it('refuse ZeRO 2 and 3 with the pipeline module of Megatron-DeepSpeed', async () => {
    const flags = '--deepspeed --zero-stage 3';
    assert.deepEqual(await errorsOf('run.sh', megatron(flags)), ['zero-with-pp']);
    assert.deepEqual(await errorsOf('run.sh', megatron(`${flags} --no-pipeline-parallel`)), []);
  });

  it('know the ZeRO stage of the DeepSpeed JSON that a launch names', async () => {
    const json = '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}';
    const flags = '--deepspeed --deepspeed_config ds.json --pipeline-model-parallel-size 2';
    assert.deepEqual(await errorsOf('run.sh', megatron(flags), { 'ds.json': json }), ['zero-with-pp']);
    assert.deepEqual(await errorsOf('run.sh', megatron(flags)), []);
  });

  it('name the cause of a tensor size that divides nothing once', async () => {
    const flags = '--tensor-model-parallel-size 5 --sequence-parallel --group-query-attention --num-query-groups 8 --vocab-size 50257';
    assert.deepEqual(await errorsOf('run.sh', megatron(flags)), ['heads-tp']);
  });
});
