import assert from 'node:assert/strict';
import type { ChunkMemory } from '../../../../src/core/memory-model/chunk-memory';
import { liveCurve, liveParts, livingParts, maximumUnitsInFlight, stagePeak } from '../../../../src/core/memory-model/curve';
import { generateSchedule, toScheduleProblem } from '../../../../src/core/schedules/registry';
import { operationKind, type Timeline } from '../../../../src/core/schedules/schedule';
import { alike, serial, unitMemory } from './serial';

const { forward, backward, backwardInput, backwardWeight } = operationKind;

function points(timeline: Timeline, chunks: readonly ChunkMemory[], staticBytes = 100): (readonly [number, number])[] {
  const { timeMs, bytes } = liveCurve(timeline, chunks, 0, staticBytes);
  return Array.from(timeMs, (ms, index) => [ms, bytes[index]!] as const);
}

describe('live memory of a stage', () => {
  it('rises at the start of a forward, works in the backward and falls at its end', () => {
    const timeline = serial(
      [[64], [64]],
      [
        [forward, 0],
        [forward, 1],
        [backward, 0],
        [backward, 1],
      ],
    );
    assert.deepEqual(points(timeline, [alike(timeline, unitMemory())]), [
      [0, 100],
      [0, 110],
      [1, 120],
      [2, 121],
      [3, 110],
      [3, 111],
      [4, 100],
    ]);
  });

  it('keeps from the input gradient to the weight gradient what GEMMs need', () => {
    const timeline = serial(
      [[64], [64]],
      [
        [forward, 0],
        [backwardInput, 0],
        [forward, 1],
        [backwardWeight, 0],
        [backward, 1],
      ],
    );
    assert.deepEqual(points(timeline, [alike(timeline, unitMemory())]), [
      [0, 100],
      [0, 110],
      [1, 112],
      [2, 104],
      [2, 114],
      [3, 117],
      [4, 110],
      [4, 111],
      [5, 100],
    ]);
  });

  it('holds gradients of keys and values from the backward of the last slice until that of their own slice', () => {
    const timeline = serial(
      [[8, 8], [16]],
      [
        [forward, 0],
        [forward, 1],
        [backward, 1],
        [forward, 2],
        [backward, 0],
        [backward, 2],
      ],
    );
    const slice = unitMemory({ keysValues: 5, keyValueGradients: 3 });
    const chunks = [{ alike: [slice, unitMemory()], unitKinds: Uint32Array.from([0, 0, 1]) }];
    assert.deepEqual(points(timeline, chunks, 0), [
      [0, 0],
      [0, 15],
      [1, 30],
      [2, 37],
      [3, 18],
      [3, 28],
      [4, 29],
      [5, 10],
      [5, 11],
      [6, 0],
    ]);
  });

  it('works in a forward that holds more than it leaves', () => {
    const timeline = serial(
      [[64]],
      [
        [forward, 0],
        [backward, 0],
      ],
    );
    const combined = { activations: 10, keysValues: 0, logits: 0, keptForWeights: 0, operation: 'expert combination', working: 7 };
    const chunks = [alike(timeline, unitMemory({ forward: combined }))];
    assert.deepEqual(points(timeline, chunks, 0), [
      [0, 0],
      [0, 17],
      [1, 10],
      [1, 11],
      [2, 0],
    ]);
    assert.deepEqual([stagePeak(timeline, chunks, 0).operation, stagePeak(timeline, chunks, 0).row], ['expert combination', 0]);
  });

  it('reports at each of its points what is in use', () => {
    const timeline = serial(
      [[8, 8]],
      [
        [forward, 0],
        [forward, 1],
        [backwardInput, 1],
        [backward, 0],
        [backwardWeight, 1],
      ],
    );
    const chunks = [alike(timeline, unitMemory({ keysValues: 5, keyValueGradients: 3 }))];
    const { timeMs, parts } = liveParts(timeline, chunks, 0, 100);
    const rows = Array.from(timeMs, (ms, point) => [ms, ...livingParts.map((part) => parts[part][point])]);
    assert.deepEqual(rows, [
      [0, 0, 0, 0, 0, 0],
      [0, 10, 5, 0, 0, 0],
      [1, 20, 10, 0, 0, 0],
      [2, 20, 16, 0, 0, 2],
      [3, 10, 8, 0, 4, 0],
      [3, 10, 8, 0, 4, 1],
      [4, 0, 0, 0, 4, 0],
      [4, 0, 0, 0, 4, 3],
      [5, 0, 0, 0, 0, 0],
    ]);
  });

  it('counts a unit on each chunk with what it holds there', () => {
    const timeline = serial(
      [[64]],
      [
        [forward, 0, 0],
        [forward, 0, 1],
        [backward, 0, 1],
        [backward, 0, 0],
      ],
    );
    const chunks = [alike(timeline, unitMemory()), alike(timeline, unitMemory({ activations: 30 }))];
    assert.equal(Math.max(...points(timeline, chunks, 0).map(([, bytes]) => bytes)), 40);
    assert.equal(points(timeline, chunks, 0).at(-1)![1], 0);
    assert.equal(maximumUnitsInFlight(timeline, 0), 2);
  });

  it('peaks in the operation it names, with parts that add up', () => {
    const timeline = serial(
      [[64], [64]],
      [
        [forward, 0],
        [backwardInput, 0],
        [forward, 1],
        [backwardInput, 1],
        [backwardWeight, 0],
        [backwardWeight, 1],
      ],
    );
    const peak = stagePeak(timeline, [alike(timeline, unitMemory())], 0);
    assert.deepEqual([peak.row, peak.operation, peak.working, peak.bytes], [3, 'input', 2, 16]);
    assert.deepEqual(peak.alive, { activations: 10, keysValues: 0, keyValueGradients: 0, logits: 0, keptForWeights: 4 });
  });
});

describe('units in flight', () => {
  const order = (name: string, microBatches: number, stages: number) =>
    generateSchedule(
      name,
      toScheduleProblem(
        Array.from({ length: microBatches }, () => ({ batch: 1, tokens: [64] })),
        stages,
      ),
    );

  it('are as many micro-batches as there are stages from here on under 1F1B, all of them under GPipe', () => {
    for (let stage = 0; stage < 4; stage++) {
      assert.equal(maximumUnitsInFlight(order('1F1B', 16, 4), stage), 4 - stage);
      assert.equal(maximumUnitsInFlight(order('1F1B', 2, 4), stage), Math.min(2, 4 - stage));
      assert.equal(maximumUnitsInFlight(order('GPipe', 16, 4), stage), 16);
    }
  });

  it('stay until their weight gradient is done', () => {
    const timeline = serial(
      [[64], [64]],
      [
        [forward, 0],
        [backwardInput, 0],
        [forward, 1],
        [backwardWeight, 0],
        [backward, 1],
      ],
    );
    assert.equal(maximumUnitsInFlight(timeline, 0), 2);
  });
});
