/** What part of the step is on screen: a time window, and how far the rows are scrolled. Lengths in CSS px, times in ms. */
export interface Viewport {
  readonly startMs: number;
  readonly endMs: number;
  readonly rowPx: number;
  readonly scrollPx: number;
}

/** What a viewport looks at, and the size of the area it is drawn in. */
export interface Extent {
  readonly durationMs: number;
  readonly rows: number;
  /** Of these, the first that stay at the top while the others scroll; left out: none. */
  readonly pinned?: number;
  readonly widthPx: number;
  readonly heightPx: number;
}

const minimumRowPx = 1;
/** Rows get no higher than this by themselves. */
export const maximumFittedRowPx = 48;
const maximumRowPx = 64;
const readableRowPx = 18;
/** From this height on rows are parted by a gap and all have the same whole number of pixels. */
export const gapFromPx = 7;
/** Deeper than this the differences of doubles stop being exact to the pixel. */
const deepestZoom = 1e-9;

/** The whole step, rows as high as the area allows (1 to 48 px). */
export function fitAll(extent: Extent): Viewport {
  const even = extent.heightPx / Math.max(1, extent.rows);
  const rowPx = even >= gapFromPx ? Math.floor(even) : even;
  return clamp(
    { startMs: 0, endMs: extent.durationMs, rowPx: Math.min(maximumFittedRowPx, Math.max(minimumRowPx, rowPx)), scrollPx: 0 },
    extent,
  );
}

/** Keeps a viewport inside its extent: never past either end of the step, never scrolled past the last row. */
export function clamp(viewport: Viewport, extent: Extent): Viewport {
  const whole = Math.max(extent.durationMs, Number.MIN_VALUE);
  const span = Math.min(whole, Math.max(whole * deepestZoom, viewport.endMs - viewport.startMs));
  const startMs = Math.min(Math.max(0, viewport.startMs), whole - span);
  const rowPx = Math.min(maximumRowPx, Math.max(minimumRowPx, viewport.rowPx));
  const scrollPx = Math.min(Math.max(0, viewport.scrollPx), Math.max(0, extent.rows * rowPx - extent.heightPx));
  return { startMs, endMs: startMs + span, rowPx, scrollPx };
}

/** Zooms time by `factor` (> 1 is closer), keeping `atMs` where it is. */
export function zoomTime(viewport: Viewport, factor: number, atMs: number, extent: Extent): Viewport {
  const span = viewport.endMs - viewport.startMs;
  const next = Math.min(extent.durationMs, Math.max(extent.durationMs * deepestZoom, span / factor));
  const startMs = atMs - ((atMs - viewport.startMs) / span) * next;
  return clamp({ ...viewport, startMs, endMs: startMs + next }, extent);
}

/** Moves the window by `deltaMs`; stops at the ends with its width kept. */
export function panTime(viewport: Viewport, deltaMs: number, extent: Extent): Viewport {
  return clamp({ ...viewport, startMs: viewport.startMs + deltaMs, endMs: viewport.endMs + deltaMs }, extent);
}

/** Scrolls the rows by `deltaPx`. */
export function scrollRows(viewport: Viewport, deltaPx: number, extent: Extent): Viewport {
  return clamp({ ...viewport, scrollPx: viewport.scrollPx + deltaPx }, extent);
}

/** Makes rows higher by `factor`, keeping the row at `atPx` (from the top of the area) where it is. */
export function zoomRows(viewport: Viewport, factor: number, atPx: number, extent: Extent): Viewport {
  const rowPx = Math.min(maximumRowPx, Math.max(minimumRowPx, viewport.rowPx * factor));
  const row = (atPx + viewport.scrollPx) / viewport.rowPx;
  return clamp({ ...viewport, rowPx, scrollPx: row * rowPx - atPx }, extent);
}

/** Shows `startMs` to `endMs` with a tenth of room on either side. */
export function fitRange(viewport: Viewport, startMs: number, endMs: number, extent: Extent): Viewport {
  const room = (endMs - startMs) * 0.1;
  return clamp({ ...viewport, startMs: startMs - room, endMs: endMs + room }, extent);
}

