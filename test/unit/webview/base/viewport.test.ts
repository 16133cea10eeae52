import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  clamp,
  fitAll,
  fitOperation,
  fitRange,
  panTime,
  pinnedRows,
  reveal,
  rowAt,
  rowTop,
  scrollRows,
  timeAt,
  visibleRows,
  xAt,
  zoomRows,
  zoomTime,
  type Extent,
} from '../../../../webview/base/viewport';

const extent: Extent = { durationMs: 1000, rows: 96, widthPx: 800, heightPx: 480 };

describe('viewport', () => {
  it('shows the whole step and all rows when they fit', () => {
    const fitted = fitAll(extent);
    assert.deepEqual([fitted.startMs, fitted.endMs], [0, 1000]);
    assert.deepEqual(
      visibleRows(fitted, extent),
      Array.from({ length: 96 }, (_, row) => row),
    );
  });

  it('never makes rows thinner than 1 px or, by itself, higher than 48', () => {
    assert.equal(fitAll({ ...extent, rows: 10_000 }).rowPx, 1);
    assert.equal(fitAll({ ...extent, rows: 1 }).rowPx, 48);
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

  it('finds the row under a y, and none outside the rows', () => {
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

  it('keeps pinned rows at the top while the others scroll, and leads from a row to its place and back', () => {
    const drawn = fc.record({
      rows: fc.integer({ min: 1, max: 200 }),
      pinned: fc.nat({ max: 40 }),
      rowPx: fc.integer({ min: 1, max: 64 }),
      scroll: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(drawn, ({ rows, pinned, rowPx, scroll }) => {
        const of: Extent = { ...extent, rows, pinned: Math.min(pinned, rows) };
        const viewport = clamp({ ...fitAll(of), rowPx, scrollPx: scroll * rows * rowPx }, of);
        const staying = pinnedRows(viewport, of);
        assert.ok(staying * rowPx <= of.heightPx / 2);
        const seen = visibleRows(viewport, of);
        assert.deepEqual(
          seen.slice(0, staying).map((row) => rowTop(viewport, row, of)),
          Array.from({ length: staying }, (_, row) => row * rowPx),
        );
        for (const row of seen) {
          const top = Math.max(rowTop(viewport, row, of), row < staying ? 0 : staying * rowPx);
          assert.equal(rowAt(viewport, top + 1e-6, of), row);
        }
        let above = -1;
        for (let y = 0.5; y < of.heightPx; y++) {
          const row = rowAt(viewport, y, of);
          assert.ok(row === null ? above === rows - 1 : seen.includes(row) && row >= above, `row ${row} at ${y}`);
          above = row ?? above;
        }
      }),
      { seed: 24 },
    );
  });

  it('reveals rows below the pinned ones, and moves for none of these', () => {
    const of: Extent = { ...extent, pinned: 3 };
    const viewport = { ...fitAll(of), rowPx: 20, scrollPx: 400 };
    assert.equal(reveal(viewport, 1, 0, 10, of).scrollPx, 400);
    assert.equal(rowTop(reveal(viewport, 10, 0, 10, of), 10, of), 60);
    assert.equal(rowTop(reveal(viewport, 80, 0, 10, of), 80, of), of.heightPx - 20);
    const fitted = fitOperation(viewport, 50, 400, 410, of);
    assert.equal(rowTop(fitted, 50, of) + fitted.rowPx / 2, (60 + of.heightPx) / 2);
  });

  it('fits a range and an operation with room around them', () => {
    const range = fitRange(fitAll(extent), 400, 500, extent);
    assert.deepEqual([range.startMs, range.endMs], [390, 510]);
    const one = fitOperation(fitAll(extent), 50, 400, 410, extent);
    assert.deepEqual([one.startMs, one.endMs], [390, 420]);
    const seen = visibleRows(one, extent);
    assert.ok(seen.includes(49) && seen.includes(51) && one.rowPx >= 18);
  });
});
