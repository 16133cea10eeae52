import { column, formatBytes } from '../../../src/core/format';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { fill, h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable, rowsBelowPicture } from '../../base/paged-table';
import { capitalised } from '../../shared/sentence';
import { t } from '../../base/strings';
import { comparedCandidate, selectedOperation, shownCandidate, shownDrawn, type Store } from '../../base/store';
import { operationAt } from '../../base/operations';
import { makeTooltip } from '../../charts/tooltip';
import { makeBars } from '../../charts/memory/bars';
import { stageDetails } from './detail';
import { readMemory, type Readout } from '../../charts/memory/readout';
import { partName, peakPartName, presentParts, findStage, worstStage } from '../../charts/memory/summary';
import { say, type Value } from '../../../src/core/sentence';
import type { Candidate } from '../../../src/core/planner/plan';
import { own } from '../../../src/core/records';
import { hostText } from '../../../src/core/partition/host-parts';

/**
 * The memory tab: a bar per stage, the parts of one stage, and the same as a table. Next to it, on the same axis, the bars of the plan that
 * it is compared with. Below them is what a node's processes hold in host memory.
 */
export function makeMemoryView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const shown = (): Candidate | null => {
    const { plan } = store.state();
    return plan === null ? null : shownCandidate(plan, store.view());
  };
  const compared = (): Candidate | null => {
    const { plan } = store.state();
    return plan === null ? null : comparedCandidate(plan, store.view());
  };
  const profile = (): MemoryProfile | null => shown()?.memory ?? null;
  const otherProfile = (): MemoryProfile | null => compared()?.memory ?? null;
  const stageShown = (): StageMemory | null => {
    const known = profile();
    return known === null ? null : (findStage(known, store.view().stage) ?? worstStage(known));
  };
  const stage = (): number | null => stageShown()?.stage ?? null;
  const chart = makeChart(store, { profile, compared: otherProfile, stage });
  const other = makeChart(store, { profile: otherProfile, compared: profile, stage });
  const charts = h('div', { class: 'memory-charts' }, chart.element);
  const detail = h('div', { class: 'memory-detail', 'aria-live': 'polite' });
  const table = makePagedTable(rowsBelowPicture);
  const host = h('p', { class: 'hint memory-host' });
  const element = h(
    'div',
    { class: 'memory-view' },
    h('div', { class: 'memory-top' }, charts, detail),
    h('section', { ...partAttributes, class: 'table-twin', 'aria-label': t('Memory of every stage') }, table.element),
    host,
  );
  const update = (): void => {
    const [known, own, against] = [profile(), stageShown(), compared()];
    if (known === null || own === null) return;
    if (against === null) other.element.remove();
    else if (!other.element.isConnected) charts.append(other.element);
    chart.update(against === null ? null : (shown()?.name ?? null));
    other.update(against?.name ?? null);
    fill(detail, ...stageDetails(known, own, against, selectedReadout(store, own), peakLink(store, own)));
    const candidate = shown();
    host.textContent = candidate === null ? '' : `${say(hostText(candidate.host), t)}.`;
    showTable(table, known, store.view().stage, (picked) => store.setView({ stage: picked }));
  };
  return { element, update };
}

/** What the stage has in use when the operation begins that is selected on it in the timeline; null: none is. */
function selectedReadout(store: Store, stage: StageMemory): Readout | null {
  const drawn = shownDrawn(store.state(), store.view());
  const selected = selectedOperation(drawn?.operations ?? null, store.view().selection);
  const [operations, memory] = [drawn?.operations ?? null, drawn?.memory ?? null];
  if (operations === null || memory === null || selected?.stage !== stage.stage) return null;
  return readMemory(operations, memory, stage, selected.startMs);
}

/** Leads to the operation with the peak, in the timeline; null where none is drawn. */
function peakLink(store: Store, { stage, peakRow }: StageMemory): HTMLElement | null {
  const operations = shownDrawn(store.state(), store.view())?.operations ?? null;
  if (operations === null || peakRow < 0) return null;
  const go = (): void => {
    const { chunk, kind, unitIndex: unit } = operationAt(operations, peakRow);
    store.setView({ tab: 'timeline', stage, viewport: null, selection: { type: 'operation', chunk, kind, unit } });
  };
  return h('button', { class: 'link', type: 'button', 'data-focus': 'peak', onclick: go }, t('Show it in the timeline'));
}

