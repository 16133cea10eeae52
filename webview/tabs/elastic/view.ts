import { picture } from '../../shared/picture';
import { epochVerdict } from '../../../src/features/elastic/core/stage-bytes';
import { bytesPerGiB, column, formatCount, formatNumber } from '../../../src/core/format';
import type { PageElastic } from '../../../src/protocol/page';
import { fill, h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable } from '../../base/paged-table';
import { makeDisclosures } from '../../shared/disclosures';
import { assumptionList, reasonList } from '../../shared/reasons';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { button, checkbox, setChecked } from '../../base/ui';
import { makeEpochChart } from './chart';
import { epochDetail } from './detail';
import { epochBox, epochCount, epochWidth, shownEpoch, spanBoxes, type SpanBox } from './epochs';
import { elasticFigures, mechanismBars, openInputs } from './head';
import { makeStepPane } from '../../charts/lanes/step-pane';
import { makeStudy } from './study';
import { cacheBytes, cacheWord } from './labels';
import { say } from '../../../src/core/sentence';

/** The elastic tab: what freezing layers gains, its epochs over the GPUs, and the details of one. */
export function makeElasticView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  let boxes: readonly SpanBox[] = [];
  let shown: PageElastic | null = null;
  const elastic = (): PageElastic | null => store.state().elastic;
  const epoch = (): number => Math.min(store.get(shownEpoch), Math.max(0, epochCount({ spans: shown?.spans ?? [] }) - 1));
  const step = makeStepPane();
  const study = makeStudy(store);
  const open = (picked: number): void => {
    store.set(shownEpoch, picked);
    stepSection.scrollIntoView({ block: 'nearest' });
    step.focus();
  };
  const chart = makeEpochChart({
    elastic,
    width: () => store.get(epochWidth),
    epoch,
    onPick: (picked) => store.set(shownEpoch, picked),
    onOpen: open,
  });
  const equal = checkbox(t('Epochs of equal width'), (checked) => store.set(epochWidth, checked ? 'equal' : 'time'));
  const table = makePagedTable();
  const head = h('div', { class: 'elastic-head' });
  const detail = h('div', { class: 'elastic-detail', 'aria-live': 'polite' });
  const stepTitle = h('h2', {});
  const stepNote = h('p', { class: 'hint' });
  const stepSection = h('section', { class: 'elastic-step', 'aria-label': t('Step of the epoch') }, stepTitle, stepNote, step.element);
  const foot = h('div', { class: 'elastic-foot' });
  const disclosure = makeDisclosures();
  const empty = h(
    'div',
    { class: 'empty elastic-empty' },
    picture('elastic'),
    h('p', {}, t('Layers that converge early can freeze; the rest need fewer GPUs, and free GPUs run more replicas.')),
    button({
      label: t('Begin an elastic run'),
      onClick: () => store.host.post({ type: 'command', command: 'terapipe.beginElastic' }),
    }),
  );
  const content = h(
    'div',
    { class: 'elastic-content' },
    head,
    h(
      'section',
      { class: 'elastic-epochs', 'aria-label': t('Epochs') },
      h('div', { class: 'elastic-controls' }, legend(), equal),
      chart.element,
    ),
    stepSection,
    detail,
    study.element,
    h('section', { ...partAttributes, class: 'table-twin', 'aria-label': t('Every epoch') }, table.element),
    foot,
  );
  const element = h('div', { class: 'elastic-view' }, content, empty);
  const update = (): void => {
    const now = elastic();
    content.hidden = now === null;
    empty.hidden = now !== null;
    if (now === null) {
      shown = null;
      return;
    }
    if (now !== shown) {
      shown = now;
      boxes = spanBoxes(now.spans, 'equal');
      fill(head, elasticFigures(now), mechanismBars(now), openInputs(now));
      fill(
        foot,
        disclosure('elastic-reasons', t('Why this plan'), reasonList(now.plan), false),
        h('p', { class: 'hint' }, t('Times: {0}', say(now.plan.cost.description, t))),
        assumptionList(now.plan, store.state(), store.host),
      );
    }
    setChecked(equal, store.get(epochWidth) === 'equal');
    chart.redraw();
    study.show(now);
    const box = epochBox(boxes, epoch());
    if (box === undefined) return;
    fill(detail, ...epochDetail(now, box));
    const timeline = box.span.step === null ? null : (now.steps[box.span.step] ?? null);
    stepTitle.textContent = t('Step of epoch {0}', epoch());
    stepNote.textContent = stepWords(box, timeline !== null);
    step.show(timeline);
    showTable(table, now, boxes, epoch(), (picked) => store.set(shownEpoch, picked));
  };
  return { element, update };
}

function stepWords({ span: { epoch } }: SpanBox, drawn: boolean): string {
  const ms = formatNumber;
  const parts = t(
    'Frozen layers {0} ms before it, gradient exchange {1} ms and optimizer {2} ms after it.',
    ms(epoch.frozenMs),
    ms(epoch.allReduceMs),
    ms(epoch.optimizerMs),
  );
  const what = drawn ? t('The pipeline part, on every pipeline alike.') : t('The pipeline part has more operations than are drawn.');
  return `${what} ${parts}`;
}

function legend(): HTMLElement {
  const entry = (name: string, text: string): HTMLElement =>
    h('span', { class: 'legend-entry' }, h('span', { class: `swatch swatch-${name}` }), text);
  return h(
    'div',
    { class: 'legend' },
    entry('frozen', t('frozen')),
    entry('replica', t('pipelines, neighbours in two shades')),
    entry('fill', t('cache filled')),
    entry('read', t('cache read')),
    h('span', { class: 'legend-entry' }, h('span', { class: 'legend-change', 'aria-hidden': 'true' }, '▲'), t('pipelines change')),
  );
}

function showTable(
  table: ReturnType<typeof makePagedTable>,
  elastic: PageElastic,
  boxes: readonly SpanBox[],
  marked: number,
  pick: (epoch: number) => void,
): void {
  const { gpu } = elastic.plan.request.cluster;
  table.show({
    caption: t('Every epoch'),
    columns: [
      ...[
        t('Epoch'),
        t('Frozen layers'),
        t('Stages'),
        t('Replicas'),
        t('Micro-batches'),
        t('Step, ms'),
        t('Epoch, s'),
        t('Cache, GiB'),
        t('Memory'),
      ].map((title) => ({ title, numeric: true })),
      { title: t('Cache'), numeric: false },
    ],
    total: epochCount(elastic),
    rows: ({ first, end }) =>
      Array.from({ length: end - first }, (_, index) => {
        const epoch = epochBox(boxes, first + index)?.span.epoch;
        if (epoch === undefined) return [];
        const { peakBytes, usableBytes } = epochVerdict(epoch.stageBytes, gpu);
        return [
          String(first + index),
          formatCount(epoch.frozenLayers),
          formatCount(epoch.pipelineLength),
          formatCount(epoch.replicas),
          formatCount(epoch.microBatches),
          column.number(epoch.stepMs),
          column.number(epoch.epochMs / 1e3),
          epoch.cache.state === 'none' ? '–' : column.number(cacheBytes(epoch) / bytesPerGiB),
          column.usage(peakBytes, usableBytes),
          cacheWord(epoch),
        ];
      }),
    marked,
    onRow: pick,
  });
}