/** Shows an operation: its time in the middle third, its row high enough to read. */
export function fitOperation(viewport: Viewport, row: number, startMs: number, endMs: number, extent: Extent): Viewport {
  const rowPx = Math.max(viewport.rowPx, readableRowPx);
  const length = endMs - startMs;
  const pinnedPx = pinnedRows({ rowPx }, extent) * rowPx;
  const scrollPx = row * rowPx < pinnedPx ? viewport.scrollPx : (row + 0.5) * rowPx - (extent.heightPx + pinnedPx) / 2;
  return clamp({ startMs: startMs - length, endMs: endMs + length, rowPx, scrollPx }, extent);
}

/** Moves as little as needed to bring a row and a time span into sight; the zoom stays. */
export function reveal(viewport: Viewport, row: number, startMs: number, endMs: number, extent: Extent): Viewport {
  const span = viewport.endMs - viewport.startMs;
  let { startMs: left, scrollPx } = viewport;
  if (endMs > left + span) left = endMs - span;
  if (startMs < left) left = startMs;
  const top = row * viewport.rowPx;
  const pinnedPx = pinnedRows(viewport, extent) * viewport.rowPx;
  if (top >= pinnedPx) {
    if (top + viewport.rowPx > scrollPx + extent.heightPx) scrollPx = top + viewport.rowPx - extent.heightPx;
    if (top < scrollPx + pinnedPx) scrollPx = top - pinnedPx;
  }
  return clamp({ ...viewport, startMs: left, endMs: left + span, scrollPx }, extent);
}

/** Time under an x, ms. */
export function timeAt(viewport: Viewport, x: number, extent: Extent): number {
  return viewport.startMs + (x / extent.widthPx) * (viewport.endMs - viewport.startMs);
}

/** x of a time, CSS px; may lie outside the area. */
export function xAt(viewport: Viewport, ms: number, extent: Extent): number {
  return ((ms - viewport.startMs) / (viewport.endMs - viewport.startMs)) * extent.widthPx;
}

/** How many of the pinned rows stay: as many as half of the area holds, so that others can be seen. */
export function pinnedRows({ rowPx }: Pick<Viewport, 'rowPx'>, { pinned = 0, heightPx }: Extent): number {
  return Math.min(pinned, Math.floor(heightPx / 2 / rowPx));
}

/** Where a row begins, CSS px from the top of the area; may lie outside it, and behind pinned rows. */
export function rowTop(viewport: Viewport, row: number, extent: Extent): number {
  return row * viewport.rowPx - (row < pinnedRows(viewport, extent) ? 0 : viewport.scrollPx);
}

/** Row under a y, or null above the first and below the last. */
export function rowAt(viewport: Viewport, y: number, extent: Extent): number | null {
  const isPinned = y >= 0 && y < pinnedRows(viewport, extent) * viewport.rowPx;
  const row = Math.floor((isPinned ? y : y + viewport.scrollPx) / viewport.rowPx);
  return row >= 0 && row < extent.rows ? row : null;
}

/** Rows that can be seen, from the top. */
export function visibleRows(viewport: Viewport, extent: Extent): readonly number[] {
  const pinned = pinnedRows(viewport, extent);
  const first = Math.max(pinned, Math.floor(viewport.scrollPx / viewport.rowPx) + pinned);
  const end = Math.min(extent.rows, Math.ceil((viewport.scrollPx + extent.heightPx) / viewport.rowPx));
  const scrolled = Array.from({ length: Math.max(0, end - first) }, (_, index) => first + index);
  return [...Array.from({ length: pinned }, (_, row) => row), ...scrolled];
}

/** The viewport `fraction` of the way from one to another, for the short ease of zoom to fit. */
export function between(from: Viewport, to: Viewport, fraction: number): Viewport {
  const mix = (a: number, b: number): number => a + (b - a) * fraction;
  return {
    startMs: mix(from.startMs, to.startMs),
    endMs: mix(from.endMs, to.endMs),
    rowPx: mix(from.rowPx, to.rowPx),
    scrollPx: mix(from.scrollPx, to.scrollPx),
  };
}
