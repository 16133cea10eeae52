import assert from 'node:assert/strict';
import fc from 'fast-check';
import { liveCurve } from '../../src/core/memory-model/curve';
import { makePlan } from '../../src/core/planner/make-plan';
import { candidatePeakBytes, type Candidate } from '../../src/core/planner/plan';
import { busyTimes } from '../../src/core/schedules/simulate/idle';
import { scheduleKind } from '../../src/core/schedules/registry';
import { operationKind, type Timeline } from '../../src/core/schedules/schedule';
import { runsVirtualStages, scheduleOn } from '../../src/core/schedules/on-layout';
import { askedSchedules, namedSchedules } from '../../src/core/domain/schedule-names';
import { gpt, request } from '../golden/requests';
import { cases } from './cases';

const requests = fc
  .record({
    pipeline: fc.integer({ min: 2, max: 5 }),
    layers: fc.integer({ min: 5, max: 21 }),
    microBatches: fc.integer({ min: 1, max: 12 }),
    microBatch: fc.integer({ min: 1, max: 2 }),
    vocab: fc.constantFrom(0, 50304),
    virtualStages: fc.constantFrom(1, 1, 2, 3),
    recompute: fc.constantFrom('none' as const, 'full' as const),
    attention: fc.constantFrom('flash' as const, 'unfused' as const),
    gpu: fc.constantFrom('A100-80GB' as const, 'V100-16GB' as const),
  })
  .filter(
    ({ pipeline, layers, virtualStages, microBatches }) =>
      pipeline * virtualStages <= layers && microBatches % Math.max(1, Math.floor(microBatches / pipeline)) === 0,
  )
  .map(({ pipeline, layers, microBatches, microBatch, vocab, virtualStages, recompute, attention, gpu }) =>
    request(gpu, gpt(layers, 512, 8, vocab), {
      training: { sequenceLength: 512, microBatch, globalBatch: microBatch * microBatches, recompute, attention },
      layout: { pipeline, virtualStages },
    }),
  );

/** Ends of every operation by kind, chunk and unit; split backward counts as backward for those that wait for it. */
function ends({ kind, chunk, unit, endMs, overlapsNext }: Timeline): Map<string, number> {
  const all = new Map<string, number>();
  kind.forEach((what, row) => {
    const name = what === operationKind.forward ? 'F' : what === operationKind.backwardWeight ? 'W' : 'B';
    // What an overlapped pair sends is ready when the pair ends.
    all.set(`${name}${chunk[row]},${unit[row]}`, endMs[overlapsNext?.[row] === 1 ? row + 1 : row]!);
  });
  return all;
}

function assertInOrder(timeline: Timeline): void {
  const { kind, chunk, unit, startMs, units, stageOfChunk, rowStart, endMs, overlapsNext, stages } = timeline;
  const end = ends(timeline);
  const near = 1e-9 * timeline.makespanMs;
  for (let row = 0; row < kind.length; row++) {
    const [c, u] = [chunk[row]!, unit[row]!];
    const { microBatch } = units[u]!;
    const isSecond = row > 0 && overlapsNext?.[row - 1] === 1;
    const start = startMs[isSecond ? row - 1 : row]! + near;
    const after = (name: string) => assert.ok((end.get(name) ?? Infinity) <= start, `${timeline.name}: row ${row} before ${name}`);
    if (kind[row] === operationKind.backwardWeight) after(`B${c},${u}`);
    else if (kind[row] === operationKind.forward) {
      if (c > 0) after(`F${c - 1},${u}`);
      if (units[u - 1]?.microBatch === microBatch) after(`F${c},${u - 1}`);
    } else {
      after(`F${c},${u}`);
      if (c + 1 < stageOfChunk.length) after(`B${c + 1},${u}`);
      if (units[u + 1]?.microBatch === microBatch) after(`B${c},${u + 1}`);
    }
  }
  for (let stage = 0; stage < stages; stage++)
    for (let row = rowStart[stage]! + 1; row < rowStart[stage + 1]!; row++) assert.ok(endMs[row - 1]! <= startMs[row]! + near);
}

