import { part as parts, type Part } from '../../../src/core/schedules/parts';
import { css, mix, readableOn, withAlpha, type Rgba } from '../../base/color';
import type { Theme } from '../../base/theme';
import { shadeFraction } from './columns';
import { hatchPattern } from '../../base/surface';

/** Colours of operations in one theme, computed once per theme. */
export interface Paints {
  /** Fill of an operation by part and shade. */
  readonly text: (part: Part, shade: number) => string;
  /** Pixel of a column that is partly covered: `level` is the brightness level of `shadeFraction`. */
  readonly blend: (forward: number, backward: number, weight: number, level: number) => number;
  /** Pixel of an operation. */
  readonly pixel: (part: Part, shade: number) => number;
  /**
   * Pixel of the line that parts an operation `widthPx` wide from the next one: fainter the narrower they are, so that many do not turn
   * into a pattern.
   */
  readonly hairline: (part: Part, shade: number, widthPx: number) => number;
  /** High contrast only: outline of a part, and what fills it: nothing, diagonal lines for backward, wider ones for weight backward. */
  readonly line: (part: Part) => string;
  readonly hatch: (part: Part) => CanvasPattern | null;
}

const cache = new WeakMap<Theme, Paints>();

/** The colours of operations in a theme. */
export function themePaints(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const found = cache.get(theme) ?? makePaints(theme, context);
  cache.set(theme, found);
  return found;
}

function makePaints(theme: Theme, context: CanvasRenderingContext2D): Paints {
  const colors = [theme.forward, theme.backward, theme.backwardWeight] as const;
  const shaded = (part: Part, level: number): Rgba => mix(colors[part], theme.background, level);
  const levels = [0, 1, 2, 3].map(shadeFraction);
  const ofEach = (color: (part: Part, level: number) => Rgba): number[] =>
    levels.flatMap((level) => ([parts.forward, parts.backward, parts.weight] as const).map((part) => packed(...color(part, level))));
  const pixels = ofEach(shaded);
  const hairlines = [0.3, 0.45, 0.6, 0.75, 0.9].map((alpha) => ofEach((part, level) => mix(shaded(part, level), theme.background, alpha)));
  const [forwards, backwards, weights] = colors;
  const [red, green, blue] = theme.background;
  const hatches = theme.highContrast
    ? ([null, hatchPattern(context, css(theme.foreground)), hatchPattern(context, css(theme.foreground), 10)] as const)
    : ([null, null, null] as const);
  const texts = new Map<number, string>();
  const text = (part: Part, shade: number): string => {
    const key = shade * 3 + part;
    const known = texts.get(key) ?? css(withAlpha(readableOn(shaded(part, shadeFraction(shade))), 0.88));
    texts.set(key, known);
    return known;
  };
  return {
    text,
    blend: (forward, backward, weight, level) => {
      const covered = forward + backward + weight;
      const channel = (index: 0 | 1 | 2, under: number): number =>
        ((forward * forwards[index] + backward * backwards[index] + weight * weights[index]) / covered) * (1 - level) + under * level;
      return packed(channel(0, red), channel(1, green), channel(2, blue), Math.min(1, covered));
    },
    pixel: (part, shade) => pixels[shade * 3 + part] ?? 0,
    hairline: (part, shade, widthPx) => hairlines[Math.min(4, Math.floor(Math.max(0, widthPx - 4) / 3))]?.[shade * 3 + part] ?? 0,
    line: (part) => css(colors[part]),
    hatch: (part) => hatches[part],
  };
}

/** A colour as image data has it in 32 bits, on the little-endian machines that browsers run on. */
function packed(red: number, green: number, blue: number, alpha: number): number {
  return ((Math.round(alpha * 255) << 24) | (Math.round(blue) << 16) | (Math.round(green) << 8) | Math.round(red)) >>> 0;
}