/** The bars of one plan, with its name where there are two. */
function makeChart(
  store: Store,
  { profile, compared, stage }: Required<Pick<Parameters<typeof makeBars>[0], 'profile' | 'compared' | 'stage'>>,
): { readonly element: HTMLElement; readonly update: (name: Value | null) => void } {
  const tooltip = makeTooltip();
  const bars = makeBars({
    axis: true,
    profile,
    compared,
    stage,
    onPick: (picked) => store.setView({ stage: picked }),
    onPoint: (pointed, x, y) => {
      const known = profile();
      const memory = known === null ? undefined : findStage(known, pointed);
      if (memory === undefined || known === null) {
        tooltip.hide();
        return;
      }
      const parts = presentParts(known).filter((part) => memory.parts[part] > 0);
      const lines = [
        t('Stage {0} · {1}', memory.stage, formatBytes(memory.peakBytes)),
        ...parts.map((part) => `${peakPartName(part, memory)} ${formatBytes(memory.parts[part])}`),
      ];
      tooltip.show(lines, x, y, bars.canvas.clientWidth, bars.canvas.clientHeight);
    },
  });
  const caption = h('h2', { class: 'memory-caption' });
  const chart = h('div', { class: 'memory-chart', role: 'img', tabindex: 0 }, bars.canvas, tooltip.element);
  chart.addEventListener('keydown', (event) => {
    const by = own({ ArrowLeft: -1, ArrowRight: 1 }, event.key);
    const stages = profile()?.stages.length ?? 0;
    if (by === undefined || stages === 0) return;
    event.preventDefault();
    store.setView({ stage: Math.min(stages - 1, Math.max(0, (stage() ?? 0) + by)) });
  });
  return {
    element: h('div', { class: 'memory-plan' }, caption, chart),
    update: (name) => {
      const known = profile();
      caption.hidden = name === null;
      caption.textContent = name === null ? '' : capitalised(say(name, t));
      if (known === null) return;
      chart.setAttribute('aria-label', memorySummary(known));
      bars.redraw();
    },
  };
}

function memorySummary(profile: MemoryProfile): string {
  const worst = worstStage(profile);
  if (worst === null) return '';
  const [count, stage, used, capacity] = [profile.stages.length, worst.stage, formatBytes(worst.peakBytes), formatBytes(worst.usableBytes)];
  return worst.gpu === undefined
    ? t('Peak memory of {0} stages. Highest: stage {1} with {2} of {3}. Arrow keys move between stages.', count, stage, used, capacity)
    : t('Peak memory of {0} stages. Least room: stage {1} with {2} of {3}. Arrow keys move between stages.', count, stage, used, capacity);
}

function showTable(
  table: ReturnType<typeof makePagedTable>,
  profile: MemoryProfile,
  picked: number | null,
  pick: (stage: number) => void,
): void {
  const parts = presentParts(profile);
  table.show({
    caption: t('Peak memory of every stage, GiB'),
    columns: [
      { title: t('Stage'), numeric: true },
      { title: t('Peak'), numeric: true },
      { title: t('Reserved'), numeric: true },
      { title: t('GPU memory in use'), numeric: true },
      ...parts.map((part) => ({ title: partName(part), numeric: true })),
      { title: t('At the peak'), numeric: false },
    ],
    total: profile.stages.length,
    rows: ({ first, end }) =>
      profile.stages
        .slice(first, end)
        .map((stage) => [
          String(stage.stage),
          ...[stage.peakBytes, stage.reservedBytes, stage.inUseBytes, ...parts.map((part) => stage.parts[part])].map((bytes) =>
            column.number(bytes / 2 ** 30),
          ),
          stage.peakOperation,
        ]),
    marked: picked === null ? null : profile.stages.findIndex(({ stage }) => stage === picked),
    onRow: (index) => pick(profile.stages[index]?.stage ?? 0),
  });
}
