import { formatCount } from '../../src/core/format';
import {
  steppedSizes,
  whatIfKeys,
  whatIfSets,
  whatIfSizes,
  type WhatIfChunks,
  type WhatIfKey,
  type WhatIfSizes,
} from '../../src/core/layout-search/what-if';
import type { PlanRequest } from '../../src/core/spec/request';
import { say } from '../../src/core/sentence';
import type { WhatIfState } from '../../src/protocol/what-if';
import { fill, h } from '../base/dom';
import { stepper } from '../base/stepper';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { triedActions, triedOf, triedText } from '../shared/tried';
import { openedLayout } from '../tabs/layout/opened';

/** Sizes to step through, and what they would give before they are written. */
export interface WhatIfControls {
  /** The steppers. */
  readonly element: HTMLElement;
  /** The preview of what was stepped to. */
  readonly answer: HTMLElement;
  readonly update: () => void;
}

export function makeWhatIf(store: Store): WhatIfControls {
  const { host } = store;
  /** What was stepped to; null: nothing. */
  let draft: WhatIfSizes | null = null;
  let request: PlanRequest | null = null;
  let seen: WhatIfState | null = null;
  const setsOf = (sizes: WhatIfSizes): ReturnType<typeof whatIfSets> => (request === null ? [] : whatIfSets(request, sizes));
  const chunks = (): WhatIfChunks => store.state().whatIf?.chunks ?? 'several';
  const attempt = (sizes: WhatIfSizes | null): void => {
    draft = sizes === null || setsOf(sizes).length === 0 ? null : sizes;
    host.post({ type: 'try', sets: draft === null ? [] : setsOf(draft) });
    update();
  };
  const steppers = whatIfKeys.map((key) => ({
    key,
    control: stepper(sizeName(key), (direction) => {
      const next = request === null ? null : steppedSizes(request, chunks(), draft ?? whatIfSizes(request), key, direction);
      if (next !== null) attempt(next);
    }),
  }));
  const element = h('div', { class: 'toolbar-group what-if', role: 'group', 'aria-label': t('What if') });
  element.append(...steppers.map(({ control }) => control.element));
  const answer = h('div', { class: 'what-if-answer', 'aria-live': 'polite', hidden: true });
  const update = (): void => {
    const state = store.state();
    const { plan } = state;
    answer.hidden = true;
    if (plan === null) return;
    if (request !== plan.request) {
      draft = null;
      request = plan.request;
    }
    // What another control tries is tried in place of this.
    if (state.whatIf !== seen && state.whatIf?.sets.some(([key]) => key === 'layout.stageLayers') === true) draft = null;
    seen = state.whatIf;
    element.hidden = openedLayout(state) !== null;
    const now = whatIfSizes(plan.request);
    const shown = draft ?? now;
    for (const { key, control } of steppers) {
      control.element.hidden = !matters(plan.request, key);
      const step = (direction: 1 | -1): string | null => {
        const next = steppedSizes(plan.request, chunks(), shown, key, direction);
        return next === null ? null : changesText(plan.request, shown, next);
      };
      control.show({
        text: sizeText(plan.request, key, shown[key]),
        value: shown[key],
        title: titleOf(plan.request, key),
        isChanged: shown[key] !== now[key],
        fewer: step(-1),
        more: step(1),
      });
    }
    answer.hidden = draft === null || element.hidden;
    if (draft === null || element.hidden) return;
    const sets = setsOf(draft);
    const tried = triedOf(state, sets);
    fill(
      answer,
      ...triedText(plan, changesText(plan.request, now, draft), tried),
      triedActions(host, sets, tried, () => attempt(null)),
    );
  };
  return { element, answer, update };
}

/** `Tensor 4 to 8, data 4 to 2`. */
function changesText(request: PlanRequest, from: WhatIfSizes, to: WhatIfSizes): string {
  return whatIfKeys
    .filter((key) => from[key] !== to[key])
    .map((key) => t('{0} {1} to {2}', sizeName(key), sizeText(request, key, from[key]), sizeText(request, key, to[key])))
    .join(', ');
}

function sizeText(request: PlanRequest, key: WhatIfKey, value: number): string {
  if (key !== 'training.microBatch' || value > 0) return formatCount(value);
  return whatIfSizes(request)[key] === 0 ? t('Auto: {0}', request.training.microBatch) : t('Auto');
}

function matters({ model, cluster }: PlanRequest, key: WhatIfKey): boolean {
  if (key === 'layout.expert') return model.experts !== null;
  return key !== 'cluster.nodes' || cluster.groups === undefined;
}

function titleOf({ assumptions }: PlanRequest, key: WhatIfKey): string {
  const assumed = assumptions.find((assumption) => assumption.key === key);
  return assumed === undefined ? key : t('{0}, assumed: {1}', key, say(assumed.reason, t));
}

function sizeName(key: WhatIfKey): string {
  switch (key) {
    case 'layout.tensor':
      return t('Tensor');
    case 'layout.pipeline':
      return t('Pipeline');
    case 'layout.virtualStages':
      return t('Virtual');
    case 'layout.data':
      return t('Data');
    case 'layout.context':
      return t('Context');
    case 'layout.expert':
      return t('Expert');
    case 'training.microBatch':
      return t('Micro-batch');
    case 'cluster.nodes':
      return t('Nodes');
  }
}
