import assert from 'node:assert/strict';
import fc from 'fast-check';
import { fillColumns, makeColumns, shadeOf, wideFromPx } from '../../../webview/tabs/timeline/columns';
import { indexOperations } from '../../../webview/base/operations';
import { anyTimeline, timelineOf } from './timelines';

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

  it('tells neighbouring micro-batches apart by brightness', () => {
    for (let shade = 0; shade < 4; shade++) assert.ok(Math.abs(shadeOf(shade) - shadeOf((shade + 1) % 4)) > 0.1);
  });
});
