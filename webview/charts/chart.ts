import { fill, h, place } from '../base/dom';
import { makeSurface } from '../base/surface';
import { onThemeChange, theme } from '../base/theme';
import type { ChartContent, Dot } from './content';
import { drawChart, drawPlace, plotOf } from './draw';
import { nearestDot, stepDot } from './pick';

/** Props of a chart. */
interface ChartProps {
  readonly className: string;
  readonly content: () => ChartContent | null;
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
  readonly update: () => void;
}

const reachPx = 18;

/** Makes a chart; it draws what `content` says when `update` is called, the size or the theme changes. */
export function makeChart(props: ChartProps): Chart {
  const surface = makeSurface(`chart ${props.className}`, (target) => {
    const content = props.content();
    if (content === null) drawPlace(target, theme());
    else drawChart(target, theme(), content, selectedDot());
  });
  const tooltip = h('div', { class: 'tooltip', role: 'presentation', hidden: true });
  const element = h('div', { class: `chart-canvas ${props.className}-canvas`, role: 'img', tabindex: 0 }, surface.canvas, tooltip);
  const selectedDot = (): Dot | null => props.content()?.dots.find(({ id }) => id === props.selected()) ?? null;
  const tell = (dot: Dot | null): void => {
    tooltip.hidden = dot === null;
    const content = props.content();
    if (dot === null || content === null) return;
    fill(tooltip, ...dot.lines().map((line, index) => h('div', { class: index === 0 ? 'tooltip-title' : 'tooltip-line' }, line)));
    const at = plotOf(surface).toPixels(content, dot.x, dot.y);
    place(tooltip, at.x, at.y, surface.width(), surface.height());
  };
  const dotAt = (event: MouseEvent): Dot | null => {
    const content = props.content();
    if (content === null) return null;
    const box = surface.canvas.getBoundingClientRect();
    const { toPixels } = plotOf(surface);
    return nearestDot(
      content.dots.map((dot) => ({ dot, ...toPixels(content, dot.x, dot.y) })),
      event.clientX - box.left,
      event.clientY - box.top,
      reachPx,
    );
  };
  const hasFocus = (): boolean => document.activeElement === element && element.matches(':focus-visible');
  element.addEventListener('pointermove', (event) => tell(dotAt(event)));
  element.addEventListener('pointerleave', () => tell(hasFocus() ? selectedDot() : null));
  element.addEventListener('click', (event) => {
    const dot = dotAt(event);
    if (dot !== null && dot.id === props.selected()) props.open?.(dot);
    else props.pick(dot);
  });
  element.addEventListener('focus', () => tell(hasFocus() ? selectedDot() : null));
  element.addEventListener('blur', () => tell(null));
  element.addEventListener('keydown', (event) => {
    const content = props.content();
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
    tell(next);
  });
  onThemeChange(surface.redraw);
  return {
    element,
    update: () => {
      const content = props.content();
      element.tabIndex = content === null ? -1 : 0;
      element.setAttribute('aria-label', props.label());
      if (!tooltip.hidden) tell(hasFocus() ? selectedDot() : null);
      surface.redraw();
    },
  };
}
