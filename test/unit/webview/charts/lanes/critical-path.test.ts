import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { indexOperations, operationAt } from '../../../../../webview/base/operations';
import { fitAll, zoomTime, type Extent } from '../../../../../webview/base/viewport';
import { criticalPath } from '../../../../../webview/charts/lanes/dependencies';
import { pathShape } from '../../../../../webview/charts/lanes/path-shape';
import { timelineOf } from '../../timelines';

const timeline = timelineOf(
  '1F1B',
  Array.from({ length: 40 }, () => [4]),
  8,
);
const operations = indexOperations(timeline);
const path = Array.from(criticalPath(operations), (row) => operationAt(operations, row));
const extent: Extent = { durationMs: timeline.makespanMs, rows: 8, widthPx: 400, heightPx: 160 };

describe('critical path', () => {
  it('of a whole step is one line through its passes, from its beginning to its end', () => {
    const shape = pathShape(path, fitAll(extent), extent);
    assert.ok('line' in shape);
    assert.ok(Math.abs(shape.line[0]!.x) < 1e-6 && Math.abs(shape.line.at(-1)!.x - 400) < 1e-6);
    assert.ok(shape.line.every(({ x }, index) => index === 0 || x >= shape.line[index - 1]!.x - 1e-6));
    assert.deepEqual([...new Set(shape.line.map(({ y }) => y))].length, 8, 'through every stage');
  });

  it('takes few points where thousands of passes are in one pixel', () => {
    const narrow = { ...extent, widthPx: 10 };
    const shape = pathShape(path, fitAll(narrow), narrow);
    assert.ok('line' in shape && shape.line.length < path.length, `${path.length} passes`);
  });

  it('is an outline each where passes are wide enough', () => {
    const shape = pathShape(path, zoomTime(fitAll(extent), 40, 0, extent), extent);
    assert.ok('boxes' in shape && shape.boxes.length > 0 && shape.boxes.length < path.length, 'those in view');
  });
});
