import assert from 'node:assert/strict';
import { ExpectedError } from '../../../../src/core/errors';
import { joinStageContents } from '../../../../src/core/memory-model/count';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Candidate } from '../../../../src/core/planner/plan';
import { buildPipeline } from '../../../../src/core/planner/predict/pipeline';
import { predict } from '../../../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { scheduleChunks, scheduledStageLayers } from '../../../../src/core/partition/chunks';
import { scheduleOn } from '../../../../src/core/schedules/on-layout';
import { cutContents, layersOfChunks, evenStageContents } from '../../../../src/core/partition/stages';
import { placeChunks } from '../../../../src/core/schedules/registry';
import type { ScheduleName } from '../../../../src/core/domain/schedule-names';
import { deepseek, gpt, request } from '../../../golden/requests';

describe('layers of chunks', () => {
  const looped = (stages: number, chunks: number) =>
    placeChunks(scheduleOn('Interleaved1F1B', { virtualStages: chunks }).placement, stages, chunks);

  it('are equal, but lighter at the embedding and the head where their stages are', () => {
    assert.deepEqual(layersOfChunks([4, 4], looped(2, 2)), [2, 2, 2, 2]);
    assert.deepEqual(layersOfChunks([3, 3], looped(2, 2)), [1, 2, 2, 1]);
    assert.deepEqual(layersOfChunks([5, 6, 6], looped(3, 2)), [2, 3, 3, 3, 3, 3]);
    assert.deepEqual(layersOfChunks([3, 5], looped(2, 1)), [3, 5]);
  });

  it('make up what a stage has, of which kinds too, wherever they lie', () => {
    const stageOfChunk = looped(2, 2);
    const model = deepseek(2, 6);
    const [first, last] = joinStageContents(2, stageOfChunk, cutContents(layersOfChunks([3, 3], stageOfChunk), model));
    assert.deepEqual(
      first!.groups!.map(({ kind, layers }) => [kind.feedForward, layers]),
      [
        ['dense', 1],
        ['experts', 2],
      ],
    );
    assert.deepEqual(
      last!.groups!.map(({ kind, layers }) => [kind.feedForward, layers]),
      [
        ['experts', 2],
        ['experts', 1],
      ],
    );
    assert.deepEqual([first!.first, first!.last, last!.first, last!.last], [true, false, false, true]);
  });

  it('leave a chunk to the embedding and one to the head where this many virtual stages are asked for', () => {
    const inputs = request('B200', gpt(6, 1024, 16, 50304), { training: {}, layout: { pipeline: 2, virtualStages: 4 } });
    const { chunkContents } = scheduleChunks(inputs, scheduleOn('1F1B', inputs.layout));
    assert.deepEqual(
      chunkContents.map(({ layers }) => layers),
      [0, 1, 1, 1, 1, 1, 1, 0],
    );
    const without = { ...inputs, model: { ...inputs.model, vocab: 0 } };
    assert.throws(() => scheduleChunks(without, scheduleOn('1F1B', inputs.layout)), /needs 8 layers or more, but there are 6/);
  });

  it('have a cut with an entry for each stage, or for each virtual stage where a layout has them', () => {
    const of = (layout: Parameters<typeof request>[2]['layout'], schedule: ScheduleName) =>
      scheduledStageLayers(request('B200', gpt(10, 1024, 16, 50304), { training: {}, layout }), schedule);
    assert.deepEqual(of({ pipeline: 4 }, '1F1B'), [2, 3, 3, 2]);
    // Two chunks on each stage, whose eight are cut as evenly: the two more lie in the middle, on the last stage.
    assert.deepEqual(of({ pipeline: 4 }, 'ZBVZeroBubble'), [2, 2, 2, 4]);
    assert.deepEqual(of({ pipeline: 2, virtualStages: 2 }, '1F1B'), [2, 3, 3, 2]);
    assert.deepEqual(of({ pipeline: 2, stageLayers: [7, 3] }, 'ZBVZeroBubble'), [7, 3]);
  });

  it('are those of a decided cut in a prediction', () => {
    const even = request('B200', gpt(8, 1024, 16, 0), { training: {}, layout: { pipeline: 2 } });
    const spec = {
      ...({ id: '1f1b', name: '1F1B', kind: scheduleOn('1F1B', even.layout), certificate: null } as const),
      scheme: Array.from({ length: 4 }, () => ({ batch: 1, tokens: [2048] })),
    };
    const uneven = { ...even, layout: { ...even.layout, stageLayers: [2, 6] } };
    const [a, b] = predict(buildPipeline(uneven), spec).busyMs;
    assert.ok(Math.abs(b! / a! - 3) < 1e-9);
    assert.deepEqual(evenStageContents(8, 2), cutContents([4, 4]));
  });
});

