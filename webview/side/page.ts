import { formatBytes, formatCount, formatNumber, plural } from '../../src/core/format';
import { type Candidate, chosenOf } from '../../src/core/planner/plan';
import type { TabId } from '../../src/protocol/page';
import { fill, h } from '../base/dom';
import { elasticFigures, elasticSetting } from '../tabs/elastic/head';
import { makeBars } from '../tabs/memory/bars';
import { worstStage } from '../tabs/memory/summary';
import { makeProfileButton } from '../tabs/profile/actions';
import { figures, setting } from '../shared/figures';
import { emptyPage, notices, progressBar, staleness } from '../shared/notices';
import { capitalised } from '../shared/sentence';
import { assumptionList, findingCount, findingList, limiterLine, provenance, reasonList } from '../shared/reasons';
import { makeSliceBar, sliceAt } from '../tabs/slices/bar';
import { busiestStage, groupScheme, sliceRows, type SliceRow } from '../tabs/slices/groups';
import { sliceLines } from '../tabs/slices/view';
import { t } from '../base/strings';
import { operationsOf, type Store } from '../base/store';
import { makeSurface } from '../base/surface';
import { onThemeChange, theme } from '../base/theme';
import { drawLanes, makeLaneBuffers } from '../tabs/timeline/draw-lanes';
import { hit } from '../base/operations';
import { operationName } from '../tabs/timeline/labels';
import { button } from '../base/ui';

/** The side view: the three numbers, the step in miniature, slices, memory, why, and what to look at. */
export function sidePage(root: HTMLElement, store: Store): void {
  const candidate = (): Candidate | null => {
    const { plan } = store.state();
    return plan === null ? null : chosenOf(plan);
  };
  const open = (tab: TabId): void => store.host.post({ type: 'openTab', tab, candidate: null });
  const miniature = miniTimeline(candidate, () => open('timeline'));
  let rows: readonly SliceRow[] = [];
  const slices = makeSliceBar(() => rows);
  const slicesText = h('span', { class: 'strip-note' });
  hoverText(slices.canvas, slicesText, (x, width) => {
    const slice = sliceAt(rows, x, width);
    return slice === null ? null : sliceLines(slice).slice(0, 2).join(' · ');
  });
  const memoryText = h('span', { class: 'strip-note' });
  const bars = makeBars({
    axis: false,
    profile: () => candidate()?.memory ?? null,
    stage: () => null,
    onPoint: (stage) => {
      const pointed = candidate()?.memory.stages.find((memory) => memory.stage === stage);
      memoryText.textContent =
        pointed === undefined ? (memoryText.dataset['rest'] ?? '') : t('stage {0}: {1}', pointed.stage, formatBytes(pointed.peakBytes));
    },
    onPick: () => open('memory'),
  });
  const head = h('div', { class: 'side-head' });
  const numbers = h('div', { class: 'side-numbers' });
  const strips = h(
    'div',
    { class: 'side-strips' },
    strip(t('Timeline'), miniature.note, miniature.element, () => open('timeline')),
    strip(t('Slices'), slicesText, h('div', { class: 'strip-canvas strip-slices' }, slices.canvas), () => open('slices')),
    strip(t('Memory'), memoryText, h('div', { class: 'strip-canvas strip-memory' }, bars.canvas), () => open('memory')),
  );
  slices.canvas.addEventListener('click', () => open('slices'));
  const foot = h('div', { class: 'side-foot' });
  const profiling = makeProfileButton(store.host, 'secondary');
  const actions = h(
    'div',
    { class: 'side-actions' },
    button({ label: t('Open timeline'), onClick: () => open('timeline') }),
    profiling.element,
  );
  const page = h('div', { class: 'page page-side' }, head, numbers, strips, actions, foot);
  const empty = h('div', { class: 'page page-empty' });
  const elasticHead = h('div', { class: 'side-head' });
  const elasticNumbers = h('div', { class: 'side-numbers' });
  const elasticFoot = h('div', { class: 'side-foot' });
  const openElastic = button({ label: t('Open elastic plan'), onClick: () => open('elastic') });
  const elasticPage = h(
    'div',
    { class: 'page page-side page-side-elastic' },
    elasticHead,
    elasticNumbers,
    h('div', { class: 'side-actions' }, openElastic),
    elasticFoot,
  );
  root.replaceChildren(page, elasticPage, empty);

  const update = (): void => {
    const state = store.state();
    const { plan, elastic } = state;
    page.hidden = plan === null;
    elasticPage.hidden = plan !== null || elastic === null;
    empty.hidden = plan !== null || elastic !== null;
    if (plan === null && elastic !== null) {
      fill(
        elasticHead,
        progressBar(state),
        h('h1', { title: elastic.plan.request.title }, elastic.plan.request.title),
        h('p', { class: 'setting' }, ...elasticSetting(elastic).map((part) => h('span', {}, part)), staleness(state)),
        ...notices(state, store.host),
      );
      fill(elasticNumbers, elasticFigures(elastic));
      fill(elasticFoot, reasonList(elastic.plan), findingList(state, store.host));
      return;
    }
    if (plan === null) {
      fill(empty, emptyPage(state, store.host, findingList(state, store.host)));
      return;
    }
    const chosen = chosenOf(plan);
    fill(
      head,
      progressBar(state),
      h('h1', { title: plan.request.title }, plan.request.title),
      h('p', { class: 'setting' }, ...setting(plan, formatCount).map((part) => h('span', {}, part)), staleness(state)),
      ...notices(state, store.host),
    );
    fill(numbers, figures(plan, chosen));
    rows = firstGroupRows(chosen);
    rest(slicesText, slicesNote(chosen));
    const worst = worstStage(chosen.memory);
    rest(memoryText, worst === null ? '' : t('stage {0}: {1}', worst.stage, formatBytes(worst.peakBytes)));
    miniature.redraw();
    slices.redraw();
    bars.redraw();
    profiling.update(state.trusted);
    const assumptions = assumptionList(plan, state, store.host);
    fill(
      foot,
      limiterLine(plan, chosen),
      reasonList(plan),
      state.findings.length === 0 ? null : disclosure('findings', findingCount(state), findingList(state, store.host), true),
      elastic === null
        ? null
        : h(
            'button',
            { class: 'link', type: 'button', 'data-focus': 'elastic', onclick: () => open('elastic') },
            t('Elastic: {0} times as fast with layers that freeze', formatNumber(elastic.plan.speedup)),
          ),
      provenance(plan),
      assumptions === null
        ? null
        : disclosure('assumptions', plural(plan.request.assumptions.length, t('assumption'), t('assumptions')), assumptions, false),
    );
  };
  const opened = new Map<string, boolean>();
  const disclosure = (key: string, title: string, content: HTMLElement | null, openAtFirst: boolean): HTMLElement => {
    const element = h(
      'details',
      { class: 'disclosure', open: opened.get(key) ?? openAtFirst },
      h('summary', { 'data-focus': key }, title),
      content,
    );
    element.addEventListener('toggle', () => opened.set(key, element.open));
    return element;
  };
  store.subscribe(update);
  update();
}

