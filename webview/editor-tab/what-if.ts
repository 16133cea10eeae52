import { formatCount } from '../../src/core/format';
import {
  sizesOfSets,
  steppedSizes,
  whatIfChoices,
  whatIfKeys,
  whatIfSets,
  whatIfSizes,
  type WhatIfChosen,
  type WhatIfKey,
  type WhatIfSet,
  type WhatIfSizes,
} from '../../src/core/layout-search/what-if';
import type { PlanRequest } from '../../src/core/domain/request';
import { say } from '../../src/core/sentence';
import type { Plan } from '../../src/core/planner/plan';
import type { PageState } from '../../src/protocol/page';
import type { WhatIfState } from '../../src/protocol/what-if';
import { fill, h } from '../base/dom';
import { stepper, type Stepper } from '../base/stepper';
import type { Store } from '../base/store';
import { t } from '../base/strings';
import { dropdown, labelled } from '../base/ui';
import { makeSameSizes, makeTrying, triedActions, triedWhatIf, triedText } from '../shared/tried';
import { openedLayout } from '../shared/opened-layout';
import { automatic, setByLauncherText, type PlanControl } from './plan-controls';
import { firstToTry, type TriedKey } from './first-to-try';

/** Sizes to step through and settings to choose, and what they would give before they are written. */
interface WhatIfControls {
  /** The steppers. */
  readonly element: HTMLElement;
  /** The lists of settings. */
  readonly settings: HTMLElement;
  /** The preview of what is tried. */
  readonly answer: HTMLElement;
  readonly update: () => void;
}

/** What was tried: sizes that were stepped to, and other settings that were chosen. */
interface Draft {
  readonly sizes: WhatIfSizes;
  readonly chosen: readonly WhatIfChosen[];
}

/** @param controls the settings that are chosen from lists. */
export function makeWhatIf(store: Store, controls: readonly PlanControl[]): WhatIfControls {
  const { host } = store;
  /** Null: nothing is tried. */
  let draft: Draft | null = null;
  let request: PlanRequest | null = null;
  let seen: WhatIfState | null = null;
  const trying = makeTrying(store);
  const hasSameSizes = makeSameSizes();
  /** What is still tried after an edit that keeps the sizes: all but what the config has now. */
  const stillTried = ({ sizes, chosen }: Draft, now: Plan): Draft | null => {
    const kept = chosen.filter(([key, value]) => controls.some((one) => one.key === key && one.value(now) !== String(value ?? automatic)));
    return kept.length === 0 && whatIfSets(now.request, sizes).length === 0 ? null : { sizes, chosen: kept };
  };
  const draftSets = ({ sizes, chosen }: Draft): readonly WhatIfSet[] =>
    request === null ? [] : [...whatIfSets(request, sizes), ...chosen];
  const bounds = (): Bounds => store.state().whatIf ?? { chunks: 'several', leavesOpen: true };
  const attempt = (wanted: Draft | null): void => {
    draft = wanted === null || draftSets(wanted).length === 0 ? null : wanted;
    trying.ask(draft === null ? [] : draftSets(draft));
    update();
  };
  const currentDraft = (of: PlanRequest): Draft => draft ?? { sizes: whatIfSizes(of), chosen: [] };
  const steppers = whatIfKeys.map((key) => ({
    key,
    control: stepper(sizeName(key), (direction) => {
      const from = request === null ? null : currentDraft(request);
      const sizes = request === null || from === null ? null : stepped(request, bounds(), from.sizes, key, direction);
      if (from !== null && sizes !== null) attempt({ ...from, sizes });
    }),
  }));
  const lists = controls.map((control) => ({
    control,
    list: dropdown(control.label, (value) => {
      const { plan } = store.state();
      if (plan === null) return;
      const from = currentDraft(plan.request);
      const others = from.chosen.filter(([key]) => key !== control.key);
      attempt({ ...from, chosen: value === control.value(plan) ? others : [...others, control.chosen(value)] });
    }),
  }));
  const settings = h('div', { class: 'toolbar-group' }, ...lists.map(({ control, list }) => labelled(control.label, list)));
  const element = h('div', { class: 'toolbar-group what-if', role: 'group', 'aria-label': t('What if') });
  element.append(...steppers.map(({ control }) => control.element));
  const answer = h('div', { class: 'what-if-answer', 'aria-live': 'polite' });
  /** Keeps to the sizes that are shown, and to what another control tries, or tried before the page was reloaded. */
  const follow = (state: PageState, plan: Plan): void => {
    const { whatIf = null } = state;
    const isSame = hasSameSizes(state, plan.request);
    if (!isSame) draft = null;
    else if (draft !== null && request !== plan.request) draft = stillTried(draft, plan);
    request = plan.request;
    if (whatIf === null) return;
    const isOfLayers = whatIf.sets.some(([key]) => key === 'layout.stageLayers');
    if (whatIf !== seen && isOfLayers) draft = null;
    if (seen === null && !isOfLayers && whatIf.sets.length > 0)
      draft = { sizes: sizesOfSets(plan.request, whatIf.sets), chosen: whatIf.sets.filter(isChosen) };
    seen = whatIf;
  };
  const update = (): void => {
    const state = store.state();
    const { plan } = state;
    if (plan === null) return;
    follow(state, plan);
    trying.keepAsking(draft === null ? [] : draftSets(draft));
    const isOpened = openedLayout(state) !== null;
    element.hidden = settings.hidden = answer.hidden = isOpened;
    const { sizes, chosen } = currentDraft(plan.request);
    const { chunks, leavesOpen } = bounds();
    const first = firstToTry(plan);
    const isShown = (key: TriedKey, isChanged: boolean): boolean => isChanged || store.view().tries === 'all' || first.includes(key);
    showSizes(plan, { sizes, bounds: { chunks, leavesOpen }, steppers, isShown });
    for (const { control, list } of lists) {
      const value = chosenValue(control, plan, chosen);
      const isChanged = value !== control.value(plan);
      list.show(control.choices(plan, leavesOpen), value);
      list.element.parentElement?.classList.toggle('changed', isChanged);
      if (list.element.parentElement !== null) list.element.parentElement.hidden = !isShown(control.key, isChanged);
    }
    if (isOpened) return;
    if (draft === null) {
      fill(answer, h('p', { class: 'what-if-text hint' }, t('Change a setting to see what it would give. The file stays as it is.')));
      return;
    }
    const sets = draftSets(draft);
    const tried = triedWhatIf(state, sets);
    const changes = [changesText(plan.request, whatIfSizes(plan.request), sizes), ...chosenTexts(controls, plan, chosen)];
    fill(
      answer,
      ...triedText(plan, changes.filter((text) => text !== '').join(', '), tried),
      triedActions(host, sets, tried, () => attempt(null)),
    );
  };
  return { element, settings, answer, update };
}

