import { formatCount } from '../../src/core/format';
import type { Plan } from '../../src/core/planner/plan';
import { onAction } from '../base/actions';
import { fill, h, type Child } from '../base/dom';
import { goToPart, partAttributes } from '../base/parts';
import { elasticSetting } from '../tabs/elastic/head';
import { elasticVerdict } from '../tabs/elastic/verdict';
import { makeInspector } from '../inspector/inspector';
import { openedNotice } from '../shared/opened-layout';
import { figures, setting } from '../shared/figures';
import { emptyPage, notices, progressBar, staleness } from '../shared/notices';
import { capitalised } from '../shared/sentence';
import { findingCount, findingList } from '../shared/reasons';
import { makeGlance, planVerdict, type VerdictText } from '../shared/verdict';
import { incumbentText } from '../shared/incumbent';
import { tabs } from '../tabs/registry';
import type { SchedulePage } from './schedule-page';
import { t } from '../base/strings';
import { shownCandidate, type Change, type Store } from '../base/store';
import { askForTimelines } from '../base/withheld';
import type { TabView } from '../base/tab';
import { exportItems } from './exports';
import type { ViewState } from '../base/view-state';
import { makeHelp } from '../shared/help';
import { makePanels } from './panels';
import { makeToolbar } from './toolbar';
import { makeViewActions } from './view-actions';
import { say } from '../../src/core/sentence';
import { own } from '../../src/core/records';

/** The editor tab: header with the numbers, toolbar, and the views of a plan; of a schedule file its timeline. */
export function tabPage(root: HTMLElement, store: Store): void {
  const help = makeHelp(store.host, 'tab');
  const { element: status, say: announce } = makeStatus();
  const inspector = makeInspector(
    store,
    () => shownTab(store) === 'timeline',
    (operation) =>
      store.setView({ selection: { type: 'operation', chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex } }),
  );
  const toolbar = makeToolbar(store);
  const actions = makeViewActions(store, exportItems(store, announce), toolbar.opener);
  const panels = makePanels(store, { onHelp: help.open }, actions.add, () => update(null));
  const bar = makeTabBar(store);
  const viewBar = h('div', { class: 'view-bar', ...partAttributes }, bar.element, status, actions.element);
  const verdict = makeGlance('one line');
  const header = h('header', { class: 'header', ...partAttributes, 'aria-label': t('Plan and figures') });
  const noticeArea = h('div', { class: 'notices', ...partAttributes, role: 'group', 'aria-label': t('Notices') });
  const progress = h('div');
  const incumbent = h('span', { class: 'incumbent', hidden: true });
  const progressArea = h('div', { class: 'progress-area' }, progress, incumbent);
  const shownView = (): TabView | undefined => panels.findView(shownTab(store));
  const main = h('div', { class: 'main' }, h('div', { class: 'panels' }, ...panels.elements), inspector.element);
  const page = h('div', { class: 'page page-tab' }, progressArea, verdict.element, header, noticeArea, viewBar, toolbar.element, main);
  const empty = h('div', { class: 'page page-empty' });
  root.replaceChildren(page, empty, help.element);
  let schedulePage: SchedulePage | null = null;
  const fetchSchedulePage = once(async () => {
    const { makeSchedulePage } = await import('./schedule-page');
    root.append((schedulePage = makeSchedulePage(store, help.open)).element);
    update(null);
  });

  const update = (change: Change | null): void => {
    const state = store.state();
    const view = store.view();
    const { plan } = state;
    const isEmpty = plan === null && state.elastic === null;
    page.hidden = isEmpty;
    empty.hidden = !isEmpty || state.schedule !== null;
    if (empty.hidden) fill(empty);
    if (schedulePage !== null) schedulePage.element.hidden = state.schedule === null;
    if (state.schedule !== null) {
      if (schedulePage === null) fetchSchedulePage();
      else schedulePage.update(change, state.schedule);
      return;
    }
    if (isEmpty) {
      fill(empty, emptyPage(state, store.host, findingList(state, store.host)));
      return;
    }
    if (plan !== null) askForTimelines(store, plan, own(tabs, shownTab(store))?.drawsCandidates ?? false);
    if (change !== null && !change.state && isMove(change.before, view)) {
      shownView()?.update(change);
      return;
    }
    if (change === null || change.state || change.before.candidate !== view.candidate) {
      fill(progress, progressBar(state));
      incumbent.textContent = incumbentText(state.incumbent);
      incumbent.hidden = state.incumbent === null;
      fill(noticeArea, ...notices(state, store.host), openedNotice(state, store.host));
      verdict.show(verdictNow(store), state);
      fill(header, ...(plan === null ? elasticHeader(store) : planHeader(store, plan)));
    }
    const shown = shownTab(store);
    const hasDetails = plan !== null && (own(tabs, shown)?.hasInspector?.(state) ?? true);
    const inspects = view.inspector && hasDetails;
    toolbar.update();
    actions.update(hasDetails);
    bar.update();
    page.classList.toggle('with-inspector', inspects);
    inspector.element.hidden = !inspects;
    inspector.update();
    panels.show(shown);
    const turned = change?.before.tab !== view.tab;
    shownView()?.update(turned ? null : change);
  };
  store.subscribe(update);
  update(null);
  onAction(document, (action) => {
    const { plan, schedule } = store.state();
    if (action.do === 'part') return goToPart(action.by);
    if (action.do === 'showKeys') help.open();
    else if (schedule !== null) schedulePage?.act(action);
    else if (plan !== null) shownView()?.act?.(action);
    return true;
  });
}

