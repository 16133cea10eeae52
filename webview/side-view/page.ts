import { formatCount, formatNumber, plural } from '../../src/core/format';
import { chosenCandidate, type Candidate, type Plan } from '../../src/core/planner/plan';
import type { PageElastic, PageState, TabId } from '../../src/protocol/page';
import { onAction } from '../base/actions';
import { fill, h } from '../base/dom';
import { partAttributes, partFocusAttributes, goToPart } from '../base/parts';
import { elasticFigures, elasticSetting } from '../tabs/elastic/head';
import { makeEpochStrip } from '../tabs/elastic/strip';
import { elasticVerdict } from '../tabs/elastic/verdict';
import { makeProfileButton } from '../tabs/profile/actions';
import { makeDisclosures } from '../shared/disclosures';
import { figures, setting } from '../shared/figures';
import { emptyPage, notices, progressBar, staleness } from '../shared/notices';
import { capitalised } from '../shared/sentence';
import { assumptionList, planAssumptions, findingCount, findingList, provenance, reasonList } from '../shared/reasons';
import { makeHelp } from '../shared/help';
import { makeGlance, planVerdict } from '../shared/verdict';
import { t } from '../base/strings';
import { candidateOperations, tailOfCandidate, type Store } from '../base/store';
import { tailAt } from '../../src/core/planner/explain/tail';
import { tailName } from '../charts/lanes/draw-tail';
import { makeMiniature } from '../charts/lanes/whole-step';
import { pointIn } from '../charts/plot';
import { hit } from '../base/operations';
import { operationName } from '../charts/lanes/labels';
import { button } from '../base/ui';
import { say } from '../../src/core/sentence';
import { planList } from './plans';

/** The side view: the three numbers, the step in miniature, why, and what to look at. */
export function sidePage(root: HTMLElement, store: Store): void {
  const planned = plannedPage(store);
  const elastic = elasticPage(store);
  const empty = h('div', { class: 'page page-empty' });
  const help = makeHelp(store.host, 'side');
  root.replaceChildren(planned.element, elastic.element, empty, help.element);
  const update = (): void => {
    const state = store.state();
    planned.element.hidden = state.plan === null;
    elastic.element.hidden = state.plan !== null || state.elastic === null;
    empty.hidden = state.plan !== null || state.elastic !== null;
    if (state.plan !== null) planned.update(state.plan, state);
    else if (state.elastic !== null) elastic.update(state.elastic, state);
    fill(empty, empty.hidden ? null : emptyPage(state, store.host, findingList(state, store.host)));
  };
  store.subscribe(update);
  update();
  onAction(document, (action) => {
    if (action.do === 'part') return goToPart(action.by);
    if (action.do === 'showKeys') help.open();
    return action.do === 'showKeys';
  });
}

const opener =
  ({ host }: Store) =>
  (tab: TabId): void =>
    host.post({ type: 'openTab', tab, candidate: null });

function pageHead(title: string, parts: readonly (HTMLElement | string)[], state: PageState, store: Store): (HTMLElement | null)[] {
  return [
    progressBar(state),
    h('h1', { title }, title),
    h('p', { class: 'setting' }, ...parts.map((part) => h('span', {}, part)), staleness(state)),
    ...notices(state, store.host),
  ];
}

/** The head while the tab is in view, which has the rest. */
function briefHead(title: string, state: PageState, store: Store): HTMLElement[] {
  return [progressBar(state), h('h1', { title }, title), ...notices(state, store.host)];
}

/** What is wrong, with its fixes. */
function foundWithFixes(state: PageState, { host }: Store): (HTMLElement | null)[] {
  const count = state.findings.length > 0 ? findingCount(state) : state.error === null ? t('No findings') : null;
  return [count === null ? null : h('h2', {}, count), findingList(state, host, true)];
}

