import { formatCount, formatPercent } from '../../src/core/format';
import { idleCauses, type IdleCause } from '../../src/core/schedules/simulate/gaps';
import type { SteppedSchedule } from '../../src/core/schedules/pytorch-csv/schedule-file';
import { h } from '../base/dom';
import { t } from '../base/strings';

/** Ranks listed one by one; the sums are of all. */
const mostRanks = 64;

/**
 * Idle steps of a schedule file by cause, over all ranks, and of each rank with its micro-batches in flight. Causes that no rank idles for
 * are left out.
 */
export function idleTable({ idle, inFlight, timeline }: SteppedSchedule): HTMLElement {
  const { stages, makespanMs } = timeline;
  const causeTotal = (cause: IdleCause): number => idle[cause].reduce((sum, steps) => sum + steps, 0);
  const causes = idleCauses.filter((cause) => causeTotal(cause) > 0);
  const rankTotal = (rank: number): number => causes.reduce((sum, cause) => sum + (idle[cause][rank] ?? 0), 0);
  const cell = (text: string): HTMLElement => h('td', { class: 'numeric' }, text);
  const heading = (text: string): HTMLElement => h('th', { class: 'numeric', scope: 'col' }, text);
  const byCause = h(
    'dl',
    { class: 'pairs' },
    ...causes.map((cause) =>
      h(
        'div',
        { class: 'pair' },
        h('dt', {}, causeName(cause)),
        h('dd', {}, t('{0}, {1}', formatCount(causeTotal(cause)), formatPercent(causeTotal(cause) / (stages * makespanMs)))),
      ),
    ),
  );
  const rows = Array.from({ length: Math.min(stages, mostRanks) }, (_, rank) =>
    h('tr', {}, h('th', { scope: 'row' }, String(rank)), cell(formatCount(rankTotal(rank))), cell(formatCount(inFlight[rank] ?? 0))),
  );
  const byRank = h(
    'table',
    { class: 'rank-table' },
    h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, t('Rank')), heading(t('Idle')), heading(t('Most in flight')))),
    h('tbody', {}, ...rows),
  );
  const more = stages > mostRanks ? h('p', { class: 'hint' }, t('and {0} more ranks', formatCount(stages - mostRanks))) : null;
  const hint = h('p', { class: 'hint' }, t('In flight: micro-batches of a stage whose activations are held.'));
  return h(
    'div',
    { class: 'idle-steps' },
    causes.length === 0 ? h('p', {}, t('No rank ever waits.')) : byCause,
    byRank,
    ...(more === null ? [] : [more]),
    hint,
  );
}

function causeName(cause: IdleCause): string {
  switch (cause) {
    case 'warm-up':
      return t('Warm-up');
    case 'turn':
      return t('Forwards done, no gradient yet');
    case 'activation':
      return t('Waits for activations');
    case 'gradient':
      return t('Waits for gradients');
    case 'drain':
      return t('Drain');
    case 'link':
      return t('Links');
    case 'imbalance':
      return t('Imbalance');
  }
}
