import assert from 'node:assert/strict';
import { stageShapesOf } from '../../../../src/core/memory/count';
import { predict, pipelineOf } from '../../../../src/core/planner/predict';
import { makeSchedule, kindFor } from '../../../../src/core/planner/scheduling';
import { cutShapes, dealtToChunks, stageShapes } from '../../../../src/core/planner/stages';
import { placeChunks } from '../../../../src/core/schedule/registry';
import { deepseek, gpt, request } from '../../../golden/requests';

describe('layers of chunks', () => {
  const looped = (stages: number, chunks: number) =>
    placeChunks(kindFor('Interleaved1F1B', { virtualStages: chunks }).placement, stages, chunks);

  it('are equal, but lighter at the embedding and the head where their stages are', () => {
    assert.deepEqual(dealtToChunks([4, 4], looped(2, 2)), [2, 2, 2, 2]);
    assert.deepEqual(dealtToChunks([3, 3], looped(2, 2)), [1, 2, 2, 1]);
    assert.deepEqual(dealtToChunks([5, 6, 6], looped(3, 2)), [2, 3, 3, 3, 3, 3]);
    assert.deepEqual(dealtToChunks([3, 5], looped(2, 1)), [3, 5]);
  });

  it('make up what a stage has, of which kinds too, wherever they lie', () => {
    const stageOfChunk = looped(2, 2);
    const model = deepseek(2, 6);
    const [first, last] = stageShapesOf(2, stageOfChunk, cutShapes(dealtToChunks([3, 3], stageOfChunk), model));
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

  it('leave a chunk to the embedding and one to the head where so many virtual stages are asked for', () => {
    const inputs = request('B200', gpt(6, 1024, 16, 50304), { training: {}, layout: { pipeline: 2, virtualStages: 4 } });
    const scheme = Array.from({ length: 4 }, () => ({ batch: 1, tokens: [2048] }));
    const { shapes } = makeSchedule(inputs, kindFor('1F1B', inputs.layout), scheme, 80e9);
    assert.deepEqual(
      shapes.map(({ layers }) => layers),
      [0, 1, 1, 1, 1, 1, 1, 0],
    );
    const without = { ...inputs, model: { ...inputs.model, vocab: 0 } };
    assert.throws(() => makeSchedule(without, kindFor('1F1B', inputs.layout), scheme, 80e9), /needs 8 layers or more, and there are 6/);
  });

  it('are those of a decided cut in a prediction', () => {
    const even = pipelineOf(request('B200', gpt(8, 1024, 16, 0), { training: {}, layout: { pipeline: 2 } }));
    const spec = {
      ...({ id: '1f1b', name: '1F1B', schedule: '1F1B', certificate: null } as const),
      scheme: Array.from({ length: 4 }, () => ({ batch: 1, tokens: [2048] })),
    };
    const shapes = cutShapes([2, 6]);
    const uneven = { ...even, shapes, stageLayers: [2, 6], costs: shapes.map((shape) => even.costOf(shape, 1)) };
    const [a, b] = predict(uneven, spec).busyMs;
    assert.ok(Math.abs(b! / a! - 3) < 1e-9);
    assert.deepEqual(stageShapes(8, 2), cutShapes([4, 4]));
  });
});