/** The page of a run that freezes layers and has no other plan. */
function elasticPage(store: Store): { readonly element: HTMLElement; readonly update: (elastic: PageElastic, state: PageState) => void } {
  const head = h('div', { class: 'side-head' });
  const numbers = h('div', { class: 'side-numbers', ...partAttributes, role: 'group', 'aria-label': t('Figures') });
  const foot = h('div', { class: 'side-foot', ...partAttributes, role: 'group', 'aria-label': t('Reasons and findings') });
  const verdict = makeGlance();
  const disclosure = makeDisclosures();
  const openTab = (): void => opener(store)('elastic');
  const open = button({ label: t('Open elastic plan'), onClick: openTab });
  const epochs = makeEpochStrip();
  const epochsText = h('span', { class: 'strip-note' });
  hoverText(epochs.canvas, epochsText, epochs.textAt);
  epochs.canvas.addEventListener('click', openTab);
  const strips = h('div', { class: 'side-strips' }, strip(t('Epochs'), epochsText, epochs.element, openTab));
  const actions = h('div', { class: 'side-actions' }, open);
  return {
    element: h('div', { class: 'page page-side page-side-elastic' }, verdict.element, head, numbers, strips, actions, foot),
    update: (elastic, state) => {
      const { tabInView = false } = state;
      for (const element of [numbers, strips, actions]) element.hidden = tabInView;
      if (tabInView) {
        verdict.show(null, state);
        fill(head, ...briefHead(elastic.plan.request.title, state, store));
        fill(numbers);
        fill(foot, ...foundWithFixes(state, store));
        return;
      }
      verdict.show(elasticVerdict(elastic), state);
      fill(head, ...pageHead(elastic.plan.request.title, elasticSetting(elastic), state, store));
      fill(numbers, elasticFigures(elastic));
      rest(epochsText, pipelinesNote(elastic));
      epochs.show(elastic);
      const assumptions = assumptionList(elastic.plan, state, store.host);
      fill(
        foot,
        state.findings.length === 0 ? null : disclosure('findings', findingCount(state), findingList(state, store.host), true),
        disclosure('reasons', t('Why this plan'), reasonList(elastic.plan), false),
        h('p', { class: 'hint' }, t('Times: {0}', say(elastic.plan.cost.description, t))),
        assumptions === null
          ? null
          : disclosure(
              'assumptions',
              plural(elastic.plan.request.assumptions.length, t('assumption'), t('assumptions')),
              assumptions,
              false,
            ),
      );
    },
  };
}

/** `2 pipelines, then 16`. */
function pipelinesNote({ spans }: PageElastic): string {
  const [first = 0, last = 0] = [spans.at(0), spans.at(-1)].map((span) => span?.epoch.replicas);
  const pipelines = plural(first, t('pipeline'), t('pipelines'));
  return first === last ? pipelines : t('{0}, then {1}', pipelines, formatCount(last));
}

/**
 * The page of a plan: the verdict, three numbers and the step in miniature. While the tab of the config is in view, which has them, what is
 * wrong with its fixes, and the plans that there were.
 */
function plannedPage(store: Store): { readonly element: HTMLElement; readonly update: (plan: Plan, state: PageState) => void } {
  const open = opener(store);
  const miniature = miniTimeline(
    () => {
      const { plan } = store.state();
      return plan === null ? null : chosenCandidate(plan);
    },
    () => open('timeline'),
  );
  const strips = h(
    'div',
    { class: 'side-strips' },
    strip(t('Timeline'), miniature.note, miniature.element, () => open('timeline')),
  );
  const verdict = makeGlance();
  const head = h('div', { class: 'side-head' });
  const numbers = h('div', { class: 'side-numbers', ...partAttributes, role: 'group', 'aria-label': t('Figures') });
  const foot = h('div', { class: 'side-foot', ...partAttributes, role: 'group', 'aria-label': t('Reasons and findings') });
  const profiling = makeProfileButton(store.host, 'secondary');
  const openTimeline = button({ label: t('Open timeline'), onClick: () => open('timeline') });
  const actions = h('div', { class: 'side-actions' }, openTimeline, profiling.element);
  const disclosure = makeDisclosures();
  return {
    element: h('div', { class: 'page page-side' }, verdict.element, head, numbers, strips, actions, foot),
    update: (plan, state) => {
      const { elastic, history = null, tabInView = false } = state;
      for (const element of [numbers, strips, actions]) element.hidden = tabInView;
      if (tabInView) {
        verdict.show(null, state);
        fill(head, ...briefHead(plan.request.title, state, store));
        fill(numbers);
        const past = history === null ? null : planList(history, store.host);
        fill(foot, ...foundWithFixes(state, store), past === null ? null : disclosure('plans', t('Plans'), past, true));
        return;
      }
      const chosen = chosenCandidate(plan);
      fill(head, ...pageHead(plan.request.title, setting(plan, formatCount, store.host), state, store));
      verdict.show(planVerdict(plan, chosen, state, store.host), state);
      fill(numbers, figures(plan, chosen, state.trainingCost, 'three'));
      miniature.redraw();
      profiling.update(state.trusted);
      const assumptions = planAssumptions(plan, state, store.host);
      fill(
        foot,
        state.findings.length === 0 ? null : disclosure('findings', findingCount(state), findingList(state, store.host), true),
        elastic === null
          ? null
          : h(
              'button',
              { class: 'link', type: 'button', 'data-focus': 'elastic', onclick: () => open('elastic') },
              t('Elastic: {0} times as fast with frozen layers', formatNumber(elastic.plan.speedup)),
            ),
        plan.reasons.length === 0 ? null : disclosure('reasons', t('Why this plan'), reasonList(plan), false),
        provenance(plan),
        assumptions === null
          ? null
          : disclosure('assumptions', plural(plan.request.assumptions.length, t('assumption'), t('assumptions')), assumptions, false),
      );
    },
  };
}

