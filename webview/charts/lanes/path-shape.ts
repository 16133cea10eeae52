import { pinnedRows, rowTop, xAt, type Extent, type Viewport } from '../../base/viewport';

/** A pass of the critical path. */
export interface PathPass {
  readonly stage: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** Passes narrower than this, or in rows less high, are too small for an outline, CSS px. */
const smallestBox = { widthPx: 12, heightPx: 8 } as const;

/** How the passes in view are drawn: an outline each, or one line through all, whose points are CSS px from the first row. */
type PathShape = { readonly boxes: readonly PathPass[] } | { readonly line: readonly { readonly x: number; readonly y: number }[] };

/**
 * An outline each where most passes have room for one, else a line through the middle of all. `toRow` is the row of a stage; what is behind
 * pinned rows is at their lower edge.
 */
export function pathShape(
  path: readonly PathPass[],
  viewport: Viewport,
  extent: Extent,
  toRow: (stage: number) => number = (stage) => stage,
): PathShape {
  const boxes = path.filter(({ startMs, endMs }) => endMs >= viewport.startMs && startMs <= viewport.endMs);
  const x = (ms: number): number => xAt(viewport, ms, extent);
  const small = boxes.filter(
    ({ startMs, endMs }) => x(endMs) - x(startMs) < smallestBox.widthPx || viewport.rowPx < smallestBox.heightPx,
  ).length;
  if (2 * small <= boxes.length) return { boxes };
  const pinned = pinnedRows(viewport, extent);
  const line: { x: number; y: number }[] = [];
  for (const { stage, startMs, endMs } of boxes) {
    const row = toRow(stage);
    const middle = rowTop(viewport, row, extent) + viewport.rowPx / 2;
    const y = row < pinned ? middle : Math.max(middle, pinned * viewport.rowPx);
    const before = line.at(-1);
    // Of thousands of passes in one pixel column and row one point is enough.
    if (before?.y === y && x(endMs) - before.x < 0.5) continue;
    line.push({ x: x(startMs), y }, { x: x(endMs), y });
  }
  return { line };
}
