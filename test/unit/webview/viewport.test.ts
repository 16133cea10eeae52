import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  clamp,
  fitAll,
  fitOperation,
  fitRange,
  panTime,
  reveal,
  rowAt,
  scrollRows,
  timeAt,
  visibleRows,
  xAt,
  zoomRows,
  zoomTime,
  type Extent,
} from '../../../webview/base/viewport';

const extent: Extent = { durationMs: 1000, rows: 96, widthPx: 800, heightPx: 480 };

describe('viewport', () => {
  it('shows the whole step and all rows when they fit', () => {
    const fitted = fitAll(extent);
    assert.deepEqual([fitted.startMs, fitted.endMs], [0, 1000]);
    assert.deepEqual(visibleRows(fitted, extent), { first: 0, end: 96 });
  });

  it('never makes rows thinner than 1 px or, by itself, higher than 32', () => {
    assert.equal(fitAll({ ...extent, rows: 10_000 }).rowPx, 1);
    assert.equal(fitAll({ ...extent, rows: 1 }).rowPx, 32);
  });

  it('keeps the time under the pointer when it zooms', () => {
    fc.assert(
      fc.property(fc.double({ min: 0.2, max: 0.8, noNaN: true }), fc.double({ min: 1, max: 1000, noNaN: true }), (share, factor) => {
        const x = share * extent.widthPx;
        const before = timeAt(fitAll(extent), x, extent);
        const zoomed = zoomTime(fitAll(extent), factor, before, extent);
        assert.ok(Math.abs(timeAt(zoomed, x, extent) - before) < 1e-9 * extent.durationMs);
      }),
      { seed: 1 },
    );
  });

  it('stays inside the step and its rows whatever is done to it', () => {
    const change = fc.oneof(
      fc.double({ min: 1e-6, max: 1e6, noNaN: true }).map((factor) => ({ factor, delta: 0 })),
      fc.double({ min: -1e5, max: 1e5, noNaN: true }).map((delta) => ({ factor: 1, delta })),
    );
    fc.assert(
      fc.property(fc.array(change, { maxLength: 12 }), (changes) => {
        let viewport = fitAll(extent);
        for (const { factor, delta } of changes) {
          viewport = zoomTime(viewport, factor, 321, extent);
          viewport = panTime(viewport, delta, extent);
          viewport = zoomRows(viewport, factor, 100, extent);
          viewport = scrollRows(viewport, delta, extent);
          assert.ok(viewport.startMs >= 0 && viewport.endMs <= extent.durationMs + 1e-9 && viewport.endMs > viewport.startMs);
          assert.ok(viewport.scrollPx >= 0 && viewport.scrollPx <= Math.max(0, extent.rows * viewport.rowPx - extent.heightPx));
        }
      }),
      { seed: 2 },
    );
  });

  it('gives time and x as inverses', () => {
    const viewport = clamp({ startMs: 100, endMs: 300, rowPx: 10, scrollPx: 50 }, extent);
    assert.equal(timeAt(viewport, xAt(viewport, 250, extent), extent), 250);
  });

  it('says which row is under a y, and null beside the rows', () => {
    const viewport = clamp({ startMs: 0, endMs: 1000, rowPx: 10, scrollPx: 105 }, extent);
    assert.equal(rowAt(viewport, 0, extent), 10);
    assert.equal(rowAt(viewport, -200, extent), null);
    assert.equal(rowAt({ ...viewport, rowPx: 2, scrollPx: 0 }, 400, extent), null);
  });

  it('moves only as far as needed to show an operation', () => {
    const viewport = clamp({ startMs: 0, endMs: 100, rowPx: 20, scrollPx: 0 }, extent);
    assert.deepEqual(reveal(viewport, 3, 10, 20, extent), viewport);
    const moved = reveal(viewport, 60, 150, 160, extent);
    assert.equal(moved.endMs, 160);
    assert.equal(moved.scrollPx, 61 * 20 - extent.heightPx);
  });

  it('fits a range and an operation with room around them', () => {
    const range = fitRange(fitAll(extent), 400, 500, extent);
    assert.deepEqual([range.startMs, range.endMs], [390, 510]);
    const one = fitOperation(fitAll(extent), 50, 400, 410, extent);
    assert.deepEqual([one.startMs, one.endMs], [390, 420]);
    const { first, end } = visibleRows(one, extent);
    assert.ok(first < 50 && end > 51 && one.rowPx >= 18);
  });
});
