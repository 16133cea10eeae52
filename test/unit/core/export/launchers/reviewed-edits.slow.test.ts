import assert from 'node:assert/strict';
import { decidedBySearch, writtenInto, type EditedLauncher } from '../../../../../src/core/export/launchers/edit-launcher';
import { unifiedDiff } from '../../../../../src/core/export/line-diff';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import type { LauncherFormat } from '../../../../../src/core/run/config-format';
import { loadReader } from '../../../../../src/core/config-files/readers';
import { shellReader } from '../../launchers/shell/shell-reader';
import { toText } from '../../../sentence-text';
import { editable } from './editors';
import { planWith } from './plans';

/** The lines that an edit changes, as `diff -u` has them. */
function changedLines(before: string, { text }: EditedLauncher): readonly string[] {
  return unifiedDiff(before, text, 'a', 'b')
    .split('\n')
    .slice(2)
    .filter((line) => /^[+-]/.test(line));
}

async function written(
  format: LauncherFormat,
  file: string,
  text: string,
  plan: LaunchSettings,
  bySearch = false,
): Promise<EditedLauncher> {
  const read = await loadReader(format, shellReader);
  const target = editable(read(file, text), read);
  return writtenInto(plan, target, bySearch ? decidedBySearch(plan, target) : undefined);
}

/** A script with the lines of a public one, which starts a Llama of 24 layers on 8 GPUs. */
const script = (head: string, flags: string): string =>
  `#!/bin/bash\n${head}\nARGS=(\n${flags}\n    --use-distributed-optimizer\n    --seq-length 4096\n    --global-batch-size 64\n)\ntorchrun --nproc_per_node 8 --nnodes 1 pretrain_gpt.py \${ARGS[@]} --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --bf16\n`;