describe('layers of each stage as a layout gives them', () => {
  const wanted = (stageLayers: readonly number[] | null, changed: Partial<PlanRequest['layout']> = {}, schedule: ScheduleName = '1F1B') => {
    const base = request('B200', gpt(10, 1024, 16, 50304), {
      training: { globalBatch: 8, sequenceLength: 1024 },
      layout: { pipeline: 4, ...changed },
    });
    return { ...base, schedule, layout: { ...base.layout, ...(stageLayers === null ? {} : { stageLayers }) } };
  };
  const planned = (...args: Parameters<typeof wanted>) => chosenCandidate(makePlan(wanted(...args)));
  const numbers = ({ iterationMs, memory, busyMs }: Candidate) => [
    iterationMs,
    ...busyMs,
    ...memory.stages.map(({ peakBytes }) => peakBytes),
  ];

  it('give the same plan as left out where they are the same, in chunks too', () => {
    assert.deepEqual(numbers(planned([2, 3, 3, 2])), numbers(planned(null)));
    const chunked = { pipeline: 2, virtualStages: 2 };
    assert.deepEqual(numbers(planned([2, 3, 3, 2], chunked)), numbers(planned(null, chunked)));
  });

  it('are what each stage takes and holds', () => {
    const { busyMs, memory } = planned([1, 1, 7, 1]);
    assert.ok(Math.abs(busyMs[2]! / busyMs[1]! - 7) < 1e-9);
    assert.ok(memory.stages[2]!.parts.weights > 6 * memory.stages[1]!.parts.weights);
    assert.ok(planned([1, 1, 7, 1]).optimizerMs > planned(null).optimizerMs);
    // chunks 0 and 2 are on the first stage
    const chunked = planned([1, 1, 7, 1], { pipeline: 2, virtualStages: 2 });
    assert.ok(chunked.busyMs[0]! > 3 * chunked.busyMs[1]!);
  });

  it('are divided over the two chunks of a schedule that has its own', () => {
    // a runtime whose passes pay nothing for sends
    const asked = wanted([2, 4, 2, 2], {}, 'ZBVZeroBubble');
    const { busyMs } = chosenCandidate(makePlan({ ...asked, training: { ...asked.training, runtime: 'torchtitan' } }));
    assert.ok(Math.abs(busyMs[1]! / busyMs[2]! - 2) < 1e-9);
  });

  it('are refused where they are of another number of stages or layers, or leave a stage empty', () => {
    const refusal = (stageLayers: readonly number[], layout: Partial<PlanRequest['layout']> = {}) => {
      try {
        makePlan(wanted(stageLayers, layout));
      } catch (error) {
        return error instanceof ExpectedError ? `${error.code}: ${error.message}` : String(error);
      }
      return 'none';
    };
    assert.equal(refusal([5, 5]), 'plan-stage-layers: layout.stageLayers has 2 entries for 4 stages');
    assert.equal(
      refusal([5, 5], { pipeline: 2, virtualStages: 2 }),
      'plan-stage-layers: layout.stageLayers has 2 entries for 2 stages of 2 virtual stages',
    );
    assert.equal(refusal([2, 3, 3, 3]), 'plan-stage-layers: layout.stageLayers adds up to 11 layers, and the model has 10');
    assert.equal(refusal([5, 0, 3, 2]), 'none');
    assert.equal(refusal([0, 5, 5, 0]), 'none');
  });

  it('count a send for every boundary of a chunk in what limits a stage', () => {
    const sends = (layout: Partial<PlanRequest['layout']>, schedule: ScheduleName) =>
      makePlan(wanted(null, layout, schedule)).limits!.map(({ ms }) => ms.send);
    const [first, second, , last] = sends({}, '1F1B');
    assert.ok(first! > 0 && Math.abs(second! / first! - 2) < 1e-9 && last === first);
    // loops of 2 chunks over 4 stages: the last hands its first chunk on to the first stage
    const looped = sends({ virtualStages: 2 }, 'Interleaved1F1B').map((ms) => Math.round(ms / first!));
    assert.deepEqual(looped, [3, 4, 4, 3]);
    // a V turns round on the last stage without a send
    const bent = sends({}, 'ZBVZeroBubble').map((ms) => Math.round(ms / first!));
    assert.deepEqual(bent, [2, 4, 4, 2]);
  });
});