/** What came of an action, in words, until the person does something else. */
function makeStatus(): { readonly element: HTMLElement; readonly say: (message: string) => void } {
  const element = h('span', { class: 'view-status', role: 'status' });
  for (const event of ['pointerdown', 'keydown']) document.addEventListener(event, () => (element.textContent = ''), { capture: true });
  return { element, say: (message) => (element.textContent = message) };
}

function once(act: () => Promise<void>): () => void {
  let begun = false;
  return () => {
    if (begun) return;
    begun = true;
    void act();
  };
}

/** Whether only the viewport or settings of tabs changed, as in every frame of a drag. Only the tab on screen depends on them. */
function isMove(before: ViewState, view: ViewState): boolean {
  return (Object.keys(view) as (keyof ViewState)[]).every(
    (key) => key === 'viewport' || key === 'settings' || key === 'fileSettings' || before[key] === view[key],
  );
}

/** Ids of the available tabs: a run with only an elastic plan has one. */
function availableTabs(store: Store): readonly string[] {
  const [state, view] = [store.state(), store.view()];
  const hasPlan = state.plan !== null;
  return Object.entries(tabs).flatMap(([id, { isOffered }]) => ((isOffered?.(state, view) ?? hasPlan) ? [id] : []));
}

/** The tab on screen: the selected one, if it is available. */
function shownTab(store: Store): string {
  const offered = availableTabs(store);
  const { tab } = store.view();
  return offered.includes(tab) ? tab : (offered[0] ?? tab);
}

/** The verdict on what is planned; null while nothing is. */
function verdictNow(store: Store): VerdictText | null {
  const state = store.state();
  const { plan, elastic } = state;
  if (plan !== null) return planVerdict(plan, shownCandidate(plan, store.view()), state, store.host);
  return elastic === null ? null : elasticVerdict(elastic);
}

function elasticHeader(store: Store): Child[] {
  const state = store.state();
  const { elastic } = state;
  if (elastic === null) return [];
  const { title } = elastic.plan.request;
  return [
    h(
      'div',
      { class: 'header-title' },
      h('h1', { title }, title),
      h('p', { class: 'setting' }, ...elasticSetting(elastic).map((part) => h('span', {}, part)), staleness(state)),
    ),
    findingList(state, store.host),
  ];
}

function planHeader(store: Store, plan: Plan): Child[] {
  const state = store.state();
  const candidate = shownCandidate(plan, store.view());
  return [
    h(
      'div',
      { class: 'header-title' },
      h('h1', { title: plan.request.title }, plan.request.title),
      h(
        'p',
        { class: 'setting' },
        ...setting(plan, formatCount, store.host).map((part) => h('span', {}, part)),
        h(
          'span',
          { class: 'setting-schedule' },
          capitalised(candidate.id === plan.chosen ? say(candidate.name, t) : t('{0}, not the chosen plan', say(candidate.name, t))),
        ),
        staleness(state),
        state.findings.length > 0
          ? h(
              'span',
              {},
              h(
                'button',
                {
                  class: `link finding-note finding-note-${state.findings[0]?.severity ?? 'information'}`,
                  type: 'button',
                  'data-focus': 'finding-note',
                  onclick: () => store.setView({ inspector: true }),
                },
                findingCount(state),
              ),
            )
          : null,
      ),
    ),
    figures(plan, candidate, state.trainingCost),
  ];
}

function makeTabBar(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const ids = Object.keys(tabs);
  const buttons = Object.entries(tabs).map(([id, { label }]) =>
    h(
      'button',
      {
        class: 'tab',
        type: 'button',
        role: 'tab',
        id: `tab-${id}`,
        'aria-controls': `panel-${id}`,
        onclick: () => store.setView({ tab: id }),
      },
      label(),
    ),
  );
  const element = h('div', { class: 'tab-bar', role: 'tablist', 'aria-label': t('Views of the plan') }, ...buttons);
  element.addEventListener('keydown', (event) => {
    const offered = availableTabs(store);
    const at = offered.indexOf(shownTab(store));
    const moves: Readonly<Record<string, number>> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: offered.length - 1 };
    const to = own(moves, event.key);
    const tab = to === undefined ? undefined : offered.at(to % offered.length);
    if (tab === undefined || offered.length === 1) return;
    event.preventDefault();
    store.setView({ tab });
    buttons[ids.indexOf(tab)]?.focus();
  });
  const update = (): void => {
    const offered = availableTabs(store);
    const shown = shownTab(store);
    buttons.forEach((button, index) => {
      const id = ids[index];
      const isShown = id === shown;
      button.hidden = id === undefined || !offered.includes(id);
      button.setAttribute('aria-selected', String(isShown));
      button.tabIndex = isShown ? 0 : -1;
      button.toggleAttribute('data-part-focus', isShown);
    });
  };
  return { element, update };
}
