import { h } from '../base/dom';
import { makeSurface } from '../base/surface';
import { onThemeChange, theme } from '../base/theme';
import type { ChartContent, Dot } from './content';
import { drawChart, drawPlace, chartPlot } from './draw';
import { nearestDot, stepDot } from './pick';
import { pointIn } from './plot';
import { makeTooltip } from './tooltip';

/** Props of a chart. */
interface ChartProps {
  readonly className: string;
  /** Name of the chart for who does not see it. */
  readonly label: () => string;
  readonly selected: () => string | null;
  readonly pick: (dot: Dot | null) => void;
  /** A press on the selected point, or Enter. */
  readonly open?: (dot: Dot) => void;
}

/** A chart with a tooltip, points that can be clicked and walked with the arrow keys. */
export interface Chart {
  readonly element: HTMLElement;
  /** Shows content; null while there is none. */
  readonly show: (content: ChartContent | null) => void;
  /** After another selection. */
  readonly update: () => void;
}

const reachPx = 18;

/** Makes an empty chart. */
export function makeChart(props: ChartProps): Chart {
  let content: ChartContent | null = null;
  const surface = makeSurface(`chart ${props.className}`, (target) => {
    if (content === null) drawPlace(target, theme());
    else drawChart(target, theme(), content, selectedDot());
  });
  const tooltip = makeTooltip();
  const element = h('div', { class: `chart-canvas ${props.className}-canvas`, role: 'img', tabindex: 0 }, surface.canvas, tooltip.element);
  const selectedDot = (): Dot | null => content?.dots.find(({ id }) => id === props.selected()) ?? null;
  const describe = (dot: Dot | null): void => {
    if (dot === null || content === null) {
      tooltip.hide();
      return;
    }
    const { x, y } = chartPlot(surface, content).toPixels(dot.x, dot.y);
    tooltip.show(dot.lines(), x, y, surface.width(), surface.height());
  };
  const dotAt = (event: MouseEvent): Dot | null => {
    if (content === null) return null;
    const { toPixels } = chartPlot(surface, content);
    const { x, y } = pointIn(surface.canvas, event);
    const drawn = content.dots.map((dot) => ({ dot, ...toPixels(dot.x, dot.y) }));
    return nearestDot(drawn, x, y, reachPx);
  };
  const hasFocus = (): boolean => document.activeElement === element && element.matches(':focus-visible');
  element.addEventListener('pointermove', (event) => describe(dotAt(event)));
  element.addEventListener('pointerleave', () => describe(hasFocus() ? selectedDot() : null));
  element.addEventListener('click', (event) => {
    const dot = dotAt(event);
    if (dot !== null && dot.id === props.selected()) props.open?.(dot);
    else props.pick(dot);
  });
  element.addEventListener('focus', () => describe(hasFocus() ? selectedDot() : null));
  element.addEventListener('blur', () => describe(null));
  element.addEventListener('keydown', (event) => {
    if (content === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const here = selectedDot();
    if (event.key === 'Enter' && here !== null && props.open !== undefined) {
      event.preventDefault();
      props.open(here);
      return;
    }
    const next = stepDot(content.dots, here, event.key);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    props.pick(next);
    describe(next);
  });
  onThemeChange(surface.redraw);
  const update = (): void => {
    element.tabIndex = content === null ? -1 : 0;
    element.setAttribute('aria-label', props.label());
    if (!tooltip.element.hidden) describe(hasFocus() ? selectedDot() : null);
    surface.redraw();
  };
  const show = (next: ChartContent | null): void => {
    content = next;
    update();
  };
  return { element, show, update };
}
