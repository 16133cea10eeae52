import { formatDuration } from '../../src/core/format';
import { verdictText } from '../../src/core/memory-model/verdict';
import { say } from '../../src/core/sentence';
import type { HistoryState, PastPlan } from '../../src/protocol/what-if';
import { h } from '../base/dom';
import type { Host } from '../base/host';
import { t } from '../base/strings';
import { changeTexts, differenceText } from '../shared/past-plan';

/** The plans since the config was opened, newest first, each with what it changed and made of the step; null for a first plan. */
export function planList({ plans, canUndo }: HistoryState, host: Host): HTMLElement | null {
  if (plans.length < 2) return null;
  const rows = plans.map((plan, index) => planRow(plan, plans[index + 1] ?? null, index === 0, host));
  return h(
    'div',
    {},
    h('ul', { class: 'side-plans' }, ...rows),
    canUndo
      ? h('button', { class: 'link', type: 'button', 'data-focus': 'undo', onclick: () => host.post({ type: 'undo' }) }, t('Undo'))
      : null,
  );
}

function planRow(plan: PastPlan, before: PastPlan | null, isCurrent: boolean, host: Host): HTMLElement {
  const { id, figures, isSaved, isPinned } = plan;
  const act = (name: 'pin' | 'unpin' | 'compare', label: string): HTMLElement =>
    h(
      'button',
      { class: 'link', type: 'button', 'data-focus': `${name}-${id}`, onclick: () => host.post({ type: 'past', act: name, id }) },
      label,
    );
  const tags = [isCurrent ? t('now') : null, isSaved ? t('saved') : null].filter((tag) => tag !== null);
  const step = formatDuration(figures.iterationMs);
  return h(
    'li',
    {},
    h(
      'div',
      { class: 'side-plan' },
      h('span', {}, before === null ? step : t('{0}, {1}', step, differenceText(before, plan))),
      ...tags.map((tag) => h('span', { class: 'tag' }, tag)),
      isCurrent ? null : act('compare', t('Compare')),
      act(isPinned ? 'unpin' : 'pin', isPinned ? t('Unpin') : t('Pin')),
    ),
    h('div', { class: 'hint' }, before === null ? t('as opened') : changeTexts(plan).join(', ')),
    figures.verdict.fits ? null : h('div', { class: 'side-plan-over' }, say(verdictText(figures.verdict), t)),
  );
}