function assertWhole(candidate: Candidate, layers: number): void {
  const { timeline, memory, pipelineMs, iterationMs, gradientExchangeMs, optimizerMs, chunksPerStage, busyMs } = candidate;
  assert.ok(timeline !== null);
  assertInOrder(timeline);
  assert.equal(pipelineMs, scheduleKind(timeline.name).postValidated ? Math.max(...busyTimes(timeline).spanMs) : timeline.makespanMs);
  assert.equal(Math.max(...timeline.endMs), timeline.makespanMs);
  assert.equal(iterationMs, pipelineMs + gradientExchangeMs + optimizerMs);
  assert.ok(Math.max(...busyMs) <= pipelineMs * (1 + 1e-12));
  const chunks = timeline.stageOfChunk.length;
  assert.equal(chunks, timeline.stages * chunksPerStage);
  assert.ok(chunks <= layers);
  const { splitsBackward } = scheduleKind(timeline.name);
  if (!splitsBackward) assert.equal(timeline.kind.length, 2 * chunks * timeline.units.length);
  for (const { stage, staticBytes, peakBytes } of memory.stages) {
    const curve = liveCurve(timeline, memory.chunks, stage, staticBytes);
    assert.ok(Math.abs(Math.max(...curve.bytes) / peakBytes - 1) < 1e-9, `${timeline.name}, stage ${stage}`);
  }
}

describe('every candidate of a plan', () => {
  it('has a timeline in which nothing runs before what it needs, as long as its time, with the reported memory as the peak of its curves', () => {
    const met = new Set<string>();
    fc.assert(
      fc.property(requests, fc.constantFrom(...askedSchedules), (wanted, asked) => {
        const { sequenceLength, globalBatch, microBatch } = wanted.training;
        const sliced = Array.from({ length: globalBatch / microBatch }, () => ({
          batch: microBatch,
          tokens: [sequenceLength - 100, 60, 40],
        }));
        const { pipeline, virtualStages } = wanted.layout;
        const isRun = 2 * pipeline <= wanted.model.layers && runsVirtualStages(scheduleOn(asked, wanted.layout), virtualStages);
        const runs = isRun ? [asked] : [];
        const plans = [wanted, ...runs.map((schedule) => ({ ...wanted, schedule, slicing: { unit: null, scheme: sliced } }))].map((each) =>
          makePlan(each),
        );
        for (const candidate of plans.flatMap(({ candidates }) => candidates)) {
          met.add(candidate.timeline?.name ?? '');
          assertWhole(candidate, wanted.model.layers);
        }
      }),
      { numRuns: cases(64, 300), seed: 7 },
    );
    assert.deepEqual([...met].sort(), [...namedSchedules].sort());
  });

  it('computes as much as every other one on the whole pipeline, split or not, in chunks or not', () => {
    const sum = (ms: Float64Array): number => ms.reduce((total, each) => total + each, 0);
    fc.assert(
      fc.property(requests, ({ training, ...rest }) => {
        // a runtime whose sends hold no stage
        const wanted = { ...rest, training: { ...training, runtime: 'torchtitan' as const } };
        const whole = makePlan(wanted).candidates.filter(({ scheme }) => scheme.every(({ tokens }) => tokens.length === 1));
        const [first] = whole.filter(({ id }) => id === '1f1b');
        assert.ok(first !== undefined);
        for (const { schedule, busyMs, scheme } of whole)
          if (!scheduleKind(schedule).sliced && scheme.length === first.scheme.length)
            assert.ok(Math.abs(sum(busyMs) / sum(first.busyMs) - 1) < 1e-9, schedule);
      }),
      { numRuns: cases(6, 100), seed: 8 },
    );
  });

  it('keeps planned schedules within the memory of the GPU', () => {
    const roomy = request('A100-80GB', gpt(8, 2048, 16, 0), {
      training: { sequenceLength: 2048, globalBatch: 12, optimizer: 'none', attention: 'flash', dropout: false },
      layout: { pipeline: 4 },
    });
    const candidate = (memoryBytes: number, id: string) =>
      makePlan({ ...roomy, cluster: { ...roomy.cluster, gpu: { ...roomy.cluster.gpu, memoryBytes } } }).candidates.find(
        (one) => one.id === id,
      );
    for (const id of ['ZeroBubble', 'ZeroBubbleV'] as const) {
      const free = candidate(80 * 2 ** 30, id)!;
      const least = free.memory.stages.map(({ staticBytes }) => staticBytes).reduce((a, b) => Math.max(a, b));
      const tight = least + 2 ** 30 + 0.75 * (candidatePeakBytes(free) - least);
      const bounded = candidate(tight, id);
      assert.ok(bounded !== undefined && candidatePeakBytes(bounded) < candidatePeakBytes(free), id);
      assert.ok(candidatePeakBytes(bounded) + bounded.memory.marginBytes <= tight, id);
      assert.ok(bounded.pipelineMs >= free.pipelineMs * (1 - 1e-9), id);
    }
  });
});
