import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  evenColumns,
  fillColumns,
  fillMeanColumns,
  makeColumns,
  shadeFraction,
  wideFromPx,
} from '../../../../../webview/charts/lanes/columns';
import { indexOperations } from '../../../../../webview/base/operations';
import { anyTimeline, timelineOf } from '../../timelines';

describe('level of detail', () => {
  it('covers as much as the operations do, whatever the zoom', () => {
    const zoom = fc.record({
      from: fc.double({ min: 0, max: 0.9, noNaN: true }),
      share: fc.double({ min: 0.01, max: 1, noNaN: true }),
      width: fc.integer({ min: 1, max: 60 }),
    });
    fc.assert(
      fc.property(anyTimeline, zoom, (timeline, { from, share, width }) => {
        const operations = indexOperations(timeline);
        const startMs = from * timeline.makespanMs;
        const msPerPx = (share * timeline.makespanMs) / width;
        const endMs = startMs + width * msPerPx;
        const columns = makeColumns(width);
        for (let stage = 0; stage < timeline.stages; stage++) {
          fillColumns(operations, stage, startMs, msPerPx, columns);
          const inside = (row: number): number =>
            Math.max(0, Math.min(timeline.endMs[row]!, endMs) - Math.max(timeline.startMs[row]!, startMs));
          let plain = 0;
          for (let row = timeline.rowStart[stage]!; row < timeline.rowStart[stage + 1]!; row++) plain += inside(row);
          let drawn = 0;
          columns.wide.slice(0, columns.wideCount).forEach((row) => (drawn += inside(row)));
          for (let pixel = 0; pixel < width; pixel++)
            drawn += (columns.forward[pixel]! + columns.backward[pixel]! + columns.weight[pixel]!) * msPerPx;
          assert.ok(Math.abs(drawn - plain) <= 1e-5 * timeline.makespanMs, `${drawn} of ${plain}`);
        }
      }),
      { seed: 9 },
    );
  });

  it('covers of several stages the mean share of what each is busy with, and draws none of them by itself', () => {
    fc.assert(
      fc.property(anyTimeline, fc.integer({ min: 1, max: 60 }), (timeline, width) => {
        const operations = indexOperations(timeline);
        const stages = Array.from({ length: timeline.stages }, (_, stage) => stage);
        const msPerPx = timeline.makespanMs / width;
        const columns = makeColumns(width);
        fillMeanColumns(operations, stages, 0, msPerPx, columns);
        assert.equal(columns.wideCount, 0);
        const covered = [columns.forward, columns.backward, columns.weight];
        covered.forEach((column, part) => {
          const drawn = column.reduce((sum, share) => sum + share, 0) * msPerPx * stages.length;
          assert.ok(Math.abs(drawn - operations.beforeMs[part as 0 | 1 | 2].at(-1)!) <= 1e-5 * timeline.makespanMs * stages.length);
        });
        for (let pixel = 0; pixel < width; pixel++) {
          const [from, until] = [pixel * msPerPx, (pixel + 1) * msPerPx];
          let busyMs = 0;
          for (let row = 0; row < operations.count; row++)
            busyMs += Math.max(0, Math.min(timeline.endMs[row]!, until) - Math.max(timeline.startMs[row]!, from));
          const share = covered.reduce((sum, column) => sum + column[pixel]!, 0);
          assert.ok(Math.abs(share - busyMs / msPerPx / stages.length) < 1e-4, `${share} in column ${pixel}`);
        }
      }),
      { seed: 10 },
    );
  });

  it('gives operations below a pixel one even colour, whatever their width, and leaves what they cover', () => {
    const timeline = timelineOf(
      '1F1B',
      Array.from({ length: 400 }, () => [10]),
      2,
    );
    const operations = indexOperations(timeline);
    const count = timeline.rowStart[1]!;
    for (const widthPx of [0.27, 0.43, 0.71, 0.93]) {
      const columns = makeColumns(Math.floor(count * widthPx));
      const msPerPx = timeline.makespanMs / columns.forward.length;
      fillColumns(operations, 0, 0, msPerPx, columns);
      const covered = (): number[] =>
        Array.from(columns.forward, (share, pixel) => share + columns.backward[pixel]! + columns.weight[pixel]!);
      const before = covered();
      evenColumns(columns);
      covered().forEach((share, pixel) => assert.ok(Math.abs(share - before[pixel]!) < 1e-5, `column ${pixel}`));
      const middle = Array.from({ length: 40 }, (_, index) => Math.floor(columns.forward.length / 2) - 20 + index);
      const steps = (of: (pixel: number) => number): number =>
        Math.max(...middle.map((pixel) => Math.abs(of(pixel) - of(pixel + 1)) / before[pixel]!));
      assert.ok(steps((pixel) => columns.forward[pixel]!) < 0.12, `${widthPx} px: ${steps((pixel) => columns.forward[pixel]!)}`);
      assert.ok(steps((pixel) => columns.shade[pixel]!) < 0.06, `${widthPx} px: ${steps((pixel) => columns.shade[pixel]!)}`);
    }
  });

  it('leaves operations that can be distinguished as they are', () => {
    const operations = indexOperations(timelineOf('1F1B', [[10], [10], [10], [10]], 2));
    const columns = makeColumns(Math.ceil(operations.timeline.rowStart[1]! * 3));
    fillColumns(operations, 0, 0, operations.timeline.makespanMs / columns.forward.length, columns);
    const before = columns.forward.slice();
    evenColumns(columns);
    assert.deepEqual(columns.forward, before);
  });

  it('gives wide operations a rectangle each and none a column', () => {
    const timeline = timelineOf('TeraPipe', [[10, 10]], 1);
    const columns = makeColumns(600);
    fillColumns(indexOperations(timeline), 0, 0, timeline.makespanMs / 600, columns);
    assert.equal(columns.wideCount, 4);
    assert.equal(Math.max(...columns.forward, ...columns.backward), 0);
    assert.ok(10 / (timeline.makespanMs / 600) >= wideFromPx);
  });

  it('looks at few operations when there are many in a pixel', () => {
    const timeline = timelineOf('GPipe', [Array.from({ length: 50_000 }, () => 1)], 1);
    const operations = indexOperations(timeline);
    const columns = makeColumns(100);
    let reads = 0;
    const counted = new Proxy(timeline.endMs, {
      get: (target, key) => {
        reads++;
        return Reflect.get(target, key) as unknown;
      },
    });
    fillColumns({ ...operations, timeline: { ...timeline, endMs: counted } }, 0, 0, timeline.makespanMs / 100, columns);
    assert.ok(reads < 100 * 40, `${reads} reads`);
    assert.ok(Math.abs(columns.forward[0]! + columns.backward[0]! - 1) < 1e-3);
  });

  it('distinguishes neighbouring micro-batches by brightness', () => {
    for (let shade = 0; shade < 4; shade++) assert.ok(Math.abs(shadeFraction(shade) - shadeFraction((shade + 1) % 4)) > 0.1);
  });
});
