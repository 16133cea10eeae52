import { plural } from '../../../src/core/format';
import { fullAnswer, type ComparisonAnswer, type PageComparison } from '../../../src/features/compare/protocol';
import type { ComparisonAct } from '../../../src/protocol/page';
import { fill, h } from '../../base/dom';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { button, iconButton, setPressed } from '../../base/ui';
import { whenChanged } from '../../shared/when-changed';
import { isDrawn, partingPass } from './compared-sides';
import { badges, otherName, sideName } from './labels';
import type { ComparedLanes } from './lanes';
import type { SideId } from './settings';

/** What is compared with what, how old the answer is, and what one can do with it. */
interface ComparisonHead {
  readonly element: HTMLElement;
  readonly update: (comparison: PageComparison, answer: ComparisonAnswer | null) => void;
}

/** @param act makes what a button does of what it asks the host for. */
export function makeComparisonHead(store: Store, lanes: ComparedLanes, act: (what: ComparisonAct) => () => void): ComparisonHead {
  const secondary = (label: string, onClick: () => void): HTMLElement => button({ label, appearance: 'secondary', onClick });
  const swap = secondary(t('Swap'), act('swap'));
  const again = secondary(t('Compare again'), act('again'));
  const fit = iconButton({ icon: 'fit', label: t('Zoom to fit'), onClick: lanes.fit });
  const table = iconButton({
    icon: 'table',
    label: t('Show passes as a table'),
    onClick: () => store.setView({ table: !store.view().table }),
  });
  const parting = secondary(t('Show where they diverge'), () => {
    const answer = fullAnswer(store.state().comparison);
    const side = answer === null ? null : (['b', 'a'] as const).find((each) => partingPass(answer, each) !== null);
    const pass = answer === null || side === null || side === undefined ? null : partingPass(answer, side);
    if (side !== null && side !== undefined && pass !== null) lanes.goTo(side, pass);
  });
  const title = h('h2', { class: 'compared-title' });
  const stale = h('span', { class: 'stale', role: 'status' });
  const actions = h('div', { class: 'compared-actions' }, parting, fit, table, again, swap, secondary(t('Close'), act('close')));
  const whenOthers = whenChanged();
  return {
    element: h('div', { class: 'compared-head' }, title, stale, actions),
    update: (comparison, answer) => {
      const { running, staleEdits, other } = comparison;
      whenOthers([other, answer?.id], () => fill(title, ...comparisonTitle(comparison, answer)));
      stale.textContent = answer === null || staleEdits === 0 ? '' : t('from {0} ago', plural(staleEdits, t('edit'), t('edits')));
      swap.hidden = other.role === 'measured' || answer === null;
      again.hidden = running !== null || (answer !== null && staleEdits === 0 && other.role === 'config');
      fit.hidden = answer === null || !isDrawn(answer);
      table.hidden = fit.hidden;
      setPressed(table, store.view().table);
      parting.hidden = answer === null || partingPass(answer, 'b') === null;
    },
  };
}

function comparisonTitle({ other }: PageComparison, answer: ComparisonAnswer | null): (HTMLElement | string)[] {
  if (answer === null) return [t('Compared with {0}', otherName(other))];
  const names = badges(answer);
  const side = (id: SideId): HTMLElement =>
    h(
      'span',
      { class: 'compared-side', title: answer[id].file },
      h('span', { class: 'tag' }, names[id]),
      h('span', { class: 'compared-name' }, sideName(answer[id])),
    );
  return [side('a'), h('span', { class: 'compared-against' }, t('vs.')), side('b')];
}
