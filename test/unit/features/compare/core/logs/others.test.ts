import assert from 'node:assert/strict';
import { steadyOfLog } from '../../../../../../src/features/compare/core/logs/steady';
import { fixture, logOf } from './logs';

describe('a log of TorchTitan', () => {
  const text = fixture('torchtitan.log');

  it('reports its mesh, batch, GPU and parameters, and steps by tokens a second of a GPU', () => {
    const log = logOf(text);
    assert.deepEqual(log.facts, {
      'layout.pipeline': 1,
      'layout.data': 8,
      'layout.context': 1,
      'layout.tensor': 1,
      gpus: 8,
      'cluster.gpu': 'H200',
      parameters: 6163712,
      'training.recompute': 'selective',
      'training.runtime': 'torchtitan',
      'training.sequenceLength': 2048,
      'training.globalBatch': 64,
    });
    // 8 sequences of 2,048 tokens a GPU; the lines are 45 to 55 ms apart
    assert.deepEqual(
      log.steps.map(({ ms }) => Math.round(ms)),
      [2846, 54, 46, 47, 48, 52, 50, 45, 47, 51],
    );
    assert.deepEqual(log.memory, [{ rank: 0, allocatedBytes: null, reservedBytes: 1.34 * 2 ** 30 }]);
    assert.deepEqual([log.startsAfter, steadyOfLog(log)?.iterations, log.steps[9]?.tflopsPerGpu], [0, [6, 10], 23.21]);
  });

  it('without its head is timed by when its lines were written', () => {
    const steps = text.split('\n').filter((line) => line.includes('step:')).join('\n'); // prettier-ignore
    assert.deepEqual(
      logOf(steps).steps.map(({ ms }) => Math.round(ms)),
      [55, 46, 47, 49, 52, 50, 45, 47, 51],
    );
  });

  it('is one run though every rank writes it, in colours', () => {
    const escape = String.fromCharCode(27);
    const ranks = text
      .split('\n')
      .flatMap((line) => [0, 1, 2].map((rank) => line.replace('[rank0]', `[rank${rank}]`).replace('step:', `${escape}[31mstep:`)))
      .join('\r\n');
    const log = logOf(ranks);
    assert.deepEqual([log.steps.length, log.runs, log.memory.length], [10, 1, 3]);
    assert.deepEqual(log.facts, logOf(text).facts);
  });

  it('of today reports its mesh by name and its batch in tokens; validation is not a step', () => {
    const log = logOf(`[titan] Building device mesh with parallelism: pp=2, dp_replicate=2, dp_shard=4, cp=2, tp=8, ep=4
[titan] Trainer is initialized with 32768 tokens per DP rank, 524288 tokens per train step, gradient accumulation steps 2, maximum context length 8192, total steps 100 (warmup 2)
[titan] step: 20  loss: 11.83506  grad_norm:  9.6669  memory: 48.87GiB(51.44%)  tps: 4,096  tflops: 253.41  mfu: N/A
[titan] validate step: 20  loss:  7.0000  memory: 48.87GiB(51.44%)  tps: 40,960
`);
    const { gpus, 'layout.data': data, 'layout.expert': expert, 'training.globalBatch': batch } = log.facts;
    assert.deepEqual([gpus, data, expert, batch], [256, 8, 4, 64]);
    assert.deepEqual(
      log.steps.map(({ iteration, ms }) => [iteration, ms]),
      [[20, 500]],
    );
  });
});

/** Lines as DeepSpeed 0.15 writes them (utils/timer.py, runtime/config.py, runtime/utils.py). */
const head = `[2024-07-10 16:18:04,389] [INFO] [config.py:999:print] DeepSpeedEngine configuration:
[2024-07-10 16:18:04,389] [INFO] [config.py:1003:print]   bfloat16_enabled ............. True
[2024-07-10 16:18:04,389] [INFO] [config.py:1003:print]   gradient_accumulation_steps .. 4
[2024-07-10 16:18:04,389] [INFO] [config.py:1003:print]   steps_per_print .............. 10
[2024-07-10 16:18:04,390] [INFO] [config.py:1003:print]   train_batch_size ............. 128
[2024-07-10 16:18:04,390] [INFO] [config.py:1003:print]   train_micro_batch_size_per_gpu  8
[2024-07-10 16:18:04,390] [INFO] [config.py:1003:print]   world_size ................... 4
[2024-07-10 16:18:04,390] [INFO] [config.py:1003:print]   zero_config .................. stage=2 contiguous_gradients=True reduce_scatter=True
[2024-07-10 16:18:05,014] [INFO] [utils.py:801:see_memory_usage] MA 4.32 GB         Max_MA 4.82 GB         CA 5.5 GB         Max_CA 6 GB
`;

