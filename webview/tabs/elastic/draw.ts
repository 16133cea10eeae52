import type { ElasticEpoch } from '../../../src/features/elastic/core/plan';
import type { PageElastic } from '../../../src/protocol/page';
import { css, mix, readableOn, withAlpha, type Rgba } from '../../base/color';
import { t } from '../../base/strings';
import { hatchPattern, type Surface } from '../../base/surface';
import type { Theme } from '../../base/theme';
import { lineWidth, penOn, plotIn, type Pen } from '../../charts/plot';
import { niceTicks } from '../../charts/ticks';
import { epochBox, epochEdges, epochCount, type SpanBox } from './epochs';
import { axisPx, epochPlot, gpuTop, type Machine, type Rows } from './layout';
import { cacheWord, runsFrozen } from './labels';

/** What draws epochs. */
interface EpochPen extends Pen {
  readonly rows: Rows;
  readonly machine: Machine;
  readonly hatch: CanvasPattern | null;
  /** Written last, over the lines between epochs. */
  readonly labels: (() => void)[];
}

/** Draws frozen layers, cache and pipelines of all epochs. */
export function drawEpochs(surface: Surface, colors: Theme, elastic: PageElastic, boxes: readonly SpanBox[], rows: Rows): void {
  const pen = epochPen(penOn(surface, colors, epochPlot(surface)), elastic, rows);
  drawBoxes(pen, elastic, boxes);
  drawNames(pen);
  drawNumbers(pen, boxes, epochCount(elastic));
}

/** The same in a strip without names and numbers. */
export function drawEpochStrip(surface: Surface, colors: Theme, elastic: PageElastic, boxes: readonly SpanBox[], rows: Rows): void {
  drawBoxes(epochPen(penOn(surface, colors, plotIn(surface, {})), elastic, rows), elastic, boxes);
}

function epochPen(pen: Pen, elastic: PageElastic, rows: Rows): EpochPen {
  const { context, colors, scale, x } = pen;
  const hatchColor = colors.highContrast ? colors.foreground : withAlpha(colors.foreground, 0.42);
  return {
    ...pen,
    rows,
    machine: elastic.plan.request.cluster,
    x: (share) => Math.round(x(share)),
    hatch: hatchPattern(context, css(hatchColor), Math.round(6 * scale)),
    labels: [],
  };
}

function drawBoxes(pen: EpochPen, elastic: PageElastic, boxes: readonly SpanBox[]): void {
  drawTracks(pen);
  const { layers } = elastic.plan.request.model.spec;
  boxes.forEach((box, index) => {
    drawLayers(pen, box, layers);
    drawCache(pen, box);
    drawPipelines(pen, box);
    const before = boxes[index - 1]?.span.epoch;
    if (before !== undefined && changes(before, box.span.epoch)) drawChange(pen, box);
  });
  drawSeparators(pen, boxes);
  for (const write of pen.labels) write();
}

/** Outlines one epoch over all rows. */
export function drawMark(surface: Surface, colors: Theme, boxes: readonly SpanBox[], rows: Rows, epoch: number, strong: boolean): void {
  const box = epochBox(boxes, epoch);
  if (box === undefined) return;
  const { context, scale, x: toX } = penOn(surface, colors, epochPlot(surface));
  const [start, end] = epochEdges(box, epoch).map((share) => Math.round(toX(share))) as [number, number];
  const line = lineWidth(scale, strong ? 2 : 1);
  context.strokeStyle = css(strong ? colors.focus : colors.foreground);
  context.lineWidth = line;
  const x = start + line / 2;
  context.strokeRect(x, (rows.layersTop - 3) * scale, Math.max(line, end - start - line), (rows.gpusBottom - rows.layersTop + 6) * scale);
}

function block(
  { context, scale }: EpochPen,
  style: string | CanvasPattern | null,
  x0: number,
  x1: number,
  top: number,
  height: number,
): void {
  if (style === null) return;
  context.fillStyle = style;
  const y0 = Math.round(top * scale);
  context.fillRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, Math.round((top + height) * scale) - y0));
}

function outline({ context, colors, scale }: EpochPen, x0: number, x1: number, top: number, height: number): void {
  context.strokeStyle = css(colors.foreground);
  context.lineWidth = 1;
  const [y0, y1] = [Math.round(top * scale), Math.round((top + height) * scale)];
  context.strokeRect(x0 + 0.5, y0 + 0.5, Math.max(1, x1 - x0 - 1), Math.max(1, y1 - y0 - 1));
}

function drawTracks(pen: EpochPen): void {
  const { colors, rows, machine, x } = pen;
  if (colors.highContrast) return;
  const track = css(colors.track);
  block(pen, track, x(0), x(1), rows.layersTop, rows.layersHeight);
  block(pen, track, x(0), x(1), rows.cacheTop, rows.cacheHeight);
  for (let node = 0; node < machine.nodes; node++)
    block(pen, track, x(0), x(1), gpuTop(rows, machine, node * machine.gpusPerNode), machine.gpusPerNode * rows.gpuHeight);
}