/** What the config sets bounds to. */
type Bounds = Pick<WhatIfState, 'chunks' | 'leavesOpen'>;

/** The sizes after a step; null where there is none, or the config cannot leave the micro-batch open. */
function stepped(
  request: PlanRequest,
  { chunks, leavesOpen }: Bounds,
  sizes: WhatIfSizes,
  key: WhatIfKey,
  direction: 1 | -1,
): WhatIfSizes | null {
  const next = steppedSizes(request, chunks, sizes, key, direction);
  return isLeftOpen(request, next, leavesOpen) ? null : next;
}

function isLeftOpen(request: PlanRequest, sizes: WhatIfSizes | null, leavesOpen: boolean): boolean {
  return !leavesOpen && sizes?.['training.microBatch'] === 0 && whatIfSizes(request)['training.microBatch'] > 0;
}

interface ShownSizes {
  readonly isShown: (key: TriedKey, isChanged: boolean) => boolean;
  readonly sizes: WhatIfSizes;
  readonly bounds: Bounds;
  readonly steppers: readonly { readonly key: WhatIfKey; readonly control: Stepper }[];
}

function showSizes({ request }: Plan, { sizes, bounds, steppers, isShown }: ShownSizes): void {
  const now = whatIfSizes(request);
  for (const { key, control } of steppers) {
    control.element.hidden = !matters(request, key) || !isShown(key, sizes[key] !== now[key]);
    const step = (direction: 1 | -1): string | null => {
      const next = stepped(request, bounds, sizes, key, direction);
      return next === null ? null : changesText(request, sizes, next);
    };
    const below = steppedSizes(request, bounds.chunks, sizes, key, -1);
    control.show({
      text: sizeText(request, key, sizes[key]),
      value: sizes[key],
      title: settingTooltip(request, key),
      isChanged: sizes[key] !== now[key],
      fewer: step(-1),
      ...(isLeftOpen(request, below, bounds.leavesOpen) ? { whyNoFewer: setByLauncherText() } : {}),
      more: step(1),
    });
  }
}

function isChosen(set: WhatIfSet): set is WhatIfChosen {
  return whatIfChoices.some((key) => key === set[0]);
}

/** The choice of a list: what is tried, else what is planned. */
function chosenValue(control: PlanControl, plan: Plan, chosen: readonly WhatIfChosen[]): string {
  const found = chosen.find(([key]) => key === control.key);
  return found === undefined ? control.value(plan) : String(found[1] ?? automatic);
}

/** `Schedule Auto: TeraPipe to 1F1B`, a text for each that is chosen. */
function chosenTexts(controls: readonly PlanControl[], plan: Plan, chosen: readonly WhatIfChosen[]): string[] {
  return controls.flatMap((control) => {
    const value = chosenValue(control, plan, chosen);
    if (value === control.value(plan)) return [];
    const choiceText = (wanted: string): string => control.choices(plan, true).find((choice) => choice.value === wanted)?.text ?? wanted;
    return [t('{0} {1} to {2}', control.label, choiceText(control.value(plan)), choiceText(value))];
  });
}

/** `Tensor 4 to 8, data 4 to 2`; first the batch, where it could not be held. */
function changesText(request: PlanRequest, from: WhatIfSizes, to: WhatIfSizes): string {
  return (['training.globalBatch', ...whatIfKeys] as const)
    .filter((key) => from[key] !== to[key])
    .map((key) => t('{0} {1} to {2}', sizeName(key), sizeText(request, key, from[key]), sizeText(request, key, to[key])))
    .join(', ');
}

function sizeText(request: PlanRequest, key: keyof WhatIfSizes, value: number): string {
  if (key !== 'training.microBatch' || value > 0) return formatCount(value);
  return whatIfSizes(request)[key] === 0 ? t('Auto: {0}', request.training.microBatch) : t('Auto');
}

function matters({ model, cluster }: PlanRequest, key: WhatIfKey): boolean {
  if (key === 'layout.expert') return model.experts !== null;
  return key !== 'cluster.nodes' || cluster.groups === undefined;
}

function settingTooltip({ assumptions }: PlanRequest, key: WhatIfKey): string {
  const assumed = assumptions.find((assumption) => assumption.key === key);
  return assumed === undefined ? key : t('{0}, assumed: {1}', key, say(assumed.reason, t));
}

function sizeName(key: keyof WhatIfSizes): string {
  switch (key) {
    case 'training.globalBatch':
      return t('Batch');
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
