import type { PageFound } from '../../src/protocol/layout';
import type { PageState } from '../../src/protocol/page';
import { h, icon } from '../base/dom';
import type { Host } from '../base/host';
import { t } from '../base/strings';
import { button } from '../base/ui';
import { say } from '../../src/core/sentence';

/** The found layout that the page's plan is of; null while it is the config's own. */
export function openedLayout({ layout }: PageState): PageFound | null {
  const { answer = null, opened = null } = layout ?? {};
  return opened === null ? null : (answer?.plans[opened] ?? null);
}

/** A notice over every view that the plan is not the config's own, with buttons to apply it and to go back. */
export function openedNotice(state: PageState, host: Host): HTMLElement | null {
  const plan = openedLayout(state);
  const { answer = null, opened = null } = state.layout ?? {};
  if (plan === null || answer === null || opened === null) return null;
  const point = { answer: answer.id, index: opened };
  return h(
    'div',
    { class: 'notice notice-quiet notice-opened' },
    icon('information'),
    h(
      'div',
      { class: 'notice-text' },
      h('p', {}, t('A layout that the search found, not that of the config: {0}.', say(plan.words, t))),
      h(
        'div',
        { class: 'notice-actions' },
        button({ label: t('Back to the config'), onClick: () => host.post({ type: 'openLayout', point: null }) }),
        answer.isReadOnly === true
          ? null
          : button({ label: t('Apply to config…'), appearance: 'secondary', onClick: () => host.post({ type: 'applyLayout', point }) }),
      ),
    ),
  );
}
