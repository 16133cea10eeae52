import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fixture, iterationLine } from '../core/logs/logs';
import { openCommandLine } from '../../../cli/command-line';

/** The parts of `plan --json` that these tests read. */
interface Planned {
  readonly plan: {
    readonly iterationMs: number;
    readonly layout: { readonly tensor: number; readonly data: number };
    readonly scenario: object;
    readonly training: { readonly microBatch: number; readonly runtime?: string };
    readonly cost: { readonly calibration: { readonly iterationMs: number | null; readonly steps: readonly object[] } };
  };
  readonly measured: {
    readonly use: string;
    readonly match: string;
    readonly differences: readonly { readonly key: string; readonly log: number; readonly plan: number }[];
    readonly steps: { readonly counted: number; readonly warmUp: number; readonly medianMs: number };
    readonly flops: { readonly logged: number; readonly agree: boolean };
    readonly memory: readonly { readonly measuredBytes: number; readonly predictedBytes: number }[];
  };
}

/** Mixtral 8x7B on 16 GPUs, and four lines of a log that its issue shows (NVIDIA/Megatron-LM 756). */
const script = `torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py \\
  --tensor-model-parallel-size 2 --pipeline-model-parallel-size 1 --expert-model-parallel-size 8 \\
  --sequence-parallel --use-distributed-optimizer --num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 \\
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm \\
  --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights \\
  --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall --vocab-size 32000 \\
  --seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 128 --bf16 --use-flash-attn
`;
const sizes =
  'using world size: 16, data-parallel size: 8, context-parallel size: 1 tensor-model-parallel size: 2, pipeline-model-parallel size: 1 \n';
const log = sizes + [5580.9, 5695.8, 5444.5, 5590.1].map((ms, at) => iterationLine(85 + at, ms)).join('');

const tiny = path.join(import.meta.dirname, '../../../../fixtures/configs/llama-tiny/config.json');

describe('terapipe plan --measured LOG', () => {
  const cli = openCommandLine();
  const write = (name: string, text: string): void => writeFileSync(path.join(cli.folder, name), text);
  const plan = async (...args: string[]): Promise<Planned> => JSON.parse((await cli.run(['plan', '--json', ...args])).out) as Planned;
  before(() => {
    write('run.sh', script);
    write('train.log', log);
    write('batch.sh', script.replace('--global-batch-size 128', '--global-batch-size 64'));
    write('wide.sh', script.replace('--tensor-model-parallel-size 2', '--tensor-model-parallel-size 4'));
    write('long.sh', script.replaceAll('2048', '4096'));
  });
  after(() => cli.dispose());

  it('meets the step of the log of the run, without dropping iterations 85 to 88', async () => {
    const { measured, plan: planned } = await plan('run.sh', '--measured', 'train.log');
    assert.deepEqual([measured.use, measured.match, measured.steps.counted, measured.steps.warmUp], ['own step', 'same', 4, 0]);
    assert.equal(planned.cost.calibration.iterationMs, 5580.9);
    assert.equal(measured.flops.agree, true);
    const { out } = await cli.run(['plan', 'run.sh', '--measured', 'train.log']);
    assert.match(out, /log +Megatron-LM, iterations 85 to 88: the median of 4 lines, half of them between 5\.44 s and 5\.59 s/);
    assert.match(out, /The log has 234 TFLOP\/s per GPU, \d+ by the model FLOPs counted here\./);
  });

  it('takes the log of another batch as a step of another run, and reports it first', async () => {
    const { measured, plan: planned } = await plan('batch.sh', '--measured', 'train.log');
    assert.deepEqual([measured.use, measured.differences], ['step of another run', [{ key: 'training.globalBatch', log: 128, plan: 64 }]]);
    assert.deepEqual([planned.cost.calibration.iterationMs, planned.cost.calibration.steps.length], [null, 1]);
    assert.ok(planned.iterationMs < 0.7 * 5580.9, 'half the batch takes about half the time');
    const warning = /^The log is from a run with a different batch or number of replicas: global batch 128 \(planned 64\)./;
    assert.match((await cli.run(['plan', 'batch.sh', '--measured', 'train.log'])).out, warning);
    assert.match((await cli.run(['memory', 'batch.sh', '--measured', 'train.log'])).err, warning);
  });

  it('refuses the log of another run with both values of each difference', async () => {
    const wide = await cli.run(['plan', 'wide.sh', '--measured', 'train.log']);
    assert.deepEqual([wide.exitCode, wide.out], [2, '']);
    assert.match(wide.err, /^train\.log:1:1: The log is from another run: tensor parallel size 2 \(planned 4\), data parallel size 8 \(planned 4\); .*--set layout\.tensor=2 --set layout\.data=8/); // prettier-ignore
    const long = await cli.run(['plan', 'long.sh', '--measured', 'train.log']);
    assert.match(long.err, /another run: 234 TFLOP\/s per GPU \(the planned model and batch make \d+ of its time\)/);
  });

  it('plans on as many GPUs as DeepSpeed has replicas, where no file sets how many', async () => {
    const dump = ['train_batch_size ............. 128', 'train_micro_batch_size_per_gpu  8', 'gradient_accumulation_steps .. 4'];
    const rate = 'epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=5.1, CurrSamplesPerSec=320.0, MaxMemAllocated=68.49GB';
    const config = '[2024-07-10 16:18:04,389] [INFO] [config.py:1003:print]  ';
    write('ds.log', `${dump.map((line) => `${config} ${line}\n`).join('')}[2023-11-07 01:55:48,714] [INFO] [timer.py:260:stop] ${rate}\n`);
    write('config.json', readFileSync(tiny, 'utf8'));
    const { plan: planned, measured } = await plan('config.json', '--measured', 'ds.log');
    assert.deepEqual([measured.use, measured.steps.medianMs, planned.layout.tensor, planned.layout.data], ['own step', 400, 1, 4]);
    assert.deepEqual([planned.training.microBatch, planned.training.runtime], [8, 'deepspeed']);
  });

  it('plans what no file sets as the log has it', async () => {
    write('config.json', readFileSync(tiny, 'utf8'));
    const { layout, training, scenario } = (await plan('config.json')).plan;
    assert.notDeepEqual([layout.tensor, training.microBatch], [2, 2]);
    const args = fixture('megatron-arguments.log').split('\n').filter((line) => /micro_batch|global_batch|precision|params_dtype/.test(line)); // prettier-ignore
    const own = `using world size: 16, data-parallel size: 8, context-parallel size: 1, tensor-model-parallel size: 2, pipeline-model-parallel size: 1
${args
  .join('\n')
  .replace(/(micro_batch_size \.+) 1/, '$1 2')
  .replace('512', '128')}\n`;
    write('own.log', own + [900, 910, 920].map((ms, at) => iterationLine(85 + at, ms).replace(/throughput[^|]*\|/, '')).join(''));
    const { plan: planned, measured } = await plan('config.json', '--measured', 'own.log');
    assert.deepEqual([measured.use, planned.layout.tensor, planned.layout.data, planned.training.microBatch], ['own step', 2, 8, 2]);
    assert.notDeepEqual(planned.scenario, scenario);
  });
});