/** Frozen layers from the bottom, those that train above them. */
function drawLayers(pen: EpochPen, { span, start, end }: SpanBox, layers: number): void {
  const { colors, rows, x, scale } = pen;
  const [x0, x1] = [x(start), x(end)];
  const { frozenLayers } = span.epoch;
  const frozenPx = (frozenLayers / layers) * rows.layersHeight;
  const top = rows.layersTop + rows.layersHeight - frozenPx;
  const active = mix(colors.forward, colors.background, 0.25);
  if (!colors.highContrast) {
    block(pen, css(active), x0, x1, rows.layersTop, rows.layersHeight - frozenPx);
    block(pen, css(frozenColor(colors)), x0, x1, top, frozenPx);
  } else outline(pen, x0, x1, rows.layersTop, rows.layersHeight);
  if (frozenPx > 0) {
    block(pen, pen.hatch, x0, x1, top, frozenPx);
    if (colors.highContrast) outline(pen, x0, x1, top, frozenPx);
  }
  const text = t('{0} frozen', frozenLayers);
  if (frozenLayers > 0 && frozenPx >= 14) label(pen, text, frozenColor(colors), x0, x1, top + frozenPx / 2);
  const left = layers - frozenLayers;
  if (left > 0 && rows.layersHeight - frozenPx >= 14 && x1 - x0 >= 40 * scale)
    label(pen, t('{0} train', left), active, x0, x1, rows.layersTop + (rows.layersHeight - frozenPx) / 2);
}

function frozenColor(colors: Theme): Rgba {
  return mix(colors.foreground, colors.background, 0.72);
}

/** A text in the middle of a box, left out where it has no room, on a plate that hides hatching and lines. */
function label({ context, colors, scale, labels }: EpochPen, text: string, ground: Rgba, x0: number, x1: number, middle: number): void {
  const width = context.measureText(text).width;
  if (width + 8 * scale > x1 - x0) return;
  labels.push(() => {
    const [x, y] = [(x0 + x1) / 2, Math.round(middle * scale)];
    const high = Math.round(5.5 * scale);
    context.fillStyle = css(colors.highContrast ? colors.background : ground);
    context.fillRect(Math.round(x - width / 2 - 3 * scale), y - high, Math.round(width + 6 * scale), 2 * high);
    context.textAlign = 'center';
    context.fillStyle = css(colors.highContrast ? colors.foreground : readableOn(ground));
    context.fillText(text, x, y + scale * 0.5);
  });
}

/** Whether other pipelines run than before. */
function changes(before: ElasticEpoch, epoch: ElasticEpoch): boolean {
  return before.pipelineLength !== epoch.pipelineLength || before.replicas !== epoch.replicas;
}

/** Width of the time before a span in which its GPUs stop and regroup, device px. */
function changeWidth({ scale, x }: EpochPen, { span, start, end }: SpanBox): number {
  const { transitionMs, epochMs } = span.epoch;
  if (transitionMs <= 0 || start === 0) return 0;
  const width = x(end) - x(start);
  return Math.min(Math.max(0, width - scale), (width * transitionMs) / (epochMs * span.count));
}

/** Filling is an outline, reading is full. */
function drawCache(pen: EpochPen, { span, start, end }: SpanBox): void {
  const { colors, rows, x } = pen;
  const { epoch } = span;
  if (epoch.cache.state === 'none') return;
  const [x0, x1] = [x(start), x(end)];
  const reads = epoch.cache.state === 'read';
  if (reads && !colors.highContrast) block(pen, css(colors.backward), x0, x1, rows.cacheTop, rows.cacheHeight);
  else if (reads) block(pen, pen.hatch, x0, x1, rows.cacheTop, rows.cacheHeight);
  if (!reads || colors.highContrast) {
    pen.context.strokeStyle = css(colors.highContrast ? colors.foreground : colors.backward);
    pen.context.lineWidth = 1;
    const [top, height] = [Math.round(rows.cacheTop * pen.scale), Math.round(rows.cacheHeight * pen.scale)];
    pen.context.strokeRect(x0 + 0.5, top + 0.5, Math.max(1, x1 - x0 - 1), height - 1);
  }
  if (rows.cacheHeight >= 12)
    label(pen, cacheWord(epoch), reads ? colors.backward : colors.background, x0, x1, rows.cacheTop + rows.cacheHeight / 2);
}