function strip(title: string, note: HTMLElement, content: HTMLElement, onOpen: () => void): HTMLElement {
  const name = h('button', { class: 'strip-name link', type: 'button', onclick: onOpen, title: t('Open in a tab') }, title);
  return h('section', { class: 'strip', 'aria-label': title }, h('div', { class: 'strip-head' }, name, note), content);
}

function firstGroupRows(candidate: Candidate): readonly SliceRow[] {
  const first = groupScheme(candidate.scheme)[0];
  if (first === undefined) return [];
  return sliceRows(candidate.scheme, candidate.timeline, busiestStage(candidate.busyMs)).slice(0, first.chunk.tokens.length);
}

function slicesNote(candidate: Candidate): string {
  const groups = groupScheme(candidate.scheme);
  const first = groups[0];
  if (first === undefined) return '';
  const count = first.chunk.tokens.length;
  const what = count === 1 ? t('whole sequence') : t('{0} slices', formatCount(count));
  return groups.length > 1 ? t('{0}, 1 of {1} kinds', what, groups.length) : t('{0} × {1}', what, formatCount(candidate.scheme.length));
}

function rest(note: HTMLElement, text: string): void {
  note.dataset['rest'] = text;
  note.textContent = text;
}

function hoverText(canvas: HTMLCanvasElement, note: HTMLElement, textAt: (x: number, width: number) => string | null): void {
  canvas.addEventListener('pointermove', (event) => {
    const box = canvas.getBoundingClientRect();
    note.textContent = textAt(event.clientX - box.left, box.width) ?? note.dataset['rest'] ?? '';
  });
  canvas.addEventListener('pointerleave', () => (note.textContent = note.dataset['rest'] ?? ''));
}

function miniTimeline(
  candidate: () => Candidate | null,
  onOpen: () => void,
): { readonly element: HTMLElement; readonly note: HTMLElement; readonly redraw: () => void } {
  const buffers = makeLaneBuffers();
  const note = h('span', { class: 'strip-note' });
  const surface = makeSurface('mini-timeline', ({ context, width, height, scale }) => {
    const shown = candidate();
    const operations = shown === null ? null : operationsOf(shown);
    if (operations === null) return;
    const durationMs = operations.timeline.makespanMs;
    const extent = { durationMs, rows: operations.stages, widthPx: width(), heightPx: height() };
    const viewport = { startMs: 0, endMs: durationMs, rowPx: height() / operations.stages, scrollPx: 0 };
    drawLanes({ context, scale: scale(), left: 0, top: 0, extent, names: false }, operations, viewport, theme(), buffers);
  });
  hoverText(surface.canvas, note, () => null);
  surface.canvas.addEventListener('pointermove', (event) => {
    const shown = candidate();
    const operations = shown === null ? null : operationsOf(shown);
    if (operations === null) return;
    const box = surface.canvas.getBoundingClientRect();
    const stage = Math.min(operations.stages - 1, Math.floor(((event.clientY - box.top) / box.height) * operations.stages));
    const pointed = hit(operations, Math.max(0, stage), ((event.clientX - box.left) / box.width) * operations.timeline.makespanMs);
    note.textContent = pointed === null ? t('stage {0}: idle', stage) : operationName(operations, pointed);
  });
  surface.canvas.addEventListener('click', onOpen);
  const element = h('div', { class: 'strip-canvas strip-timeline' }, surface.canvas);
  const none = h('p', { class: 'hint' }, t('Too many operations to draw.'));
  onThemeChange(surface.redraw);
  return {
    element: h('div', {}, element, none),
    note,
    redraw: () => {
      const shown = candidate();
      const operations = shown === null ? null : operationsOf(shown);
      element.hidden = operations === null;
      none.hidden = operations !== null;
      rest(
        note,
        shown === null || operations === null ? '' : `${capitalised(shown.name)} · ${plural(operations.stages, t('stage'), t('stages'))}`,
      );
      element.style.height = `${Math.min(144, Math.max(28, (operations?.stages ?? 1) * 4))}px`;
      surface.redraw();
    },
  };
}
