import { css } from '../base/color';
import type { Surface } from '../base/surface';
import type { Theme } from '../base/theme';

/** Where a chart draws inside its canvas, CSS px. */
export interface Plot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Room around a plot for its axes and names, CSS px. */
type Margins = Readonly<Partial<Record<'left' | 'right' | 'top' | 'bottom', number>>>;

/** The plot of a canvas, at least one px wide and high. */
export function plotIn(canvas: Pick<Surface, 'width' | 'height'>, { left = 0, right = 0, top = 0, bottom = 0 }: Margins): Plot {
  return { left, top, width: Math.max(1, canvas.width() - left - right), height: Math.max(1, canvas.height() - top - bottom) };
}

/** Share of the width of a plot at an x, CSS px: 0 at its left edge, 1 at its right edge. */
export function shareAt({ left, width }: Plot, x: number): number {
  return (x - left) / width;
}

/** Where the pointer is in an element, CSS px from its upper left corner. */
export function pointIn(element: Element, event: MouseEvent): { readonly x: number; readonly y: number } {
  const box = element.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

/** What draws on a plot, in device px. */
export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly colors: Theme;
  /** Device px per CSS px. */
  readonly scale: number;
  readonly plot: Plot;
  /** Of a share of the width, from the left edge. */
  readonly x: (share: number) => number;
  /** Of a share of the height, from the lower edge. */
  readonly y: (share: number) => number;
}

/** A pen on a plot of a canvas, set to write names of axes. */
export function penOn({ context, scale: readScale }: Surface, colors: Theme, plot: Plot): Pen {
  const scale = readScale();
  setLabelFont(context, colors, scale);
  return {
    context,
    colors,
    scale,
    plot,
    x: (share) => (plot.left + share * plot.width) * scale,
    y: (share) => (plot.top + (1 - share) * plot.height) * scale,
  };
}

/** Sets the font of names next to and inside what is drawn, in the middle of their line. */
export function setLabelFont(context: CanvasRenderingContext2D, colors: Theme, scale: number): void {
  context.font = `${Math.round(11 * scale)}px ${colors.fontFamily}`;
  context.textBaseline = 'middle';
}

/** Width of a line of some CSS px: whole device px, at least one. */
export function lineWidth(scale: number, px = 1): number {
  return Math.max(1, Math.round(px * scale));
}

/**
 * Draws a line across the plot at each mark of its y axis and writes the marks left of it, except those that would stick out of the canvas.
 * `y` in device px from its top.
 */
export function drawMarksAcross(
  { context, colors, scale, plot }: Pen,
  marks: readonly { readonly y: number; readonly text: string }[],
): void {
  const { height } = context.canvas;
  context.textAlign = 'right';
  for (const { y, text } of marks) {
    context.fillStyle = css(colors.grid);
    context.fillRect(plot.left * scale, Math.min(Math.round(y), height - 1), plot.width * scale, lineWidth(scale, 0.5));
    context.fillStyle = css(colors.dim);
    if (y > 6 * scale && y <= height - 6 * scale) context.fillText(text, (plot.left - 8) * scale, y);
  }
}