/** Blocks over the GPUs of each pipeline, neighbours in two shades, with a line between stages and the frozen part on the first GPU. */
function drawPipelines(pen: EpochPen, box: SpanBox): void {
  const { colors, rows, machine, x } = pen;
  const { epoch } = box.span;
  const [x0, x1] = [x(box.start) + Math.round(changeWidth(pen, box)), x(box.end)];
  const height = epoch.pipelineLength * rows.gpuHeight;
  const gap = height >= 5 ? 1 : 0;
  epoch.firstGpus.forEach((first, pipeline) => {
    const top = gpuTop(rows, machine, first);
    const ground = mix(colors.forward, colors.background, pipeline % 2 === 0 ? 0.2 : 0.5);
    if (colors.highContrast) outline(pen, x0, x1, top, height - gap);
    else block(pen, css(ground), x0, x1, top, height - gap);
    drawStages(pen, epoch, ground, x0, x1, top);
  });
}

function drawStages(pen: EpochPen, epoch: ElasticEpoch, ground: Rgba, x0: number, x1: number, top: number): void {
  const { colors, rows, scale } = pen;
  const { gpuHeight } = rows;
  const hatched = epoch.stageUnits.map((_, stage) => stage).filter((stage) => runsFrozen(epoch, stage));
  if (gpuHeight >= 2)
    for (const stage of hatched) block(pen, pen.hatch, x0, x1, top + stage * gpuHeight, gpuHeight - (gpuHeight >= 5 ? 1 : 0));
  if (gpuHeight < 5) return;
  const line = css(colors.highContrast ? colors.foreground : withAlpha(colors.background, 0.75));
  for (let stage = 1; stage < epoch.pipelineLength; stage++) block(pen, line, x0, x1, top + stage * gpuHeight - 1, 1 / scale);
  if (gpuHeight < 12) return;
  epoch.stageUnits.forEach((units, stage) => {
    const [long, short] = [t('stage {0} · {1} units', stage, units), String(units)];
    const text = pen.context.measureText(long).width + 8 * scale <= x1 - x0 ? long : short;
    label(pen, text, ground, x0, x1, top + (stage + 0.5) * gpuHeight - 0.5);
  });
}

/** Where other pipelines start: a line, and a mark below it. */
function drawChange(pen: EpochPen, { start }: SpanBox): void {
  const { context, colors, rows, x, scale } = pen;
  const [at, bottom] = [x(start), rows.gpusBottom * scale];
  context.fillStyle = css(colors.foreground);
  context.fillRect(at, Math.round(rows.gpusTop * scale), lineWidth(scale), Math.round(bottom - rows.gpusTop * scale));
  context.beginPath();
  context.moveTo(at - 4 * scale, bottom + 6 * scale);
  context.lineTo(at + 4 * scale, bottom + 6 * scale);
  context.lineTo(at, bottom);
  context.fill();
}

/** Hairlines between epochs that are wide enough to be distinguished. */
function drawSeparators(pen: EpochPen, boxes: readonly SpanBox[]): void {
  const { colors, rows, x, scale } = pen;
  const style = css(colors.highContrast ? colors.foreground : colors.background);
  for (const { span, start, end } of boxes) {
    const each = (end - start) / span.count;
    if (each * pen.plot.width < 5) continue;
    for (let index = 0; index < span.count; index++) {
      const at = x(start + index * each);
      if (at > x(0)) block(pen, style, at, at + lineWidth(scale), rows.layersTop, rows.gpusBottom - rows.layersTop);
    }
  }
}

function drawNames({ context, colors, scale, rows, machine }: EpochPen): void {
  context.textAlign = 'right';
  const name = (text: string, middle: number): void => context.fillText(text, (axisPx.left - 8) * scale, middle * scale);
  context.fillStyle = css(colors.dim);
  name(t('Layers'), rows.layersTop + rows.layersHeight / 2);
  name(t('Cache'), rows.cacheTop + rows.cacheHeight / 2);
  const nodePx = machine.gpusPerNode * rows.gpuHeight + rows.nodeGap;
  const every = Math.ceil(15 / nodePx);
  for (let node = 0; node < machine.nodes; node += every)
    name(t('Node {0}', node), rows.gpusTop + node * nodePx + Math.max(7, (nodePx - rows.nodeGap) / 2));
  name(t('Epoch'), rows.gpusBottom + axisPx.bottom / 2 + 3);
}

function drawNumbers({ context, colors, scale, rows, x, plot }: EpochPen, boxes: readonly SpanBox[], epochs: number): void {
  const { step } = niceTicks(0, epochs, Math.max(2, plot.width / 44));
  const every = Math.max(1, Math.round(step));
  context.textAlign = 'center';
  context.fillStyle = css(colors.dim);
  let free = 0;
  for (let epoch = 0; epoch < epochs; epoch += every) {
    const box = epochBox(boxes, epoch);
    if (box === undefined) return;
    const [start, end] = epochEdges(box, epoch);
    const at = x((start + end) / 2);
    const half = context.measureText(String(epoch)).width / 2;
    if (at - half < free) continue;
    context.fillText(String(epoch), at, (rows.gpusBottom + axisPx.bottom / 2 + 3) * scale);
    free = at + half + 8 * scale;
  }
}
