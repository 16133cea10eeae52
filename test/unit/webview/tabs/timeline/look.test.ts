import assert from 'node:assert/strict';
import { part } from '../../../../../src/core/schedules/parts';
import { indexOperations } from '../../../../../webview/base/operations';
import { tailAt, stepTail } from '../../../../../src/core/planner/explain/tail';
import { lookedAt, resolveShading, timelineLook } from '../../../../../webview/tabs/timeline/look';
import { unitName } from '../../../../../webview/charts/lanes/labels';
import { timelineOf } from '../../timelines';

const { read: readLook } = timelineLook;
const initialLook = readLook(undefined);
const sum = (column: Float64Array): number => column.at(-1) ?? 0;

describe('the look of a timeline', () => {
  const plain = indexOperations(timelineOf('1F1B', [[8], [8], [8], [8]], 4));
  const chunked = indexOperations(timelineOf('Interleaved1F1B', [[8], [8], [8], [8]], 2, 2));

  it('shows all as it is at first', () => {
    assert.equal(lookedAt(plain, initialLook), plain);
    assert.equal(resolveShading(plain, { ...initialLook, shading: 'slice' }), 'micro-batch');
    assert.equal(resolveShading(chunked, initialLook), 'chunk');
    assert.deepEqual([...new Set(lookedAt(chunked, initialLook).shades)].sort(), [0, 1]);
  });

  it('paints neither hidden kinds nor hidden chunks', () => {
    const forwards = lookedAt(plain, { ...initialLook, hiddenKinds: ['backward'] });
    assert.equal(forwards.count, plain.count / 2);
    assert.equal(sum(forwards.beforeMs[part.backward]), 0);
    assert.equal(sum(forwards.beforeMs[part.forward]), sum(plain.beforeMs[part.forward]));
    assert.equal(lookedAt(chunked, { ...initialLook, hiddenChunks: [1] }).count, chunked.count / 2);
    assert.equal(lookedAt(chunked, { ...initialLook, hiddenChunks: [0, 1] }).count, 0);
  });

  it('falls back where it was saved as something else', () => {
    assert.deepEqual(readLook({ hiddenKinds: ['forward', 'x'], hiddenChunks: 3, shading: 'y' }), {
      ...initialLook,
      hiddenKinds: ['forward'],
    });
    assert.deepEqual(readLook(null), initialLook);
  });

  it('names the chunk where there are several, and a slice only where one is cut', () => {
    const unit = { microBatch: 3, slice: 0, batch: 1, tokens: 8, context: 0 };
    assert.equal(unitName(plain, unit, 0, true), 'micro-batch 3');
    assert.equal(unitName(plain, unit, 0, false), '3');
    assert.equal(unitName(chunked, unit, 2, true), 'micro-batch 3 · chunk 2');
    assert.equal(unitName({ ...chunked, sliced: true }, unit, 2, false), '3·0·c2');
  });
});

describe('the end of a step', () => {
  const operations = indexOperations(timelineOf('1F1B', [[8], [8], [8], [8]], 4));
  const { makespanMs } = operations.timeline;
  const step = { pipelineMs: makespanMs, gradientExchangeMs: 5, optimizerMs: 2 };

  it('follows the pipeline on all stages at once', () => {
    const tail = stepTail(operations.timeline, step);
    assert.equal(tail.endMs, makespanMs + 7);
    assert.deepEqual(tail.ofStage[3], [
      { kind: 'gradientExchange', startMs: makespanMs, endMs: makespanMs + 5 },
      { kind: 'optimizer', startMs: makespanMs + 5, endMs: makespanMs + 7 },
    ]);
    assert.equal(tailAt(tail, 1, makespanMs + 6)?.kind, 'optimizer');
    assert.equal(tailAt(tail, 1, makespanMs - 1), null);
  });

  it('begins on each stage when that is done where stages do not wait for each other', () => {
    const tail = stepTail(operations.timeline, { ...step, pipelineMs: makespanMs / 2 });
    const { rowStart, endMs } = operations.timeline;
    assert.equal(tail.ofStage[3]![0]!.startMs, endMs[rowStart[4]! - 1]);
  });

  it('overlaps what is hidden with the last backward', () => {
    const [hidden] = stepTail(operations.timeline, { ...step, hiddenExchangeMs: 1000 }).ofStage[0]!;
    const { rowStart, startMs } = operations.timeline;
    assert.deepEqual(hidden, { kind: 'hiddenExchange', startMs: startMs[rowStart[1]! - 1], endMs: makespanMs });
  });
});
