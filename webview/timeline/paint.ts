import { css, mix, readableOn, withAlpha, type Rgba } from '../color';
import type { Theme } from '../theme';
import { shadeOf } from './columns';

/** Colours of operations in one theme, computed once per theme. */
export interface Paints {
  /** Fill of an operation by kind and micro-batch. */
  readonly fill: (isForward: boolean, microBatch: number) => string;
  readonly text: (isForward: boolean, microBatch: number) => string;
  /** Colour of a pixel column that is partly covered: `level` is the brightness level of `shadeOf`. */
  readonly blend: (forward: number, backward: number, level: number) => Rgba;
  /** The line that parts an operation `widthPx` wide from the next one: fainter the narrower they are, so that many do not turn into a pattern. */
  readonly hairline: (widthPx: number) => string;
  /** High contrast only: diagonal lines for backward. */
  readonly hatch: CanvasPattern | null;
}

const cache = new WeakMap<Theme, Paints>();

/** The colours of operations in a theme. */
export function paintsOf(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const found = cache.get(theme) ?? makePaints(theme, context);
  cache.set(theme, found);
  return found;
}

function makePaints(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const shaded = (isForward: boolean, level: number): Rgba => mix(isForward ? theme.forward : theme.backward, theme.background, level);
  const hairlines = [0.3, 0.45, 0.6, 0.75, 0.9].map((alpha) => css(withAlpha(theme.background, alpha)));
  const fills = new Map<number, string>();
  const texts = new Map<number, string>();
  const cached = (map: Map<number, string>, isForward: boolean, microBatch: number, make: (level: number) => string): string => {
    const key = (microBatch % 4) * 2 + Number(isForward);
    const known = map.get(key) ?? make(shadeOf(microBatch));
    map.set(key, known);
    return known;
  };
  return {
    fill: (isForward, microBatch) => cached(fills, isForward, microBatch, (level) => css(shaded(isForward, level))),
    text: (isForward, microBatch) =>
      cached(texts, isForward, microBatch, (level) => css(withAlpha(readableOn(shaded(isForward, level)), 0.88))),
    blend: (forward, backward, level) => {
      const covered = forward + backward;
      const color = mix(shaded(true, level), shaded(false, level), covered > 0 ? backward / covered : 0);
      return withAlpha(color, Math.min(1, covered));
    },
    hairline: (widthPx) => hairlines[Math.min(4, Math.floor(Math.max(0, widthPx - 4) / 3))] ?? '',
    hatch: theme.highContrast ? hatchPattern(context, css(theme.foreground)) : null,
  };
}

/** Diagonal lines, for kinds that high contrast must not tell apart by colour alone. */
export function hatchPattern(context: CanvasRenderingContext2D, color: string, distance = 5): CanvasPattern | null {
  const tile = document.createElement('canvas');
  tile.width = tile.height = distance;
  const pen = tile.getContext('2d');
  if (pen === null) return null;
  pen.strokeStyle = color;
  pen.lineWidth = 1;
  pen.beginPath();
  for (const offset of [-distance, 0, distance]) {
    pen.moveTo(offset, distance);
    pen.lineTo(offset + distance, 0);
  }
  pen.stroke();
  return context.createPattern(tile, 'repeat');
}
