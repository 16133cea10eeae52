import { formatBytesOf, formatDuration, formatNumber, formatPercent } from '../../src/core/format';
import type { Candidate, Plan } from '../../src/core/planner/plan';
import { fill, h, icon } from '../dom';
import { fillOf, worstStage } from '../memory/summary';
import { capitalised } from '../shared/notices';
import { t } from '../strings';
import { operationsOf, shownCandidate, type Store } from '../store';
import { makeSurface, type Surface } from '../surface';
import { onThemeChange, theme } from '../theme';
import { drawLanes, makeLaneBuffers, type LaneBuffers } from '../timeline/draw-lanes';

/** The compare tab: candidates side by side, each with its timeline at one time scale. Picking one shows it everywhere. */
export function makeCompareView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const body = h('tbody');
  const element = h(
    'div',
    { class: 'compare-view' },
    h(
      'table',
      { class: 'compare-table' },
      h('caption', {}, t('Ways to run this step, all timelines at one time scale')),
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          h('th', { scope: 'col' }, t('Plan')),
          h('th', { scope: 'col', class: 'numeric' }, t('Step')),
          h('th', { scope: 'col', class: 'numeric' }, t('Speed-up')),
          h('th', { scope: 'col', class: 'numeric' }, t('Bubble')),
          h('th', { scope: 'col', class: 'numeric' }, t('Peak memory')),
          h('th', { scope: 'col' }, t('Fits')),
          h('th', { scope: 'col', class: 'compare-timeline' }, t('Timeline')),
        ),
      ),
      body,
    ),
    h('p', { class: 'hint' }, t('Speed-up is over the slowest plan here.')),
  );
  let surfaces: Surface[] = [];
  let shownPlan: Plan | null = null;
  onThemeChange(() => surfaces.forEach((surface) => surface.redraw()));
  const update = (): void => {
    const { plan } = store.state();
    if (plan === null) return;
    if (plan !== shownPlan) {
      shownPlan = plan;
      surfaces = [];
      fill(body, ...plan.candidates.map((candidate) => candidateRow(store, plan, candidate, surfaces)));
    }
    const shown = shownCandidate(plan, store.view()).id;
    for (const row of body.querySelectorAll('tr')) {
      const isShown = row.dataset['candidate'] === shown;
      row.classList.toggle('marked', isShown);
      row.querySelector('button')?.setAttribute('aria-pressed', String(isShown));
    }
  };
  return { element, update };
}

function candidateRow(store: Store, plan: Plan, candidate: Candidate, surfaces: Surface[]): HTMLElement {
  const slowestMs = Math.max(...plan.candidates.map(({ iterationMs }) => iterationMs));
  const longestMs = Math.max(...plan.candidates.map(({ pipelineMs, timeline }) => timeline?.makespanMs ?? pipelineMs));
  const peak = worstStage(candidate.memory)?.peakBytes ?? 0;
  const how = fillOf(candidate.memory, peak);
  const surface = miniTimeline(candidate, longestMs);
  surfaces.push(surface);
  const pick = (): void => store.look({ candidate: candidate.id, selection: null });
  const speedUp = slowestMs / candidate.iterationMs;
  return h(
    'tr',
    { 'data-candidate': candidate.id, onclick: pick },
    h(
      'th',
      { scope: 'row' },
      h(
        'button',
        { class: 'link', type: 'button', 'data-focus': `candidate-${candidate.id}`, 'aria-pressed': 'false' },
        capitalised(candidate.name),
      ),
      candidate.id === plan.chosen ? h('span', { class: 'tag' }, t('chosen')) : null,
    ),
    h('td', { class: 'numeric' }, formatDuration(candidate.iterationMs)),
    h('td', { class: 'numeric' }, `${formatNumber(speedUp)}×`),
    h('td', { class: 'numeric' }, formatPercent(candidate.bubbleRate)),
    h('td', { class: 'numeric' }, formatBytesOf(peak, candidate.memory.capacityBytes)),
    h(
      'td',
      { class: `fit fit-${how}` },
      h(
        'span',
        { class: 'fit-content' },
        icon(how === 'fits' ? 'check' : 'error'),
        how === 'fits' ? t('fits') : how === 'margin' ? t('no margin') : t('over'),
      ),
    ),
    h(
      'td',
      { class: 'compare-timeline' },
      candidate.timeline === null
        ? h('span', { class: 'hint' }, t('too many operations to draw'))
        : h('div', { class: 'compare-canvas' }, surface.canvas),
    ),
  );
}

function miniTimeline(candidate: Candidate, longestMs: number): Surface {
  const buffers: LaneBuffers = makeLaneBuffers();
  return makeSurface('mini-timeline', ({ context, width, height, scale }) => {
    const operations = operationsOf(candidate);
    if (operations === null) return;
    const share = operations.timeline.makespanMs / longestMs;
    const extent = {
      durationMs: operations.timeline.makespanMs,
      rows: operations.stages,
      widthPx: Math.max(1, width() * share),
      heightPx: height(),
    };
    const viewport = { startMs: 0, endMs: operations.timeline.makespanMs, rowPx: height() / operations.stages, scrollPx: 0 };
    drawLanes({ context, scale: scale(), left: 0, top: 0, extent, names: false }, operations, viewport, theme(), buffers);
  });
}