describe('a log of DeepSpeed', () => {
  it('reports batch, replicas, ZeRO stage and memory, and steps by samples a second of all GPUs', () => {
    const log =
      logOf(`${head}[2023-11-07 01:55:23,711] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=4, lr=[4.9e-05], mom=[(0.9, 0.95)]
[2023-11-07 01:55:23,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=40/global_step=10, RunningAvgSamplesPerSec=25.025771473496132, CurrSamplesPerSec=25.6, MemAllocated=4.32GB, MaxMemAllocated=38.49GB
[2023-11-07 01:55:48,714] [INFO] [timer.py:260:stop] epoch=0/micro_step=80/global_step=20, RunningAvgSamplesPerSec=25.1, CurrSamplesPerSec=32.0, MemAllocated=4.32GB, MaxMemAllocated=38.49GB
`);
    assert.deepEqual(log.steps.map(({ iteration, ms }) => [iteration, ms]), [[10, 5000], [20, 4000]]); // prettier-ignore
    const { 'training.microBatch': micro, 'layout.data': data, 'training.zeroStage': zero, 'training.precision': precision } = log.facts;
    assert.deepEqual([micro, data, zero, precision, log.facts['training.runtime']], [8, 4, 2, 'bf16', 'deepspeed']);
    assert.deepEqual(log.memory, [{ rank: 0, allocatedBytes: 38.49 * 2 ** 30, reservedBytes: 5.5 * 2 ** 30 }]);
    // each is one step, not the mean of ten
    assert.deepEqual(steadyOfLog(log)?.iterations, [10, 20]);
  });

  it('reports steps of its pipeline engine, or by its timers', () => {
    const pipe = logOf('steps: 200 loss: 5.5508 lm loss: 5.5103 moe loss: 0.0405 iter time (s): 0.936 samples/sec: 136.706\n');
    assert.deepEqual([pipe.steps[0]?.ms, pipe.facts['training.globalBatch']], [936, 128]);
    const timers = fixture('megatron-deepspeed.log').replaceAll('elapsed time', 'time');
    assert.deepEqual(logOf(timers).steps.map(({ iteration, ms }) => [iteration, Math.round(ms)]), [[1, 21035], [2, 10095]]); // prettier-ignore
  });
});

describe('a log of the Trainer', () => {
  const head = `***** Running training *****
  Num examples = 9,920
  Num Epochs = 1
  Instantaneous batch size per device = 4
  Total train batch size (w. parallel, distributed & accumulation) = 64
  Gradient Accumulation steps = 2
  Total optimization steps = 155
`;
  const clock = (seconds: number): string =>
    `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`;
  const bar = (step: number): string =>
    `\r ${Math.floor((100 * step) / 155)}%|███▍      | ${step}/155 [${clock(8 + 7 * step)}<10:00,  7.00s/it]`;

  it('reports its batch, and steps over stretches of its progress bar', () => {
    const bars = Array.from({ length: 60 }, (_, step) => bar(step)).join('');
    const log = logOf(
      `Loading checkpoint shards: 100%|██████████| 4/4 [00:08<00:00,  2.10s/it]\n${head}${bars}\n{'loss': 1.2, 'epoch': 0.4}\n`,
    );
    assert.deepEqual([log.facts['layout.data'], log.facts['training.globalBatch'], steadyOfLog(log)?.medianMs], [8, 64, 7000]);
  });

  it('without a bar is timed as a whole', () => {
    const log = logOf(`${head}{'train_runtime': '1085.0', 'train_samples_per_second': '9.04', 'train_steps_per_second': '0.143'}\n`);
    assert.deepEqual(
      log.steps.map(({ ms }) => ms),
      [7000],
    );
  });
});
