import { additions, type ElasticVariant, type VariantId, epochLayout } from '../../../src/features/elastic/core/plan';
import { durationQuantity, formatCount, formatDuration, formatNumber, plural } from '../../../src/core/format';
import { outcomeTexts } from '../../../src/features/elastic/core/outcomes-text';
import type { PageElastic } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { figure } from '../../shared/figures';
import { t } from '../../base/strings';
import { epochCount } from './epochs';
import { variantMeaning, variantName } from './labels';
import { say } from '../../../src/core/sentence';
import { maximum } from '../../../src/core/numbers';

/** Speed-up, time and frozen layers in large: the tooltip of each has what it rests on. */
export function elasticFigures({ plan, spans, study }: PageElastic): HTMLElement {
  const { speedup, totalMs, variants, request, freezing, cost } = plan;
  const from = t('From: {0}', say(cost.description, t));
  const [least, most] = study.range.speedup.map((value) => formatNumber(value));
  const without = variants.find(({ id }) => id === 'none')?.totalMs ?? totalMs;
  const last = spans.at(-1)?.epoch;
  const gpus = request.cluster.nodes * request.cluster.gpusPerNode;
  return h(
    'dl',
    { class: 'figures' },
    figure(
      { value: `${formatNumber(speedup)}x`, unit: '' },
      t('speed-up'),
      least === most ? null : t('{0} to {1}', least ?? '', most ?? ''),
      `${t('Over no freezing: {0} instead of {1}', formatDuration(totalMs), formatDuration(without))}\n${from}`,
      'plain',
    ),
    figure(
      durationQuantity(totalMs),
      t('for {0}', plural(epochCount({ spans }), t('epoch'), t('epochs'))),
      null,
      `${t('Steps and changes of pipelines, on {0}', plural(gpus, 'GPU'))}\n${from}`,
      'plain',
    ),
    last === undefined
      ? null
      : figure(
          { value: formatCount(last.frozenLayers), unit: `/ ${formatCount(request.model.spec.layers)}` },
          t('layers frozen'),
          null,
          say(freezing, t),
          'plain',
        ),
  );
}

/** The model, the layout of the first epoch and the machine in one line, as over any plan. */
export function elasticSetting({ plan: { request, parameters }, spans: [first] }: PageElastic): string[] {
  const { nodes, gpusPerNode, gpu } = request.cluster;
  return [
    t('{0} parameters', formatCount(parameters)),
    plural(request.model.spec.layers, t('layer'), t('layers')),
    ...(first === undefined ? [] : [epochLayout(first.epoch)]),
    t('{0} x {1}', formatCount(nodes * gpusPerNode), gpu.name),
    t('{0} samples an epoch', formatCount(request.datasetSize)),
  ];
}

/** The inputs that no file sets and that decide: the run at each value they may have. */
export function openInputs({ study }: PageElastic): HTMLElement | null {
  const { inputs } = study.range;
  if (inputs.length === 0) return null;
  const item = (input: (typeof inputs)[number]): HTMLElement =>
    h('li', {}, input.keys.join(', '), ...outcomeTexts(input).map((outcome) => h('div', {}, say(outcome, t))));
  return h('section', { class: 'elastic-inputs' }, h('h2', {}, t('Set these: they decide')), h('ul', {}, ...inputs.map(item)));
}

/** The run that each adds a mechanism to; none and all stand for themselves. */
const addedTo: ReadonlyMap<VariantId, VariantId> = new Map(additions);

/** What each mechanism gains, as a waterfall of the run's time: each bar reaches from the time without it to the time with it. */
export function mechanismBars({ plan: { variants } }: PageElastic): HTMLElement {
  const most = maximum(variants.map(({ totalMs }) => totalMs));
  const before = ({ id }: ElasticVariant): number => variants.find((other) => other.id === addedTo.get(id))?.totalMs ?? 0;
  return h(
    'table',
    { class: 'mechanisms' },
    h('caption', {}, t('What each mechanism gains')),
    h(
      'thead',
      { class: 'visually-hidden' },
      h('tr', {}, ...[t('Mechanisms'), t('Speed-up'), t('Total')].map((title) => h('th', { scope: 'col' }, title))),
    ),
    h('tbody', {}, ...variants.map((variant) => mechanismRow(variant, before(variant), most))),
  );
}

function mechanismRow({ id, speedup, totalMs }: ElasticVariant, beforeMs: number, most: number): HTMLElement {
  const [start, end] = [Math.min(beforeMs, totalMs), Math.max(beforeMs, totalMs)];
  const isLoss = addedTo.has(id) && totalMs > beforeMs;
  const bar = h('span', { class: `mechanism-bar mechanism-${id}${isLoss ? ' mechanism-loss' : ''}` });
  bar.style.marginInlineStart = `${(100 * start) / most}%`;
  bar.style.width = `${(100 * (end - start)) / most}%`;
  return h(
    'tr',
    { title: variantMeaning(id) },
    h('th', { scope: 'row' }, variantName(id)),
    h('td', { class: 'mechanism-track' }, h('span', { class: 'mechanism-fill' }, bar)),
    h('td', { class: 'numeric' }, `${formatNumber(speedup)}x`),
    h('td', { class: 'numeric mechanism-total' }, formatDuration(totalMs)),
  );
}
