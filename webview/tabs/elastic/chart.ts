import type { PageElastic } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { partFocusAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import { makeSurface } from '../../base/surface';
import { onThemeChange, theme } from '../../base/theme';
import { pointIn, shareAt } from '../../charts/plot';
import { makeTooltip } from '../../charts/tooltip';
import { drawEpochs, drawMark } from './draw';
import { changeFrom, epochAt, epochCount, spanBoxes, epochBox, type EpochWidth, type SpanBox } from './epochs';
import { epochPlot, chartRows, zoneAt } from './layout';
import { tooltipLines } from './labels';
import { own } from '../../../src/core/records';

/** Props of the chart. */
interface EpochChartProps {
  readonly elastic: () => PageElastic | null;
  readonly width: () => EpochWidth;
  readonly epoch: () => number;
  readonly onPick: (epoch: number) => void;
  /** A click, or Enter: show the epoch's step. */
  readonly onOpen: (epoch: number) => void;
}

/** Epochs from left to right over the GPUs, with what is frozen and cached above them. */
export function makeEpochChart(props: EpochChartProps): { readonly element: HTMLElement; readonly redraw: () => void } {
  let pointed: number | null = null;
  let known: { readonly of: PageElastic; readonly width: EpochWidth; readonly boxes: readonly SpanBox[] } | null = null;
  const chartBoxes = (elastic: PageElastic): readonly SpanBox[] => {
    const width = props.width();
    if (known?.of !== elastic || known.width !== width) known = { of: elastic, width, boxes: spanBoxes(elastic.spans, width) };
    return known.boxes;
  };
  const base = makeSurface('epochs', (surface) => {
    const elastic = props.elastic();
    if (elastic !== null) drawEpochs(surface, theme(), elastic, chartBoxes(elastic), chartRows(elastic.plan.request.cluster));
  });
  const overlay = makeSurface('epochs-overlay', (surface) => {
    const elastic = props.elastic();
    if (elastic === null) return;
    const [boxes, rows] = [chartBoxes(elastic), chartRows(elastic.plan.request.cluster)];
    if (pointed !== null && pointed !== props.epoch()) drawMark(surface, theme(), boxes, rows, pointed, false);
    drawMark(surface, theme(), boxes, rows, props.epoch(), true);
  });
  const tooltip = makeTooltip();
  const element = h(
    'div',
    { class: 'epoch-chart', ...partFocusAttributes, role: 'img', tabindex: 0 },
    base.canvas,
    overlay.canvas,
    tooltip.element,
  );
  const under = (event: MouseEvent): { readonly x: number; readonly y: number; readonly epoch: number | null } => {
    const { x, y } = pointIn(overlay.canvas, event);
    const elastic = props.elastic();
    const share = shareAt(epochPlot(overlay), x);
    return { x, y, epoch: elastic === null || share < 0 || share > 1 ? null : epochAt(chartBoxes(elastic), share) };
  };
  const point = (epoch: number | null): void => {
    if (pointed === epoch) return;
    pointed = epoch;
    overlay.redraw();
  };
  overlay.canvas.addEventListener('pointermove', (event) => {
    const { x, y, epoch } = under(event);
    const elastic = props.elastic();
    point(epoch);
    const box = epoch === null || elastic === null ? undefined : epochBox(chartBoxes(elastic), epoch);
    if (epoch === null || elastic === null || box === undefined) {
      tooltip.hide();
      return;
    }
    const { cluster } = elastic.plan.request;
    const lines = tooltipLines(elastic, box, epoch, zoneAt(chartRows(cluster), cluster, y));
    tooltip.show(lines, x, y, overlay.width(), overlay.height());
  });
  overlay.canvas.addEventListener('pointerleave', () => {
    point(null);
    tooltip.hide();
  });
  overlay.canvas.addEventListener('click', (event) => {
    const { epoch } = under(event);
    if (epoch !== null) props.onOpen(epoch);
  });
  element.addEventListener('keydown', (event) => {
    const elastic = props.elastic();
    if (elastic === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const [here, last] = [props.epoch(), epochCount(elastic) - 1];
    const moves: Readonly<Record<string, () => number>> = {
      ArrowLeft: () => here - 1,
      ArrowRight: () => here + 1,
      Home: () => 0,
      End: () => last,
      PageUp: () => changeFrom(chartBoxes(elastic), here, -1),
      PageDown: () => changeFrom(chartBoxes(elastic), here, 1),
    };
    const to = own(moves, event.key)?.();
    if (to === undefined && event.key !== 'Enter') return;
    event.preventDefault();
    if (to === undefined) props.onOpen(here);
    else props.onPick(Math.min(last, Math.max(0, to)));
  });
  const redraw = (): void => {
    const elastic = props.elastic();
    if (elastic === null) return;
    element.style.height = `${chartRows(elastic.plan.request.cluster).height}px`;
    element.setAttribute('aria-label', summary(elastic, props.epoch()));
    base.redraw();
    overlay.redraw();
  };
  onThemeChange(redraw);
  return { element, redraw };
}

function summary(elastic: PageElastic, epoch: number): string {
  return t(
    '{0} epochs over {1} GPUs, epoch {2} selected. Arrows: epochs; Page keys: changes; Enter: its step.',
    epochCount(elastic),
    elastic.plan.request.cluster.nodes * elastic.plan.request.cluster.gpusPerNode,
    epoch,
  );
}
