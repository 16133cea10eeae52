import { formatCount, formatDuration, formatNumber, plural } from '../../../src/core/format';
import type { ControlChange, PageElastic } from '../../../src/protocol/page';
import { linearAxis, rateAxis, ratioAxis, type Axis } from '../../charts/axis';
import { makeChart } from '../../charts/chart';
import type { ChartContent, Dot } from '../../charts/content';
import { fill, h } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { maximum } from '../../../src/core/numbers';

/** A value that a slider can take: where it lies on the curve, and the text on it. */
interface Choice {
  readonly value: number;
  readonly x: number;
  readonly y: number;
  readonly lines: readonly string[];
  /** Cannot be run: the memory is too small. */
  readonly isOver: boolean;
}

/** A curve with a slider along it. */
interface Curve {
  readonly choices: readonly Choice[];
  /** What the plan has; null when it is none of the choices. */
  readonly current: number | null;
  readonly x: Axis;
  readonly y: Axis;
}

interface CardSpec {
  readonly key: Extract<ControlChange['key'], `elastic.${string}`>;
  readonly title: string;
  readonly xName: string;
  readonly use: (value: string) => string;
  readonly makeCurve: (elastic: PageElastic) => Curve;
}

/** Charts of what alpha, the pipeline length and the number of micro-batches could be, each with a slider. */
export function makeStudy(store: Store): { readonly element: HTMLElement; readonly show: (elastic: PageElastic) => void } {
  const cards = specs().map((spec) => makeCard(store, spec));
  return {
    element: h('section', { class: 'elastic-study', 'aria-label': t('What else it could be') }, ...cards.map(({ element }) => element)),
    show: (elastic) => cards.forEach(({ show }) => show(elastic)),
  };
}

function specs(): CardSpec[] {
  return [
    { key: 'elastic.alpha', title: t('Alpha'), xName: t('alpha'), use: (value) => t('Use alpha {0}', value), makeCurve: alphaCurve },
    {
      key: 'elastic.pipelineLength',
      title: t('Pipeline length at the start'),
      xName: t('GPUs'),
      use: (value) => t('Use pipelines of {0}', value),
      makeCurve: lengthCurve,
    },
    {
      key: 'elastic.microBatches',
      title: t('Micro-batches in the first epoch'),
      xName: t('micro-batches'),
      use: (value) => t('Use {0} micro-batches', value),
      makeCurve: microBatchCurve,
    },
  ];
}

function makeCard(store: Store, { key, title, xName, use, makeCurve }: CardSpec) {
  let curve: Curve | null = null;
  let shown: PageElastic | null = null;
  let picked = 0;
  const slider = h('input', { type: 'range', min: '0', step: '1', 'aria-label': title, class: 'study-slider' });
  const readout = h('output', { class: 'study-readout' });
  const act = h('div', { class: 'study-act' });
  const chart = makeChart({
    className: 'study',
    label: () => `${title}. ${t('Arrow keys move between points.')}`,
    selected: () => String(picked),
    pick: (dot) => {
      if (dot !== null) pick(Number(dot.id));
    },
  });
  const pick = (index: number): void => {
    picked = index;
    slider.value = String(index);
    const choice = curve?.choices[index];
    if (choice === undefined) return;
    slider.setAttribute('aria-valuetext', choice.lines.join(', '));
    fill(readout, ...choice.lines.map((line) => h('div', {}, line)));
    const isCurrent = choice.value === curve?.current;
    fill(
      act,
      isCurrent
        ? h('span', { class: 'hint' }, t('as planned'))
        : button({
            label: use(formatNumber(choice.value)),
            appearance: 'secondary',
            focusKey: key,
            onClick: () => store.host.post({ type: 'change', change: { key, value: choice.value } }),
          }),
    );
    chart.update();
  };
  slider.addEventListener('input', () => pick(Number(slider.value)));
  const element = h('section', { class: 'study-card', 'aria-label': title }, h('h2', {}, title), chart.element, slider, readout, act);
  return {
    element,
    show: (elastic: PageElastic): void => {
      if (elastic === shown) {
        chart.update();
        return;
      }
      shown = elastic;
      curve = makeCurve(elastic);
      chart.show(curveContent(curve, xName));
      element.hidden = curve.choices.length < 2;
      slider.max = String(curve.choices.length - 1);
      const current = curve.choices.findIndex(({ value }) => value === curve?.current);
      pick(Math.max(0, current));
    },
  };
}

