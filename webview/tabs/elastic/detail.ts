import { type BalanceChoice, epochLayout } from '../../../src/features/elastic/core/plan';
import { formatCount, formatDuration, formatNumber, formatPercent, plural } from '../../../src/core/format';
import type { PageElastic } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import type { SpanBox } from './epochs';
import { balanceName, epochsText, stageContent, timeLines } from './labels';
import { say } from '../../../src/core/sentence';

/** More stages than this are not listed one by one. */
const mostListed = 16;

/** The selected epoch in words: where it runs, how long it takes, and its possible cuts. */
export function epochDetail(elastic: PageElastic, box: SpanBox): HTMLElement[] {
  const { epoch, balances } = box.span;
  const { request } = elastic.plan;
  const pair = (name: string, value: string, reason: string): HTMLElement =>
    h('div', { class: 'pair', title: reason }, h('dt', {}, name), h('dd', {}, value));
  const reason = timeLines(elastic, epoch).join('\n');
  return [
    h('h2', {}, epochsText(box), epoch.fits ? null : h('span', { class: 'tag tag-error' }, t('does not fit'))),
    h(
      'dl',
      { class: 'pairs' },
      pair(t('Frozen layers'), t('{0} of {1}', epoch.frozenLayers, request.model.spec.layers), say(elastic.plan.freezing, t)),
      pair(t('Layout'), epochLayout(epoch), t('Ranks that train: {0}', cutList(epoch.activeRanks))),
      pair(t('Step'), formatDuration(epoch.stepMs), reason),
      pair(t('Epoch time'), formatDuration(epoch.epochMs), reason),
      pair(t('Bubble'), formatPercent(epoch.bubbleRate), t('Idle share of the pipeline part, mean over the stages')),
      pair(
        t('Data of a pipeline'),
        plural(Math.ceil(request.datasetSize / epoch.replicas), t('sample'), t('samples')),
        t('{0} samples an epoch, divided among {1} pipelines', formatCount(request.datasetSize), formatCount(epoch.replicas)),
      ),
      pair(t('Samples a second'), formatCount(epoch.samplesPerSecond), t('{0} samples a step on each pipeline', formatCount(epoch.batch))),
    ),
    balanceTable(balances, request.balance),
    h('p', { class: 'hint' }, gainText(balances)),
    ...(epoch.pipelineLength > mostListed
      ? []
      : [
          h(
            'ol',
            { class: 'stage-list', start: 0, 'aria-label': t('Stages') },
            ...epoch.stageUnits.map((_, stage) =>
              h(
                'li',
                {},
                h('span', { class: 'stage-number' }, t('stage {0}', stage)),
                ' ',
                stageContent(epoch, stage, request.model.spec.layers),
              ),
            ),
          ),
        ]),
  ];
}

function balanceTable(balances: readonly BalanceChoice[], used: string): HTMLElement {
  return h(
    'table',
    { class: 'balances' },
    h('caption', {}, t('Partitions into stages')),
    h(
      'thead',
      {},
      h(
        'tr',
        {},
        h('th', { scope: 'col' }, t('Balance')),
        h('th', { scope: 'col' }, t('Units of each stage')),
        h('th', { scope: 'col', class: 'numeric' }, t('Largest stage')),
        h('th', { scope: 'col', class: 'numeric' }, t('Pipeline')),
      ),
    ),
    h(
      'tbody',
      {},
      ...balances.map(({ name, stageUnits, largestParameters, pipelineMs }) =>
        h(
          'tr',
          { class: name === used ? 'marked' : null },
          h('th', { scope: 'row' }, balanceName(name), name === used ? h('span', { class: 'tag' }, t('used')) : null),
          h('td', { class: 'balance-units', title: stageUnits.join(' ') }, cutList(stageUnits)),
          h('td', { class: 'numeric' }, formatCount(largestParameters)),
          h('td', { class: 'numeric' }, formatDuration(pipelineMs)),
        ),
      ),
    ),
  );
}

function cutList(numbers: readonly number[]): string {
  return numbers.slice(0, mostListed).join(' ') + (numbers.length > mostListed ? ' …' : '');
}

/** What the fastest cut gains over PipeTransformer's. */
function gainText(balances: readonly BalanceChoice[]): string {
  const greedy = balances.find(({ name }) => name === 'greedy');
  const best = balances.reduce<BalanceChoice | undefined>(
    (least, choice) => (least === undefined || choice.pipelineMs < least.pipelineMs ? choice : least),
    undefined,
  );
  if (best === undefined) return t('No partition fits GPU memory.');
  if (greedy === undefined) return t("PipeTransformer's greedy partition does not fit GPU memory.");
  const share = 1 - best.pipelineMs / greedy.pipelineMs;
  if (share < 0.005) return t('The greedy partition is as fast as the exact ones.');
  return t('{0} takes {1} % less pipeline time than the greedy partition.', balanceName(best.name), formatNumber(100 * share));
}
