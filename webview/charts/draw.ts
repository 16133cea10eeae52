import { css, mix, withAlpha, type Rgba } from '../base/color';
import { hatchPattern, type Surface } from '../base/surface';
import type { Theme } from '../base/theme';
import { axisShare } from './axis';
import type { ChartContent, Curve, Dot, Guide, Tone } from './content';
import { drawMarksAcross, penOn, plotIn, type Plot } from './plot';

const leftPx = 62;
const rightPx = 76;
const topPx = 12;
const bottomPx = 24;
const dotPx = 3.5;
const labelPx = 11;
/** A narrower chart names neither its curves nor its axis. */
const narrowPx = 300;

/** The plot of a chart with two axes. */
interface ChartPlot extends Plot {
  /** There is room on the right for the names of curves and of the axis. */
  readonly named: boolean;
  readonly toPixels: (x: number, y: number) => { readonly x: number; readonly y: number };
}

function chartBox(surface: Pick<Surface, 'width' | 'height'>): Plot {
  return plotIn(surface, { left: leftPx, right: surface.width() >= narrowPx ? rightPx : 16, top: topPx, bottom: bottomPx });
}

/** The plot of content inside a surface. */
export function chartPlot(surface: Pick<Surface, 'width' | 'height'>, content: ChartContent): ChartPlot {
  const plot = chartBox(surface);
  return {
    ...plot,
    named: surface.width() >= narrowPx,
    toPixels: (x, y) => ({
      x: plot.left + axisShare(content.x, x) * plot.width,
      y: plot.top + (1 - axisShare(content.y, y)) * plot.height,
    }),
  };
}

/** What the drawing functions share. After the axes the context's unit is one CSS px, snapped to device px where lines must be sharp. */
interface ChartPen {
  readonly context: CanvasRenderingContext2D;
  readonly colors: Theme;
  readonly plot: ChartPlot;
  readonly content: ChartContent;
  readonly scale: number;
  readonly snap: (px: number) => number;
}

/** The place of a chart that has nothing to show yet. */
export function drawPlace(surface: Surface, colors: Theme): void {
  const { context } = surface;
  const scale = surface.scale();
  const { left, top, width, height } = chartBox(surface);
  context.fillStyle = css(colors.track);
  context.strokeStyle = css(colors.grid);
  context.lineWidth = Math.max(1, Math.round(scale / 1.5));
  context.fillRect(left * scale, top * scale, width * scale, height * scale);
  if (colors.highContrast) context.strokeRect(left * scale, top * scale, width * scale, height * scale);
}

/** Draws axes, band, guides, curves and points of a chart, the selected one with cross hairs. */
export function drawChart(surface: Surface, colors: Theme, content: ChartContent, selected: Dot | null): void {
  const { context } = surface;
  const scale = surface.scale();
  const plot = chartPlot(surface, content);
  const pen: ChartPen = { context, colors, plot, content, scale, snap: (px) => Math.round(px * scale) / scale };
  drawBand(pen);
  const marks = content.y.marks(Math.max(3, Math.floor(plot.height / 44)));
  drawMarksAcross(
    penOn(surface, colors, plot),
    marks.map(({ value, text }) => ({ y: plot.toPixels(content.x.min, value).y * scale, text })),
  );
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.font = `${labelPx}px ${colors.fontFamily}`;
  context.lineJoin = 'round';
  drawMarksBelow(pen);
  for (const guide of content.guides) drawGuide(pen, guide);
  if (selected !== null) drawCross(pen, selected);
  clipped(pen, () => {
    for (const curve of content.curves) drawCurve(pen, curve);
  });
  for (const dot of content.dots) drawDot(pen, dot, dot.id === selected?.id);
  drawLabels(pen);
}

function toneColor(colors: Theme, tone: Tone, faint: number): Rgba {
  const color = { forward: colors.forward, backward: colors.backward, both: colors.foreground, over: colors.capacity }[tone];
  return colors.highContrast ? color : mix(color, colors.background, faint);
}

