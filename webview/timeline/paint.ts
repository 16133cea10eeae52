import { part as parts, type Part } from '../../src/core/schedule/parts';
import { css, mix, readableOn, withAlpha, type Rgba } from '../color';
import type { Theme } from '../theme';
import { shadeOf } from './columns';

/** Colours of operations in one theme, computed once per theme. */
export interface Paints {
  /** Fill of an operation by part and micro-batch. */
  readonly fill: (part: Part, microBatch: number) => string;
  readonly text: (part: Part, microBatch: number) => string;
  /** Colour of a pixel column that is partly covered: `level` is the brightness level of `shadeOf`. */
  readonly blend: (forward: number, backward: number, weight: number, level: number) => Rgba;
  /** The line that parts an operation `widthPx` wide from the next one: fainter the narrower they are, so that many do not turn into a pattern. */
  readonly hairline: (widthPx: number) => string;
  /** High contrast only: outline of a part, and what fills it: nothing, diagonal lines for backward, wider ones for weight backward. */
  readonly line: (part: Part) => string;
  readonly hatch: (part: Part) => CanvasPattern | null;
}

const cache = new WeakMap<Theme, Paints>();

/** The colours of operations in a theme. */
export function paintsOf(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const found = cache.get(theme) ?? makePaints(theme, context);
  cache.set(theme, found);
  return found;
}

function makePaints(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const colors = [theme.forward, theme.backward, theme.backwardWeight] as const;
  const shaded = (part: Part, level: number): Rgba => mix(colors[part], theme.background, level);
  const hairlines = [0.3, 0.45, 0.6, 0.75, 0.9].map((alpha) => css(withAlpha(theme.background, alpha)));
  const hatches = theme.highContrast
    ? ([null, hatchPattern(context, css(theme.foreground)), hatchPattern(context, css(theme.foreground), 10)] as const)
    : ([null, null, null] as const);
  const fills = new Map<number, string>();
  const texts = new Map<number, string>();
  const cached = (map: Map<number, string>, part: Part, microBatch: number, make: (level: number) => string): string => {
    const key = (microBatch % 4) * 3 + part;
    const known = map.get(key) ?? make(shadeOf(microBatch));
    map.set(key, known);
    return known;
  };
  return {
    fill: (part, microBatch) => cached(fills, part, microBatch, (level) => css(shaded(part, level))),
    text: (part, microBatch) => cached(texts, part, microBatch, (level) => css(withAlpha(readableOn(shaded(part, level)), 0.88))),
    blend: (forward, backward, weight, level) => {
      const whole = forward + backward;
      const covered = whole + weight;
      const color = mix(shaded(parts.forward, level), shaded(parts.backward, level), whole > 0 ? backward / whole : 0);
      return withAlpha(weight > 0 ? mix(color, shaded(parts.weight, level), weight / covered) : color, Math.min(1, covered));
    },
    hairline: (widthPx) => hairlines[Math.min(4, Math.floor(Math.max(0, widthPx - 4) / 3))] ?? '',
    line: (part) => css(colors[part]),
    hatch: (part) => hatches[part],
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
