import assert from 'node:assert/strict';
import { makeLogReader } from '../../../../../../src/features/compare/core/logs/read-log';
import { logFormats, hasStepLines } from '../../../../../../src/features/compare/core/logs/registry';
import { fixture, iterationLine, logOf, maybeLogOf } from './logs';

describe('a hostile log', () => {
  it('reports only times that can be: no NaN, infinity, zero or ages', () => {
    for (const ms of ['nan', 'inf', '-5', '0.0', '1e300', '']) assert.equal(maybeLogOf(iterationLine(7, ms)), null, ms);
    const mixed = logOf(iterationLine(7, 'nan') + iterationLine(8, 12.5).replace('234.0', 'nan').replace('128 | lm', 'nan | lm'));
    assert.deepEqual(mixed.steps, [{ iteration: 8, ms: 12.5, globalBatch: null, tflopsPerGpu: null, skipped: false }]);
  });

  it('reads the same in pieces of any length, with any line ends', () => {
    const text = fixture('megatron-joined-ranks.log') + fixture('megatron-deepspeed.log');
    const whole = logOf(text);
    for (const size of [1, 7, 1000]) {
      const reader = makeLogReader();
      for (let at = 0; at < text.length; at += size) reader.push(text.slice(at, at + size));
      assert.deepEqual(reader.end(), whole);
    }
    assert.deepEqual(logOf(text.replaceAll('\n', '\r\n')), whole);
  });

  it('holds no more of a line than a trainer writes, however long it is', () => {
    const reader = makeLogReader();
    for (let piece = 0; piece < 64; piece++) reader.push('x'.repeat(2 ** 20));
    reader.push(`\n${iterationLine(7, 12.5)}`);
    assert.equal(reader.end()?.steps.length, 1);
  });

  it('of endless ranks keeps memory of no more than there can be', () => {
    const reader = makeLogReader();
    for (let rank = 0; rank < 150_000; rank++) reader.push(`[Rank ${rank}] (after 1 iterations) memory (MB) | max allocated: 5.0\n`);
    reader.push(iterationLine(7, 12.5));
    assert.equal(reader.end()?.memory.length, 100_000);
  });

  it('cannot set what no fact is called', () => {
    const log = logOf(`  __proto__ ........................................ 5\n  constructor ...... 5\n${iterationLine(7, 1)}`);
    assert.deepEqual(log.facts, { 'training.globalBatch': 128, 'training.runtime': 'megatron' });
  });

  it('is found in time in proportion to its length', () => {
    for (const part of ['step: 1 ', '| ', '0/0 [', 'time (ms) | fwd: 1 | bwd: 1 |', 'iteration 1/1 ', '%|', '[Rank 1] ']) {
      const text = part.repeat(2 ** 18 / part.length);
      for (const { stepLine } of logFormats) assert.equal(stepLine.test(text), false);
      assert.equal(maybeLogOf(text), null);
    }
  });

  it('is distinguished from configs and scripts', () => {
    const others = [
      '{"model": "config.json"}',
      '#!/bin/bash\ntorchrun train.py --log-interval 1\n',
      'steps: 100\nmodel:\n  layers: 2\n',
      '',
    ];
    assert.deepEqual(others.map(hasStepLines), [false, false, false, false]);
  });
});
