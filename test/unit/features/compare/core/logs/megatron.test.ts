import assert from 'node:assert/strict';
import { steadyOfLog } from '../../../../../../src/features/compare/core/logs/steady';
import { fixture, iterationLine, logOf } from './logs';

const arguments_ = fixture('megatron-arguments.log');

describe('a log of Megatron-LM', () => {
  it('reports its steps, memory and parameters where lines of ranks are joined', () => {
    const log = logOf(fixture('megatron-joined-ranks.log'));
    assert.deepEqual(
      log.memory.map(({ rank, allocatedBytes }) => [rank, Math.round((allocatedBytes ?? 0) / 2 ** 20)]),
      [4, 2, 6, 0].map((rank, at) => [rank, [10607, 12681, 10851, 15755][at]]),
    );
    assert.deepEqual([log.steps.length, log.steps[0]?.ms, log.steps[9]?.tflopsPerGpu], [10, 19138.8, 117.6]);
    assert.deepEqual([log.facts.parameters, log.facts['training.globalBatch'], log.program], [3.5e9, 128, 'megatron']);
    const steady = steadyOfLog(log);
    assert.deepEqual([steady?.iterations, steady?.medianMs], [[6, 10], 13071.2]);
  });

  it('gives the sizes of its run by the line on parallel sizes and the dump of its arguments', () => {
    const { facts } = logOf(arguments_ + iterationLine(6, 5000, 512));
    assert.deepEqual(facts, {
      gpus: 8,
      'layout.data': 1,
      'layout.context': 1,
      'layout.tensor': 4,
      'layout.pipeline': 2,
      'layout.expert': 1,
      'layout.virtualStages': 1,
      'model.ffn': 21504,
      'model.hidden': 6144,
      'model.heads': 96,
      'model.kvHeads': 24,
      'model.layers': 56,
      'model.experts': 0,
      logInterval: 1,
      'training.globalBatch': 512,
      'training.microBatch': 1,
      'training.precision': 'bf16',
      'training.recompute': 'selective',
      'training.runtime': 'megatron',
      'training.sequenceLength': 8192,
      'training.zeroStage': 1,
    });
  });

  it('is that of the last run where several are written one after the other', () => {
    const runs = `${arguments_}${iterationLine(6, 5000)}${arguments_.replaceAll('512', '256')}${iterationLine(6, 2500, 256)}`;
    const log = logOf(runs);
    assert.deepEqual([log.runs, log.facts['training.globalBatch'], log.steps.map(({ ms }) => ms)], [2, 256, [2500]]);
  });

  it('keeps the sizes of its head where a run begins again from a checkpoint', () => {
    const log = logOf(`${arguments_}${iterationLine(40, 9)}${iterationLine(41, 9)}${iterationLine(21, 5, 512)}`);
    assert.deepEqual([log.runs, log.facts['layout.tensor'], log.steps.map(({ ms }) => ms)], [2, 4, [5]]);
  });

  it('of Megatron-DeepSpeed is read by its own lines, not those of DeepSpeed', () => {
    const log = logOf(fixture('megatron-deepspeed.log'));
    assert.deepEqual([log.program, log.steps.map(({ ms, tflopsPerGpu }) => [ms, tflopsPerGpu])], ['megatron', [[21133.8, 47.23], [10154.3, 98.29]]]); // prettier-ignore
    assert.equal(log.memory.find(({ rank }) => rank === 1)?.reservedBytes, 35824 * 2 ** 20);
    const argonne =
      '[2024-04-21 02:45:08][INFO][training:1251] -  iteration=       1/  317892 | consumed_samples=         256 | elapsed_time_per_iteration_ms=17711.7 | global_batch_size=  256 | TFLOPs=144.87 |';
    assert.deepEqual(logOf(argonne).steps, [{ iteration: 1, ms: 17711.7, globalBatch: 256, tflopsPerGpu: 144.87, skipped: false }]);
  });
});