function strip(title: string, note: HTMLElement, content: HTMLElement, onOpen: () => void): HTMLElement {
  const name = h(
    'button',
    { class: 'strip-name link', ...partFocusAttributes, type: 'button', onclick: onOpen, title: t('Open in a tab') },
    title,
  );
  return h('section', { class: 'strip', ...partAttributes, 'aria-label': title }, h('div', { class: 'strip-head' }, name, note), content);
}

function rest(note: HTMLElement, text: string): void {
  note.dataset['rest'] = text;
  note.textContent = text;
}

function hoverText(canvas: HTMLCanvasElement, note: HTMLElement, textAt: (x: number, width: number) => string | null): void {
  canvas.addEventListener('pointermove', (event) => {
    note.textContent = textAt(pointIn(canvas, event).x, canvas.clientWidth) ?? note.dataset['rest'] ?? '';
  });
  canvas.addEventListener('pointerleave', () => (note.textContent = note.dataset['rest'] ?? ''));
}

function miniTimeline(
  candidate: () => Candidate | null,
  onOpen: () => void,
): { readonly element: HTMLElement; readonly note: HTMLElement; readonly redraw: () => void } {
  const note = h('span', { class: 'strip-note' });
  const surface = makeMiniature('mini-timeline', candidate);
  hoverText(surface.canvas, note, () => null);
  surface.canvas.addEventListener('pointermove', (event) => {
    const shown = candidate();
    const operations = shown === null ? null : candidateOperations(shown);
    const tail = shown === null ? null : tailOfCandidate(shown);
    if (operations === null || tail === null) return;
    const { x, y } = pointIn(surface.canvas, event);
    const stage = Math.min(operations.stages - 1, Math.floor((y / surface.canvas.clientHeight) * operations.stages));
    const ms = (x / surface.canvas.clientWidth) * tail.endMs;
    const pointed = hit(operations, Math.max(0, stage), ms);
    const after = tailAt(tail, stage, ms);
    if (pointed !== null) note.textContent = operationName(operations, pointed);
    else note.textContent = after === null ? t('stage {0}: idle', stage) : tailName(after.kind);
  });
  surface.canvas.addEventListener('click', onOpen);
  const element = h('div', { class: 'strip-canvas strip-timeline' }, surface.canvas);
  const none = h('p', { class: 'hint' }, t('Too many operations to draw.'));
  return {
    element: h('div', {}, element, none),
    note,
    redraw: () => {
      const shown = candidate();
      const operations = shown === null ? null : candidateOperations(shown);
      element.hidden = operations === null;
      none.hidden = operations !== null;
      rest(
        note,
        shown === null || operations === null
          ? ''
          : `${capitalised(say(shown.name, t))} · ${plural(operations.stages, t('stage'), t('stages'))}`,
      );
      element.style.height = `${Math.min(144, Math.max(28, (operations?.stages ?? 1) * 4))}px`;
      surface.redraw();
    },
  };
}
