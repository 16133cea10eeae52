import assert from 'node:assert/strict';
import { planElastic } from '../../../../../src/features/elastic/core/make-plan';
import type { ElasticEpoch } from '../../../../../src/features/elastic/core/plan';
import type { ElasticRequest } from '../../../../../src/features/elastic/core/request';
import { requestOf } from './models';

const epochsOf = (changes: Partial<ElasticRequest>): readonly ElasticEpoch[] => planElastic(requestOf(changes)).epochs;

function near(actual: number | undefined, expected: number, what: string): void {
  assert.ok(actual !== undefined && Math.abs(actual / expected - 1) < 1e-9, `${what}: ${actual}, not ${expected}`);
}

describe('terms of an epoch in addition to its steps', () => {
  const plain = epochsOf({});

  it('no step is faster than its samples come from loader workers, and where the process loads them it waits for all of them', () => {
    const withWorkers = epochsOf({ loader: { samplesPerSecond: 100, workers: 4 } });
    const inside = epochsOf({ loader: { samplesPerSecond: 400, workers: 0 } });
    plain.forEach(({ stepMs }, epoch) => {
      near(withWorkers[epoch]?.stepMs, Math.max(stepMs, 800), `epoch ${epoch}, four workers`);
      near(inside[epoch]?.stepMs, stepMs + 800, `epoch ${epoch}, none`);
    });
    assert.ok(withWorkers.some(({ inputMs }) => inputMs > 0) && withWorkers.some(({ inputMs }) => inputMs === 0));
  });

  it('scales steps by measured rates without what they waited for', () => {
    const throughputs = [{ frozenLayers: 0, pipelineLength: 8, samplesPerSecond: 400 }];
    for (const workers of [0, 4]) {
      const [first] = epochsOf({ throughputs, loader: { samplesPerSecond: 400, workers } });
      near(first?.stepMs, 1600, `${workers} workers`);
    }
  });

  it('evaluates, forward only, after the epochs that are due and after the last', () => {
    const evaluated = epochsOf({ evaluation: { samples: 10_000, every: 4, trainingEvery: 0 } });
    assert.deepEqual(
      evaluated.filter(({ evaluationMs }) => evaluationMs > 0).map(({ epoch }) => epoch),
      [3, 7, 9],
    );
    evaluated.forEach(({ trainMs, transitionMs, evaluationMs, epochMs }, epoch) => {
      near(epochMs, trainMs + transitionMs + evaluationMs, 'sum');
      assert.equal(trainMs, plain[epoch]?.trainMs);
    });
    const [every] = epochsOf({ evaluation: { samples: 50_000, every: 1, trainingEvery: 0 } });
    assert.ok(every !== undefined && every.evaluationMs > 0.3 * every.trainMs && every.evaluationMs < 0.4 * every.trainMs);
    const [both] = epochsOf({ evaluation: { samples: 50_000, every: 1, trainingEvery: 1 } });
    near(both?.evaluationMs, 2 * every.evaluationMs, 'as many training samples');
  });

  it('takes the measured rate of the frozen layers by their share of a pass', () => {
    const measured = epochsOf({ frozenSamplesPerSecond: 100, epochs: 9 });
    near(measured[8]?.cache.fillMs, 3200 + (measured[8]?.cache.movedMs ?? NaN), 'all layers');
  });

  it('hands cached outputs on no faster than the memory of a node gives them to all of its GPUs', () => {
    const { cache } = requestOf({});
    const bytes = 4 * 197 * 768 * 320;
    const movedMs = (hostMemoryBytesPerSecond: number) => epochsOf({ cache: { ...cache, hostMemoryBytesPerSecond } })[9]?.cache.movedMs;
    near(movedMs(8e9), (1e3 * bytes * 8) / 8e9, 'eight pipelines of a node');
    near(movedMs(1e15), (1e3 * bytes) / 12e9, 'the link');
  });

  it('takes any number of micro-batches, and no more than there are samples', () => {
    assert.deepEqual([...new Set(epochsOf({ microBatches: 24 }).map(({ microBatches }) => microBatches))], [24]);
    assert.ok(epochsOf({ microBatches: 9999 }).every(({ microBatches }) => microBatches === 320));
  });
});