function curveContent({ choices, current, x, y }: Curve, xName: string): ChartContent {
  const dots = choices.map((choice, index): Dot => ({
    id: String(index),
    group: 'all',
    tone: choice.isOver ? 'over' : 'forward',
    shape: choice.isOver ? 'cross' : choice.value === current ? 'star' : 'disc',
    faint: 0,
    x: choice.x,
    y: choice.y,
    hollow: choice.value !== current,
    lines: () => choice.lines,
  }));
  const points = choices.map((choice): readonly [number, number] => [choice.x, choice.y]);
  return { x, y, xName, curves: [{ tone: 'forward', faint: 0.4, points, label: '' }], dots, guides: [], band: null };
}

function alphaCurve({ study, plan }: PageElastic): Curve {
  const choices = study.alphas.map(({ alpha, speedup, totalMs, measuredAccuracy }): Choice => ({
    value: alpha,
    x: alpha,
    y: speedup,
    isOver: false,
    lines: [
      t('alpha {0}: {1}x, {2} in all', formatNumber(alpha), formatNumber(speedup), formatDuration(totalMs)),
      ...(measuredAccuracy === null
        ? []
        : [
            t('PipeTransformer measured {0} % with ViT-B/16 on CIFAR-100, {1} % without freezing', formatNumber(measuredAccuracy), '91.21'),
          ]),
    ],
  }));
  const { alpha } = plan.request;
  const current = choices.find(({ value }) => alpha !== null && Math.abs(value - alpha) < 1e-3)?.value ?? null;
  return { choices, current, x: linearAxis(0, 1, formatNumber), y: ratioAxis(most(choices)) };
}

function lengthCurve({ study, plan }: PageElastic): Curve {
  const choices = study.lengths.map(({ pipelineLength, speedup, totalMs, samplesPerSecond, fits }): Choice => ({
    value: pipelineLength,
    x: Math.log2(pipelineLength),
    y: speedup,
    isOver: !fits,
    lines: [
      `${plural(pipelineLength, 'GPU')}: ${t('{0}x, {1} in all', formatNumber(speedup), formatDuration(totalMs))}`,
      t('{0} samples/s before any layer freezes', formatCount(samplesPerSecond)) + (fits ? '' : `, ${t('does not fit')}`),
    ],
  }));
  const values = choices.map(({ x, value }) => ({ value: x, text: formatNumber(value) }));
  const x: Axis = { scale: 'linear', min: -0.2, max: Math.max(1, maximum(choices.map((choice) => choice.x))) + 0.2, marks: () => values };
  return { choices, current: plan.request.firstLength, x, y: ratioAxis(most(choices)) };
}

function microBatchCurve({ study, spans }: PageElastic): Curve {
  const points = study.microBatches[0]?.points ?? [];
  const choices = points.map(({ microBatches, samplesPerSecond }): Choice => ({
    value: microBatches,
    x: microBatches,
    y: samplesPerSecond,
    isOver: false,
    lines: [t('{0} micro-batches: {1} samples/s', formatNumber(microBatches), formatCount(samplesPerSecond))],
  }));
  const current = study.microBatches.length === 0 ? null : (spans[0]?.epoch.microBatches ?? null);
  return {
    choices,
    current,
    x: linearAxis(0, 1.05 * Math.max(1, maximum(choices.map(({ x }) => x))), formatNumber),
    y: rateAxis(most(choices)),
  };
}

function most(choices: readonly Choice[]): number {
  return Math.max(0, maximum(choices.map(({ y }) => y)));
}