function clipped({ context, plot }: ChartPen, draw: () => void): void {
  context.save();
  context.beginPath();
  context.rect(plot.left, plot.top - 4, plot.width + 2, plot.height + 6);
  context.clip();
  draw();
  context.restore();
}

function hairline({ context, scale, snap }: ChartPen, x: number, y: number, width: number, height: number): void {
  const line = Math.max(1, Math.round(scale / 1.5)) / scale;
  context.fillRect(snap(x), snap(y), width === 0 ? line : width, height === 0 ? line : height);
}

function drawMarksBelow(pen: ChartPen): void {
  const { context, colors, plot, content } = pen;
  const nameRight = plot.left + plot.width + rightPx - 4;
  const nameLeft = plot.named ? nameRight - context.measureText(content.xName).width : Infinity;
  context.textAlign = 'center';
  for (const { value, text } of content.x.marks(Math.max(2, Math.floor(plot.width / 64)))) {
    const { x } = plot.toPixels(value, content.y.min);
    context.fillStyle = css(colors.grid);
    hairline(pen, x, plot.top + plot.height, 0, 4);
    context.fillStyle = css(colors.dim);
    if (x + context.measureText(text).width / 2 + 6 <= nameLeft) context.fillText(text, x, plot.top + plot.height + 15);
  }
  context.textAlign = 'right';
  if (plot.named) context.fillText(content.xName, nameRight, plot.top + plot.height + 15);
}

function drawBand(pen: ChartPen): void {
  const { context, colors, plot, content, scale } = pen;
  if (content.band === null) return;
  const top = plot.toPixels(content.x.min, Math.min(content.y.max, content.band.to)).y;
  const bottom = plot.toPixels(content.x.min, Math.max(content.y.min, content.band.from)).y;
  const hatch = colors.highContrast ? hatchPattern(context, css(withAlpha(colors.foreground, 0.3)), Math.round(8 * scale)) : null;
  context.fillStyle = hatch ?? css(mix(colors.background, colors.foreground, 0.06));
  context.fillRect(plot.left * scale, top * scale, plot.width * scale, (bottom - top) * scale);
}

function drawGuide(pen: ChartPen, guide: Guide): void {
  const { context, colors, plot, content } = pen;
  context.fillStyle = css(guide.tone === undefined ? colors.dim : toneColor(colors, guide.tone, 0));
  context.textBaseline = 'middle';
  if ('across' in guide) {
    const { y } = plot.toPixels(content.x.min, guide.across);
    hairline(pen, plot.left, y, plot.width, 0);
    context.textAlign = 'left';
    if (plot.named) context.fillText(guide.text, plot.left + plot.width + 8, y);
    return;
  }
  const { x } = plot.toPixels(guide.down, content.y.min);
  hairline(pen, x, plot.top, 0, plot.height);
  const isRight = x + 10 + context.measureText(guide.text).width > plot.left + plot.width + (plot.named ? rightPx : 0);
  context.textAlign = isRight ? 'right' : 'left';
  // At the top: what takes more is mostly faster, so its points are at the bottom.
  haloText(pen, guide.text, x + (isRight ? -6 : 6), plot.top + 10);
}

function drawCurve({ context, colors, plot }: ChartPen, curve: Curve): void {
  context.strokeStyle = css(toneColor(colors, curve.tone, curve.faint));
  context.lineWidth = 1.5;
  // Where colours must not be the only difference, the line shows the pass.
  context.setLineDash(curve.tone === 'both' ? [2, 3] : colors.highContrast && curve.tone === 'backward' ? [6, 3] : []);
  context.beginPath();
  curve.points.forEach(([x, y], index) => {
    const at = plot.toPixels(x, y);
    if (index === 0) context.moveTo(at.x, at.y);
    else context.lineTo(at.x, at.y);
  });
  context.stroke();
  context.setLineDash([]);
}

