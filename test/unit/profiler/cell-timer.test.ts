import assert from 'node:assert/strict';
import * as runtime from 'onnxruntime-node';
import { createCellTimer } from '../../../src/profiler/cell-timer';
import { timedGraph, timedInputsGraph } from '../../../src/profiler/graph/slice-graph';
import type { Limits } from '../../../src/profiler/memory';
import { smallJob } from './jobs';

const device = { kind: 'cpu', name: 'test', memoryBytes: null, driver: null } as const;

describe('cell timer', () => {
  /** A timer on the CPU with this much free memory, and the limits it built backward graphs for. */
  const timer = (limits: Limits, freeBytes: number, attention: 'plain' | 'MultiHeadAttention' = 'plain') => {
    const built: Limits[] = [];
    const job = { ...smallJob, attention: attention === 'plain' ? 'plain' : 'fused', limits } as const;
    const measure = createCellTimer({
      models: {
        graph: (sized, operator, part, direction) => {
          if (direction === 'backward') built.push(sized.limits);
          return timedGraph(sized, operator, part, direction).bytes;
        },
        inputs: (...pass) => timedInputsGraph(...pass).bytes,
      },
      freeBytes: () => Promise.resolve(freeBytes),
      runtime,
      provider: 'cpu',
      job,
      attention,
      device,
    });
    const outcome = async (tokens: number, context: number): Promise<string> => {
      const answer = await measure('layer', { batch: 1, tokens, context });
      return answer.type === 'skipped' ? answer.reason : answer.type;
    };
    return { outcome, built };
  };

  it('builds one graph for all cells where memory allows it', async () => {
    const limits = { batch: 1, tokens: 64, sequence: 128 };
    const { outcome, built } = timer(limits, 2 ** 34);
    assert.equal(await outcome(32, 32), 'measured');
    assert.equal(await outcome(64, 64), 'measured');
    assert.equal(await outcome(16, 0), 'measured');
    assert.deepEqual(built, [limits]);
  });

  it('builds for the cells that came where saved probabilities of the largest would not fit, and skips that one', async () => {
    const { outcome, built } = timer({ batch: 1, tokens: 4096, sequence: 4096 }, 200 * 2 ** 20);
    assert.equal(await outcome(32, 32), 'measured');
    assert.equal(await outcome(4096, 0), 'out-of-memory');
    assert.equal(await outcome(16, 112), 'measured');
    assert.equal(await outcome(32, 32), 'measured');
    assert.deepEqual(built, [
      { batch: 1, tokens: 32, sequence: 64 },
      { batch: 1, tokens: 32, sequence: 128 },
    ]);
  });

  it('skips everything where nothing fits', async () => {
    const { outcome, built } = timer({ batch: 1, tokens: 64, sequence: 128 }, 2 ** 10);
    assert.equal(await outcome(32, 32), 'out-of-memory');
    assert.deepEqual(built, []);
  });

  it('shows what ONNX Runtime reports when a graph fails', async () => {
    const failing = createCellTimer({
      models: { graph: () => Uint8Array.of(1, 2, 3), inputs: () => Uint8Array.of() },
      freeBytes: () => Promise.resolve(Infinity),
      runtime,
      provider: 'cpu',
      job: smallJob,
      attention: 'plain',
      device,
    });
    const answer = await failing('layer', { batch: 1, tokens: 16, context: 0 });
    assert.ok(answer.type === 'skipped' && answer.reason === 'failed');
    assert.match(answer.detail, /protobuf|parse|model/i);
  });
});
