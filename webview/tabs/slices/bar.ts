import { css, mix, readableOn, withAlpha } from '../../base/color';
import { makeSurface, type Surface } from '../../base/surface';
import { onThemeChange, theme, type Theme } from '../../base/theme';
import type { SliceRow } from './groups';
import { setLabelFont } from '../../charts/plot';

/** The sequence as one bar, cut as the paper draws it: widths are tokens, a darker shade is a longer time. */
export function makeSliceBar(rows: () => readonly SliceRow[]): { readonly canvas: HTMLCanvasElement; readonly redraw: () => void } {
  const surface = makeSurface('slice-bar', (target) => drawSlices(target, theme(), rows()));
  onThemeChange(surface.redraw);
  return { canvas: surface.canvas, redraw: surface.redraw };
}

/** One strip of shares: widths are the values, a stronger shade a longer time. */
export interface Share {
  readonly value: number;
  readonly ms: number;
  /** Inside, where there is room. */
  readonly text: string;
}

/** Values of a sequence's slices side by side. */
export function makeShareStrip(shares: () => readonly Share[]): { readonly canvas: HTMLCanvasElement; readonly redraw: () => void } {
  const surface = makeSurface('share-strip', (target) => drawShares(target, theme(), shares()));
  onThemeChange(surface.redraw);
  return { canvas: surface.canvas, redraw: surface.redraw };
}

/** Slice under an x, or null; `width` in the unit of `x`. */
export function sliceAt(rows: readonly SliceRow[], x: number, width: number): SliceRow | null {
  const total = rows.reduce((sum, { tokens }) => sum + tokens, 0);
  const token = (x / width) * total;
  return rows.find(({ context, tokens }) => token >= context && token < context + tokens) ?? null;
}

function drawSlices(surface: Surface, colors: Theme, rows: readonly SliceRow[]): void {
  const shares = rows.map(({ tokens, forwardMs, backwardMs }): Share => ({
    value: tokens,
    ms: (forwardMs ?? 0) + (backwardMs ?? 0),
    text: String(tokens),
  }));
  drawShares(surface, colors, shares);
}

function drawShares(surface: Surface, colors: Theme, shares: readonly Share[]): void {
  const { context } = surface;
  const scale = surface.scale();
  const width = Math.round(surface.width() * scale);
  const height = Math.round(surface.height() * scale);
  const total = shares.reduce((sum, { value }) => sum + value, 0);
  const longest = shares.reduce((most, { ms }) => Math.max(most, ms), 0);
  const shortest = shares.reduce((least, { ms }) => Math.min(least, ms), longest);
  const gap = width / Math.max(1, shares.length) >= 4 * scale ? Math.max(1, Math.round(scale)) : 0;
  setLabelFont(context, colors, scale);
  context.textAlign = 'center';
  let before = 0;
  shares.forEach(({ value, ms, text }, index) => {
    const x0 = Math.round((before / total) * width);
    before += value;
    const x1 = Math.round((before / total) * width) - (index < shares.length - 1 ? gap : 0);
    const color = mix(colors.forward, colors.background, longest > shortest ? 0.6 - (0.6 * (ms - shortest)) / (longest - shortest) : 0);
    if (colors.highContrast) {
      context.strokeStyle = css(colors.foreground);
      context.lineWidth = Math.max(1, Math.round(scale));
      context.strokeRect(x0 + 0.5, 0.5, Math.max(1, x1 - x0 - 1), height - 1);
    } else {
      context.fillStyle = css(color);
      context.fillRect(x0, 0, Math.max(1, x1 - x0), height);
    }
    if (height < 14 * scale || x1 - x0 < (text.length * 6.8 + 6) * scale) return;
    context.fillStyle = colors.highContrast ? css(colors.foreground) : css(withAlpha(readableOn(color), 0.88));
    context.fillText(text, (x0 + x1) / 2, height / 2 + scale * 0.5);
  });
}