function drawDot({ context, colors, plot }: ChartPen, dot: Dot, isSelected: boolean): void {
  const { x, y } = plot.toPixels(dot.x, dot.y);
  const color = css(toneColor(colors, dot.tone, dot.faint));
  dotPath(context, dot, x, y, dotPx);
  context.fillStyle = dot.hollow ? css(colors.background) : color;
  context.strokeStyle = dot.hollow ? color : css(colors.background);
  context.lineWidth = dot.hollow ? 1.5 : 1;
  if (dot.shape === 'cross') context.strokeStyle = color;
  context.stroke();
  context.fill();
  if (dot.hollow) context.stroke();
  if (!isSelected) return;
  dotPath(context, dot.shape === 'cross' ? { shape: 'disc' } : dot, x, y, dotPx + 3.5);
  context.strokeStyle = css(colors.focus);
  context.lineWidth = 2;
  context.stroke();
}

/** Outline of a point. */
function dotPath(context: CanvasRenderingContext2D, { shape }: Pick<Dot, 'shape'>, x: number, y: number, radius: number): void {
  context.beginPath();
  if (shape === 'disc') {
    context.arc(x, y, radius, 0, 2 * Math.PI);
    return;
  }
  if (shape === 'cross') {
    context.moveTo(x - radius, y - radius);
    context.lineTo(x + radius, y + radius);
    context.moveTo(x + radius, y - radius);
    context.lineTo(x - radius, y + radius);
    return;
  }
  const tips = shape === 'diamond' ? [1.25] : [2, 0.85];
  const corners = shape === 'diamond' ? 4 : 10;
  for (let corner = 0; corner < corners; corner++) {
    const reach = radius * (tips[corner % tips.length] ?? 1);
    const angle = (2 * Math.PI * corner) / corners;
    context.lineTo(x + reach * Math.sin(angle), y - reach * Math.cos(angle));
  }
  context.closePath();
}

function drawCross(pen: ChartPen, dot: Dot): void {
  const { context, colors, plot } = pen;
  const { x, y } = plot.toPixels(dot.x, dot.y);
  context.fillStyle = css(withAlpha(colors.focus, 0.7));
  hairline(pen, plot.left, y, x - plot.left, 0);
  hairline(pen, x, y, 0, plot.top + plot.height - y);
}

/**
 * Names curves at their ends, from the top down; names that would lie on each other move apart, and are left out when they would move too
 * far.
 */
function drawLabels(pen: ChartPen): void {
  const { context, colors, plot, content } = pen;
  if (!plot.named) return;
  context.textBaseline = 'middle';
  context.textAlign = 'left';
  const wanted = content.curves
    .flatMap(({ label, points, tone }) => {
      const end = points.at(-1);
      return end === undefined ? [] : [{ label, tone, width: context.measureText(label).width, ...plot.toPixels(...end) }];
    })
    .sort((a, b) => a.y - b.y);
  const placed: { readonly x: number; readonly y: number; readonly width: number }[] = [];
  for (const { label, tone, width, x, y } of wanted) {
    const lowest = placed
      .filter((other) => x < other.x + other.width && other.x < x + width)
      .reduce((low, other) => Math.max(low, other.y + labelPx + 2), 0);
    const at = Math.max(y, lowest);
    if (at - y > labelPx * 1.5) continue;
    placed.push({ x, y: at, width });
    context.fillStyle = css(tone === 'both' ? colors.foreground : mix(toneColor(colors, tone, 0), colors.foreground, 0.35));
    haloText(pen, label, x + 8, at);
  }
}

/** Text that stays readable over lines. Keeps the fill colour. */
function haloText({ context, colors }: ChartPen, text: string, x: number, y: number): void {
  context.strokeStyle = css(withAlpha(colors.background, 0.85));
  context.lineWidth = 3;
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}
