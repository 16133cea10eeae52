import { column, formatDuration } from '../../src/core/format';
import type { IdleCause, IdleTimes } from '../../src/core/schedules/simulate/gaps';
import type { Candidate } from '../../src/core/planner/plan';
import { h } from '../base/dom';
import { t } from '../base/strings';

/** Causes of idle time, grouped by what one can do about them, in the order of a step. */
const groups = ['warm-up', 'waiting', 'link', 'imbalance', 'drain'] as const;
type Group = (typeof groups)[number];

const groupByCause: Readonly<Record<IdleCause, Group>> = {
  'warm-up': 'warm-up',
  turn: 'waiting',
  activation: 'waiting',
  gradient: 'waiting',
  link: 'link',
  imbalance: 'imbalance',
  drain: 'drain',
};

/** Idle time by cause, ms: of one stage, or the mean over all where `stage` is null. */
function idleByGroup(idle: IdleTimes, stage: number | null): ReadonlyMap<Group, number> {
  const sums = new Map<Group, number>(groups.map((group) => [group, 0]));
  for (const [cause, group] of Object.entries(groupByCause) as [IdleCause, Group][]) {
    const times = idle[cause];
    const ms = stage === null ? times.reduce((sum, each) => sum + each, 0) / Math.max(1, times.length) : (times[stage] ?? 0);
    sums.set(group, (sums.get(group) ?? 0) + ms);
  }
  return sums;
}

/** Idle time of a range by the causes of the step's list, in its order, with their names; those that are missing are left out. */
export function rangeIdle(causes: ReadonlyMap<IdleCause, number>): readonly (readonly [name: string, ms: number])[] {
  const sums = new Map<Group, number>(groups.map((group) => [group, 0]));
  for (const [cause, ms] of causes) sums.set(groupByCause[cause], (sums.get(groupByCause[cause]) ?? 0) + ms);
  return [...sums].filter(([, ms]) => ms > 0).map(([group, ms]) => [nameInRange(group), ms] as const);
}

/** Idle time by cause, of one stage or all: a stacked bar, and numbers with their share of the step. */
export function idleDetails({ idle, iterationMs }: Candidate, stage: number | null): HTMLElement[] {
  const known = stage !== null && stage < idle['warm-up'].length ? stage : null;
  const sums = [...idleByGroup(idle, known)].filter(([, ms]) => ms > iterationMs * 1e-9);
  const idleMs = sums.reduce((sum, [, ms]) => sum + ms, 0);
  const title = known === null ? t('Idle time, mean of all stages') : t('Idle time of stage {0}', known);
  if (sums.length === 0) return [h('h2', {}, title), h('p', { class: 'hint' }, t('none'))];
  const bar = h('div', { class: 'idle-bar', 'aria-hidden': 'true' });
  for (const [group, ms] of sums) {
    const part = h('div', { class: `idle-part idle-${group}`, title: t('{0}: {1}', groupName(group), formatDuration(ms)) });
    part.style.width = `${(ms / idleMs) * 100}%`;
    bar.append(part);
  }
  const rows = sums.map(([group, ms]) =>
    h(
      'div',
      { class: 'pair', title: meaning(group) },
      h('dt', {}, h('span', { class: `swatch idle-${group}` }), groupName(group)),
      h('dd', {}, column.duration(ms), h('span', { class: 'share' }, shareText(ms / iterationMs))),
    ),
  );
  const sum = h(
    'div',
    { class: 'pair pair-sum' },
    h('dt', {}, t('Idle')),
    h('dd', {}, column.duration(idleMs), h('span', { class: 'share' }, column.percent(idleMs / iterationMs))),
  );
  return [h('h2', {}, title), bar, h('dl', { class: 'pairs' }, ...rows, sum)];
}

/** Shares below what the model can predict are shown as less than that. */
function shareText(share: number): string {
  return share < 0.001 ? '< 0.1 %' : column.percent(share);
}

function groupName(group: Group): string {
  switch (group) {
    case 'warm-up':
      return t('Warm-up');
    case 'waiting':
      return t('Waits for data');
    case 'link':
      return t('Waits for a link');
    case 'imbalance':
      return t('Imbalance');
    case 'drain':
      return t('Drain');
  }
}

function nameInRange(group: Group): string {
  switch (group) {
    case 'warm-up':
      return t('Idle: warm-up');
    case 'waiting':
      return t('Idle: waits for data');
    case 'link':
      return t('Idle: waits for a link');
    case 'imbalance':
      return t('Idle: imbalance');
    case 'drain':
      return t('Idle: drain');
  }
}

function meaning(group: Group): string {
  switch (group) {
    case 'warm-up':
      return t('The first activations have not arrived yet.');
    case 'waiting':
      return t('Another stage has not finished the activations or gradients of the next operation.');
    case 'link':
      return t('The next input is computed, and is being sent or waits for the link.');
    case 'imbalance':
      return t('Would vanish if all stages took the same time.');
    case 'drain':
      return t('The stage is done, others are not.');
  }
}
