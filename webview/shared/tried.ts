import { formatCount, formatDuration, formatPercent } from '../../src/core/format';
import type { PlanRequest } from '../../src/core/domain/request';
import { hasSameSizes, type WhatIfSet } from '../../src/core/layout-search/what-if';
import { verdictText } from '../../src/core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import { say } from '../../src/core/sentence';
import type { PageState } from '../../src/protocol/page';
import type { PlanFigures, WhatIfState } from '../../src/protocol/what-if';
import { h, icon, type Child } from '../base/dom';
import type { Host } from '../base/host';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { button } from '../base/ui';

/** The host's answer on these sizes; null while it has not begun with them. */
export function triedWhatIf({ whatIf = null }: Pick<PageState, 'whatIf'>, sets: readonly WhatIfSet[]): WhatIfState | null {
  return whatIf !== null && JSON.stringify(whatIf.sets) === JSON.stringify(sets) ? whatIf : null;
}

/** Asks the host for what a control tries. */
interface Trying {
  /** @param sets empty: nothing is tried. */
  readonly ask: (sets: readonly WhatIfSet[]) => void;
  /** To be called with every state: asks again after an edit that left it as it is, since the host forgets what is tried at each. */
  readonly keepAsking: (sets: readonly WhatIfSet[]) => void;
}

/** One control's tries. They are asked for again once for each edit of the config. */
export function makeTrying({ host, state }: Pick<Store, 'host' | 'state'>): Trying {
  /** The edits of the config when it was asked. The host's next state may already be of later ones, and never show that it was asked. */
  let askedAt = -1;
  const ask = (sets: readonly WhatIfSet[]): void => {
    askedAt = state().whatIf?.edits ?? -1;
    host.post({ type: 'try', sets });
  };
  return {
    ask,
    keepAsking: (sets) => {
      const { whatIf = null, staleEdits } = state();
      if (whatIf === null || sets.length === 0) return;
      if (triedWhatIf(state(), sets) !== null) askedAt = whatIf.edits;
      else if (askedAt !== whatIf.edits && staleEdits === 0) ask(sets);
    },
  };
}

/** Whether the page still shows the config and the sizes of the call before: what is tried belongs to them. */
export function makeSameSizes(): (state: Pick<PageState, 'file'>, request: PlanRequest) => boolean {
  let before: { readonly file: string | null; readonly request: PlanRequest } | null = null;
  return ({ file }, request) => {
    const isSame = before?.file === file && (before.request === request || hasSameSizes(before.request, request));
    before = { file, request };
    return isSame;
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