describe('an edit that the owner of a file reviews', () => {
  it('takes the definition of a variable out with the flag that took it, and writes new flags behind their nearest', async () => {
    const text = script(
      'TP=1\nPP=2\nVPP=4\nMBS=1',
      '    --tensor-model-parallel-size ${TP}\n    --pipeline-model-parallel-size ${PP}\n    --num-layers-per-virtual-pipeline-stage ${VPP}\n    --micro-batch-size ${MBS}',
    );
    const plan = planWith({ pipeline: 4, data: 2, stageLayers: [5, 7, 7, 5] });
    assert.deepEqual(changedLines(text, await written('megatron-shell', 'run.sh', text, plan)), [
      '-PP=2',
      '-VPP=4',
      '+PP=4',
      '-    --num-layers-per-virtual-pipeline-stage ${VPP}',
      '+    --decoder-first-pipeline-num-layers 5',
      '+    --decoder-last-pipeline-num-layers 5',
    ]);
  });

  it('keeps a variable that something else takes', async () => {
    const text = script(
      'VPP=4\necho "chunks of $VPP"',
      '    --pipeline-model-parallel-size 2\n    --num-layers-per-virtual-pipeline-stage ${VPP}\n    --micro-batch-size 1',
    );
    const lines = changedLines(text, await written('megatron-shell', 'run.sh', text, planWith({ pipeline: 2, data: 4 })));
    assert.deepEqual(lines, ['-    --num-layers-per-virtual-pipeline-stage ${VPP}']);
  });

  it('gives a size its own value where its variable took that of all GPUs', async () => {
    const text = script(
      'GPUS_PER_NODE=8\nNUM_NODES=1\nWORLD_SIZE=$(($GPUS_PER_NODE*$NUM_NODES))\necho $WORLD_SIZE\nPP_SIZE=${WORLD_SIZE}     ',
      '    --pipeline-model-parallel-size ${PP_SIZE}\n    --micro-batch-size 1',
    );
    const lines = changedLines(text, await written('megatron-shell', 'run.sh', text, planWith({ pipeline: 2, data: 4 })));
    assert.deepEqual(lines, ['-PP_SIZE=${WORLD_SIZE}     ', '+PP_SIZE=2     ']);
  });

  it('writes what is recomputed next to how', async () => {
    const flags = '    --recompute-granularity full\n    --recompute-method uniform\n    --recompute-num-layers 1';
    const text = script('', `    --pipeline-model-parallel-size 2\n    --micro-batch-size 1\n${flags}`);
    const plan = planWith({ pipeline: 2, data: 4, recompute: { granularity: 'selective', modules: ['layernorm'] } });
    assert.deepEqual(changedLines(text, await written('megatron-shell', 'run.sh', text, plan)), [
      '-    --recompute-granularity full',
      '-    --recompute-method uniform',
      '-    --recompute-num-layers 1',
      '+    --recompute-granularity selective',
      '+    --recompute-modules layernorm',
    ]);
  });

  it('leaves what only a run decides: the branch of a condition, and with a search the length that it is called with', async () => {
    const text = script(
      'AC=$5\nif [ $AC = full ]; then\n  RECOMPUTE="--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"\nfi',
      '    --pipeline-model-parallel-size 2\n    --micro-batch-size 1\n    ${RECOMPUTE}',
    ).replace('--seq-length 4096', '--seq-length $7');
    const plan = planWith({ pipeline: 2, data: 4 });
    const { text: after, gaps } = await written('megatron-shell', 'run.sh', text, plan, true);
    assert.equal(after, text);
    assert.deepEqual(
      gaps.map(({ what, reason }) => `${toText(what)}: ${toText(reason)}`),
      ['recompute none: it is set under a condition that is known only when the file runs; edit it yourself'],
    );
    const fixed = await written('megatron-shell', 'run.sh', text, plan);
    assert.match(fixed.text, /--seq-length 4096/);
    assert.match(fixed.gaps.map(({ what, reason }) => `${toText(what)}: ${toText(reason)}`).join('\n'), /argument 7 of the script/);
  });

  it('with a search leaves the sharding over one replica as it is', async () => {
    const text = script('', '    --pipeline-model-parallel-size 8\n    --micro-batch-size 1');
    const plan = planWith({ pipeline: 8, data: 1, zeroStage: 0 });
    assert.equal((await written('megatron-shell', 'run.sh', text, plan, true)).text, text);
    assert.doesNotMatch((await written('megatron-shell', 'run.sh', text, plan)).text, /distributed-optimizer/);
  });

  it('keeps the remark behind a TorchTitan size true, and writes keys behind their nearest', async () => {
    const text = `[training]
local_batch_size = 2
seq_len = 4096
dataset = "c4"

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 8  # 8-way TP
enable_async_tensor_parallel = true
pipeline_parallel_degree = 1
context_parallel_degree = 1

[activation_checkpoint]
mode = "none"  # ["none", "selective", "full"]
`;
    const piped = planWith({ tensor: 2, pipeline: 2, data: 2, microBatch: 2, zeroStage: 3, sequenceParallel: true, stageLayers: [11, 13] });
    assert.deepEqual(changedLines(text, await written('torchtitan', 'train.toml', text, piped)), [
      '-local_batch_size = 2',
      '+local_batch_size = 32',
      '-tensor_parallel_degree = 8  # 8-way TP',
      '+tensor_parallel_degree = 2  # 2-way TP',
      '-pipeline_parallel_degree = 1',
      '+pipeline_parallel_degree = 2',
      '+pipeline_parallel_first_stage_less_layers = 2',
      '+pipeline_parallel_last_stage_less_layers = 0',
      '+pipeline_parallel_microbatch_size = 2',
    ]);
    const sharded = planWith({ tensor: 1, data: 8, zeroStage: 3 });
    assert.deepEqual(changedLines(text, await written('torchtitan', 'train.toml', text, sharded)), [
      '-local_batch_size = 2',
      '+local_batch_size = 1',
      '+global_batch_size = 64',
      '-tensor_parallel_degree = 8  # 8-way TP',
      '+tensor_parallel_degree = 1  # 1-way TP',
    ]);
  });

  it('names sequence parallelism off as missing in a TorchTitan TOML, whose versions stop at a key for it', async () => {
    const text = '[training]\nlocal_batch_size = 2\nglobal_batch_size = 64\n\n[parallelism]\ntensor_parallel_degree = 2\n';
    const plan = planWith({ tensor: 2, data: 4, microBatch: 2, zeroStage: 3, sequenceParallel: false });
    const { text: after, gaps } = await written('torchtitan', 'train.toml', text, plan);
    assert.doesNotMatch(after, /sequence_parallel/);
    assert.ok(gaps.some(({ what }) => toText(what) === 'sequence parallelism off'));
  });

  it('writes keys of a GPT-NeoX file behind their nearest, not at the top of a section', async () => {
    const text = `{
   # parallelism settings
   "pipe_parallel_size": 1,
   "model_parallel_size": 1,

   # model settings
   "num_layers": 24,
   "hidden_size": 2048,
   "num_attention_heads": 16,
   "seq_length": 4096,
   "max_position_embeddings": 4096,

   # batch / data settings
   "train_micro_batch_size_per_gpu": 4,
   "data_impl": "mmap",
}
`;
    const plan = planWith({ tensor: 2, data: 4, zeroStage: 0, sequenceParallel: true, globalBatch: 64 });
    assert.deepEqual(changedLines(text, await written('gpt-neox', '175B.yml', text, plan)), [
      '-   "model_parallel_size": 1,',
      '+   "model_parallel_size": 2,',
      '+   "sequence_parallel": true,',
      '-   "train_micro_batch_size_per_gpu": 4,',
      '+   "train_micro_batch_size_per_gpu": 1,',
      '+   "gradient_accumulation_steps": 16,',
    ]);
  });

  it("takes MindSpeed's overlap of passes out with the schedule that it needs", async () => {
    const text = script(
      'PP=2',
      '    --tensor-model-parallel-size 1\n    --pipeline-model-parallel-size ${PP}\n    --expert-model-parallel-size 2\n    --num-experts 8\n    --moe-router-topk 2\n    --moe-fb-overlap\n    --schedules-method dualpipev\n    --micro-batch-size 1',
    ).replace('torchrun', 'python -m mindspeed_llm; torchrun');
    const { model } = planWith();
    const experts = { model: { ...model, experts: { count: 8, active: 2 } }, expert: 2, expertTensor: 1 };
    const lines = changedLines(text, await written('megatron-shell', 'run.sh', text, planWith({ ...experts, pipeline: 4, data: 2 })));
    assert.deepEqual(lines, ['-PP=2', '+PP=4', '-    --moe-fb-overlap', '-    --schedules-method dualpipev']);
  });

  it('sets the size of expert groups in the GPT-NeoX files that have one, which the last commit has not', async () => {
    const text = [
      'pipe_parallel_size: 1',
      'model_parallel_size: 1',
      'num_layers: 24',
      'hidden_size: 2048',
      'num_attention_heads: 16',
      'seq_length: 4096',
      'train_micro_batch_size_per_gpu: 1',
      'gradient_accumulation_steps: 8',
      'moe_num_experts: 8',
      '',
    ].join('\n');
    const { model } = planWith();
    const plan = planWith({ expert: 2, zeroStage: 0, model: { ...model, experts: { count: 8, active: 2 } } });
    const without = await written('gpt-neox', 'moe.yml', text, plan);
    assert.doesNotMatch(without.text, /expert_parallel/);
    assert.ok(without.gaps.some(({ reason }) => toText(reason).includes('no key for it')));
    const old = `${text}moe_expert_parallel_size: 4\n`;
    assert.deepEqual(changedLines(old, await written('gpt-neox', 'moe.yml', old, plan)), [
      '-moe_expert_parallel_size: 4',
      '+moe_expert_parallel_size: 2',
    ]);
  });

  it('changes the default of a variable of the environment in a Primus file, and writes keys behind their nearest', async () => {
    const text = `modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: llama3_8B.yaml
    overrides:
      micro_batch_size: 1
      global_batch_size: 64
      seq_length: \${PRIMUS_SEQ_LENGTH:4096}
      # parallel
      tensor_model_parallel_size: \${PRIMUS_TP:8} # of a node
      pipeline_model_parallel_size: 1
      expert_model_parallel_size: 1
      overlap_grad_reduce: true
      use_distributed_optimizer: true
      bf16: true
`;
    const plan = planWith({ tensor: 2, pipeline: 2, data: 2, stageLayers: [11, 13], sequenceParallel: true });
    assert.deepEqual(changedLines(text, await written('primus', 'exp.yaml', text, plan)), [
      '-      tensor_model_parallel_size: ${PRIMUS_TP:8} # of a node',
      '-      pipeline_model_parallel_size: 1',
      '+      tensor_model_parallel_size: ${PRIMUS_TP:2} # of a node',
      '+      pipeline_model_parallel_size: 2',
      '+      decoder_first_pipeline_num_layers: 11',
      '+      decoder_last_pipeline_num_layers: 13',
      '+      sequence_parallel: true',
    ]);
  });
});
