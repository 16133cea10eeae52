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
import { dropdown, labelled } from '../base/ui';
import { say } from '../../src/core/sentence';
import { own } from '../../src/core/records';

/** Compare with something outside this plan. */
const elsewhere = 'elsewhere';

/** Makes the controls of the plan; below them the preview of what they were set to, which is written into the file when asked to. */
export function makeToolbar(store: Store): { readonly elements: readonly HTMLElement[]; readonly update: () => void } {
  const whatIf = makeWhatIf(store, planControls());
  const compare = dropdown(t('Compare with'), (value) => {
    if (value === elsewhere) {
      store.host.post({ type: 'command', command: 'terapipe.compareWith' });
      showCompared();
      return;
    }
    store.setView({
      compareWith: candidateIds.find((id) => id === value) ?? null,
      ...(own(tabs, store.view().tab)?.showsCompared === true ? {} : { tab: 'timeline' }),
    });
  });
  const history = makeHistory(store);
  const kept = h(
    'p',
    { class: 'toolbar-kept hint' },
    t('The search chose schedule, slices, micro-batch and recompute. To change them, go back to the config.'),
  );
  const element = h(
    'div',
    { class: 'toolbar', ...partAttributes, role: 'toolbar', 'aria-label': t('Plan') },
    whatIf.settings,
    kept,
    whatIf.element,
    h('div', { class: 'toolbar-group toolbar-compare' }, labelled(t('Compare with'), compare)),
    history.element,
  );
  const showCompared = (): void => {
    const { plan } = store.state();
    const view = store.view();
    if (plan === null) return;
    const shown = shownCandidate(plan, view);
    compare.show(
      [
        { value: automatic, text: t('Nothing') },
        ...plan.candidates.filter(({ id }) => id !== shown.id).map(({ id, name }) => ({ value: id, text: capitalised(say(name, t)) })),
        { value: elsewhere, text: t('Another config or a run…') },
      ],
      comparedCandidate(plan, view)?.id ?? automatic,
    );
  };
  const update = (): void => {
    const { plan } = store.state();
    element.hidden = plan === null;
    if (plan === null) return;
    // The controls edit the config; a found layout is not in it.
    kept.hidden = openedLayout(store.state()) === null;
    showCompared();
    whatIf.update();
    history.update();
  };
  return { elements: [element, whatIf.answer], update };
}
