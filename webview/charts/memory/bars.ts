import type { MemoryPart, MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { stageFits } from '../../../src/core/memory-model/verdict';
import { css } from '../../base/color';
import { makeSurface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { penOn, plotIn, pointIn, shareAt } from '../plot';
import { niceTicks } from '../ticks';
import { drawCapacity, memoryPen, nameCapacity, type MemoryPen } from './axis';
import { drawBand } from './band';
import { flatPaint, partPaint } from './part-paint';
import { gpuRuns, presentParts, worstStage } from './summary';

/** How bars are drawn; in the narrow view they carry no axis. */
interface BarsOptions {
  readonly axis: boolean;
  readonly profile: () => MemoryProfile | null;
  /** Of the plan that it is compared with, which the axis has to hold too. */
  readonly compared?: () => MemoryProfile | null;
  readonly stage: () => number | null;
  readonly onPoint: (stage: number | null, x: number, y: number) => void;
  readonly onPick: (stage: number) => void;
}

const margins = { left: 56, right: 80, bottom: 22 } as const;

/** A bar per stage, its parts stacked, against the capacity and the margin. */
export function makeBars(options: BarsOptions): { readonly canvas: HTMLCanvasElement; readonly redraw: () => void } {
  const around = options.axis ? margins : {};
  const surface = makeSurface(options.axis ? 'bars' : 'bars bars-mini', (target) => {
    const profile = options.profile();
    if (profile === null) return;
    const pen = memoryPen(penOn(target, theme(), plotIn(target, around)), [profile, options.compared?.() ?? profile]);
    drawBars(pen, profile, options);
  });
  const { canvas } = surface;
  const stageAt = (x: number): number | null => {
    const stages = options.profile()?.stages ?? [];
    return stages[Math.floor(shareAt(plotIn(surface, around), x) * stages.length)]?.stage ?? null;
  };
  canvas.addEventListener('pointermove', (event) => {
    const { x, y } = pointIn(canvas, event);
    options.onPoint(stageAt(x), x, y);
  });
  canvas.addEventListener('pointerleave', () => options.onPoint(null, 0, 0));
  canvas.addEventListener('click', (event) => {
    const stage = stageAt(pointIn(canvas, event).x);
    if (stage !== null) options.onPick(stage);
  });
  onThemeChange(surface.redraw);
  return { canvas, redraw: surface.redraw };
}

function drawBars(pen: MemoryPen, profile: MemoryProfile, { axis, stage: selected }: BarsOptions): void {
  const { plot, scale, x } = pen;
  const { stages } = profile;
  if (axis) pen.drawMarks(Math.max(3, Math.floor((plot.height + margins.bottom) / 48)));
  const parts = presentParts(profile);
  const step = (plot.width / stages.length) * scale;
  const gap = step >= 5 * scale ? Math.max(1, Math.round(Math.min(step * 0.18, 6 * scale))) : 0;
  // A few bars are bars, not walls; they are in the middle of their share.
  const widest = Math.round(64 * scale);
  // Outlines of thin bars would run together to a wall.
  const isOutlinedTogether = pen.colors.highContrast && step - gap < 8 * scale;
  if (isOutlinedTogether) drawTogether(pen, stages, parts, step);
  stages.forEach((stage, index) => {
    const left = Math.round(x(0) + index * step);
    const right = Math.max(left + 1, Math.round(x(0) + (index + 1) * step) - gap);
    const width = Math.min(right - left, widest);
    const from = left + Math.floor((right - left - width) / 2);
    if (!isOutlinedTogether) drawParts(pen, stage, parts, from, width);
    drawSigns(pen, stage, from, width, axis && stage.stage === selected());
  });
  drawLimits(pen, profile, axis);
  if (axis) drawStageNumbers(pen, profile, selected());
}

/** Draws each part of all stages as one shape. */
function drawTogether(pen: MemoryPen, stages: readonly StageMemory[], parts: readonly MemoryPart[], step: number): void {
  const edge = (index: number): number => Math.round(pen.x(0) + index * step);
  const columns = stages.map((_, index) => ({ from: edge(index), to: edge(index + 1) }));
  let floors = stages.map(() => 0);
  for (const part of parts) {
    const ceilings = stages.map((stage, index) => (floors[index] ?? 0) + stage.parts[part]);
    drawBand(pen, part, columns, floors, ceilings);
    floors = ceilings;
  }
}

function drawParts(pen: MemoryPen, stage: StageMemory, parts: readonly MemoryPart[], x: number, width: number): void {
  const { bytesY } = pen;
  let floor = 0;
  for (const part of parts) {
    const ceiling = floor + stage.parts[part];
    drawPart(pen, part, x, bytesY(ceiling), width, bytesY(floor) - bytesY(ceiling));
    floor = ceiling;
  }
}

/** Marks the selected stage below its bar, and one that does not fit on top of it. */
function drawSigns({ context, colors, scale, bytesY }: MemoryPen, stage: StageMemory, x: number, width: number, isSelected: boolean): void {
  if (isSelected) {
    context.fillStyle = css(colors.focus);
    context.fillRect(x - 1, bytesY(0) + Math.round(2 * scale), width + 2, Math.max(2, Math.round(2 * scale)));
  }
  if (stageFits(stage)) return;
  context.fillStyle = css(colors.error);
  context.fillRect(x, bytesY(stage.peakBytes), width, Math.max(2, Math.round(2 * scale)));
}

function drawPart({ context, colors, scale }: MemoryPen, part: MemoryPart, x: number, y: number, width: number, height: number): void {
  if (height <= 0) return;
  // On thin bars a texture is noise.
  context.fillStyle = width >= 6 * scale ? partPaint(context, colors, part, scale) : flatPaint(colors, part);
  context.fillRect(x, y, width, height);
  if (!colors.highContrast) return;
  context.strokeStyle = css(colors.foreground);
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, width - 1, Math.max(0, height - 1));
}

function drawLimits(pen: MemoryPen, profile: MemoryProfile, named: boolean): void {
  const { context, colors, scale, plot, bytesY, x } = pen;
  const runs = gpuRuns(profile);
  const step = (plot.width / profile.stages.length) * scale;
  for (const { from, to, tightest } of runs) {
    const [left, right] = [from, to].map((stage) => Math.round(x(0) + stage * step)) as [number, number];
    drawCapacity(pen, tightest, [left, right], named ? 0.45 : 0);
    const { gpu } = tightest;
    if (!named || gpu === undefined || context.measureText(gpu).width >= right - left - 8 * scale) continue;
    context.fillStyle = css(colors.foreground);
    context.textAlign = 'left';
    context.fillText(gpu, left + 4 * scale, Math.max(7 * scale, bytesY(tightest.capacityBytes) - 8 * scale));
  }
  if (named) for (const capacity of new Set(runs.map(({ tightest }) => tightest.capacityBytes))) nameCapacity(pen, capacity, x(1));
}

/** Numbers below the bars: of the selected stage and the worst one, and of every n-th that is not too near to those. */
function drawStageNumbers({ context, colors, scale, plot, x }: MemoryPen, profile: MemoryProfile, selected: number | null): void {
  const count = profile.stages.length;
  const { step: every } = niceTicks(0, count, Math.max(2, plot.width / 44));
  const marked = [selected, worstStage(profile)?.stage ?? null].filter((stage) => stage !== null);
  const y = (plot.height + margins.bottom / 2 + 2) * scale;
  context.textAlign = 'center';
  profile.stages.forEach(({ stage }, index) => {
    const isMarked = marked.includes(stage);
    const nearMarked = marked.some((other) => other !== stage && (Math.abs(other - stage) * plot.width) / count < 30);
    if (!isMarked && (stage % Math.max(1, every) !== 0 || nearMarked)) return;
    context.fillStyle = css(isMarked ? colors.foreground : colors.dim);
    context.fillText(String(stage), x((index + 0.5) / count), y);
  });
}
