import { formatCount, formatDuration, formatPercent } from '../../src/core/format';
import type { WhatIfSet } from '../../src/core/layout-search/what-if';
import { verdictText } from '../../src/core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { say } from '../../src/core/sentence';
import type { PageState } from '../../src/protocol/page';
import type { PlanFigures, WhatIfState } from '../../src/protocol/what-if';
import { h, icon, type Child } from '../base/dom';
import type { Host } from '../base/host';
import { t } from '../base/strings';
import { button } from '../base/ui';

/** The host's answer on these sizes; null while it has not begun with them. */
export function triedWhatIf({ whatIf = null }: Pick<PageState, 'whatIf'>, sets: readonly WhatIfSet[]): WhatIfState | null {
  return whatIf !== null && JSON.stringify(whatIf.sets) === JSON.stringify(sets) ? whatIf : null;
}

/**
 * Asks again for what is tried, at every update, once an edit left the request as it was: the host forgets what is tried at each edit.
 * @param sets empty: nothing is tried.
 */
export function makeAskAgain(host: Host): (state: Pick<PageState, 'whatIf' | 'staleEdits'>, sets: readonly WhatIfSet[]) => void {
  let had = false;
  let isForgotten = false;
  return ({ whatIf, staleEdits }, sets) => {
    const has = (whatIf?.sets.length ?? 0) > 0;
    isForgotten = sets.length > 0 && !has && (isForgotten || had);
    had = has;
    if (!isForgotten || staleEdits > 0) return;
    isForgotten = false;
    host.post({ type: 'try', sets });
  };
}

/** What they would give, after what changes: first the batch, where it could not be held. @param answer null: not begun. */
export function triedText(plan: Plan, changes: string, answer: WhatIfState | null): Child[] {
  const { tried = null, error = null } = answer ?? {};
  if (error !== null) {
    const { message, remedy } = error;
    return [icon('error'), h('p', { class: 'what-if-text' }, h('strong', {}, changes), ` ${say(message, t)}: ${say(remedy, t)}`)];
  }
  if (tried === null) return [h('p', { class: 'what-if-text' }, h('strong', {}, changes), ` ${t('Planning')}…`)];
  const { fits } = tried.verdict;
  const batches = { from: plan.request.training.globalBatch, to: tried.globalBatch };
  const isHeld = batches.from === batches.to;
  const isNamed = answer?.sets.some(([key]) => key === 'training.globalBatch') === true;
  const batch = isHeld || isNamed ? '' : t('Batch {0} to {1}', formatCount(batches.from), formatCount(batches.to));
  return [
    icon(fits ? 'check' : 'error'),
    h(
      'p',
      { class: fits ? 'what-if-text' : 'what-if-text what-if-over' },
      h('strong', {}, [batch, changes].filter((text) => text !== '').join(', ')),
      ' ',
      h('span', { class: 'what-if-cost' }, isHeld ? costText(plan, tried) : t('{0} a token', costText(plan, tried))),
      ` ${t('{0} per step, {1},', formatDuration(tried.iterationMs), say(tried.name, t))} `,
      h('span', { class: 'what-if-verdict' }, say(verdictText(tried.verdict), t)),
    ),
  ];
}

/** Buttons that write what was tried, once it is known what it gives, and that forget it. */
export function triedActions(host: Host, sets: readonly WhatIfSet[], answer: WhatIfState | null, discard: () => void): HTMLElement {
  const isKnown = (answer?.tried ?? null) !== null;
  return h(
    'div',
    { class: 'what-if-actions' },
    isKnown ? button({ label: t('Write to the config'), onClick: () => host.post({ type: 'write', sets }) }) : null,
    button({ label: t('Discard'), appearance: 'secondary', onClick: discard }),
  );
}

/** `+8 %`, `-4 %`, `as fast`: time for as many tokens. */
function costText(plan: Plan, { tokensPerSecond }: PlanFigures): string {
  const slower = chosenCandidate(plan).tokensPerSecond / tokensPerSecond - 1;
  if (Math.abs(slower) < 0.005) return t('as fast');
  return `${slower > 0 ? '+' : '\u2212'}${formatPercent(Math.abs(slower))}`;
}
