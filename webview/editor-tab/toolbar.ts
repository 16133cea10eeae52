import { candidateIds } from '../../src/core/planner/plan';
import { h } from '../base/dom';
import { partAttributes } from '../base/parts';
import { tabs } from '../tabs/registry';
import { openedLayout } from '../shared/opened-layout';
import { makeHistory } from './history';
import { automatic, planControls } from './plan-controls';
import { makeWhatIf } from './what-if';
import { capitalised } from '../shared/sentence';
import { t } from '../base/strings';
import { comparedCandidate, shownCandidate, type Store } from '../base/store';
import { button, dropdown, labelled, type DropdownControl } from '../base/ui';
import { say } from '../../src/core/sentence';
import { own } from '../../src/core/records';

/** Compare with something outside this plan. */
const elsewhere = 'elsewhere';

/** The settings of the plan to try, behind a button: what they would give, what it is compared with, and the plans before. */
interface Toolbar {
  readonly element: HTMLElement;
  /** Opens and closes it. */
  readonly opener: HTMLElement;
  readonly update: () => void;
}

export function makeToolbar(store: Store): Toolbar {
  const whatIf = makeWhatIf(store, planControls());
  const compare = makeCompare(store);
  const history = makeHistory(store);
  const kept = h(
    'p',
    { class: 'hint' },
    t('The search chose schedule, slices, micro-batch and recompute. To change them, go back to the config.'),
  );
  const more = h('button', {
    class: 'link toolbar-more',
    type: 'button',
    onclick: () => store.setView({ tries: store.view().tries === 'all' ? 'first' : 'all' }),
  });
  const element = h(
    'div',
    { class: 'toolbar', id: 'try', ...partAttributes, role: 'toolbar', 'aria-label': t('Plan') },
    h(
      'div',
      { class: 'toolbar-row' },
      whatIf.settings,
      whatIf.element,
      more,
      kept,
      h('div', { class: 'toolbar-group toolbar-others' }, labelled(t('Compare with'), compare.control), history.element),
    ),
    whatIf.answer,
  );
  const opener = button({
    label: t('Try'),
    appearance: 'secondary',
    onClick: () => store.setView({ tries: store.view().tries === null ? 'first' : null }),
  });
  opener.title = t('Try other settings before they are written');
  opener.setAttribute('aria-controls', element.id);
  const closeByKey = (event: KeyboardEvent): void => {
    // Escape first closes an open list.
    if (event.key !== 'Escape' || element.querySelector('[open]') !== null) return;
    store.setView({ tries: null });
    opener.focus();
    event.stopPropagation();
  };
  element.addEventListener('keydown', closeByKey, { capture: true });
  const update = (): void => {
    const { plan } = store.state();
    const { tries } = store.view();
    opener.hidden = plan === null;
    opener.setAttribute('aria-expanded', String(tries !== null));
    element.hidden = plan === null || tries === null;
    if (plan === null) return;
    // The controls edit the config; a found layout is not in it.
    const isOpened = openedLayout(store.state()) !== null;
    kept.hidden = !isOpened;
    more.hidden = isOpened;
    more.textContent = tries === 'all' ? t('Fewer settings') : t('More settings');
    more.setAttribute('aria-expanded', String(tries === 'all'));
    compare.show();
    whatIf.update();
    history.update();
  };
  return { element, opener, update };
}

/** The list of what the plan can be compared with. */
function makeCompare(store: Store): { readonly control: DropdownControl; readonly show: () => void } {
  const control = dropdown(t('Compare with'), (value) => {
    if (value === elsewhere) {
      store.host.post({ type: 'command', command: 'terapipe.compareWith' });
      show();
      return;
    }
    store.setView({
      compareWith: candidateIds.find((id) => id === value) ?? null,
      ...(own(tabs, store.view().tab)?.showsCompared === true ? {} : { tab: 'timeline' }),
    });
  });
  const show = (): void => {
    const { plan } = store.state();
    const view = store.view();
    if (plan === null) return;
    const shown = shownCandidate(plan, view);
    control.show(
      [
        { value: automatic, text: t('Nothing') },
        ...plan.candidates.filter(({ id }) => id !== shown.id).map(({ id, name }) => ({ value: id, text: capitalised(say(name, t)) })),
        { value: elsewhere, text: t('Another config or a run…') },
      ],
      comparedCandidate(plan, view)?.id ?? automatic,
    );
  };
  return { control, show };
}
