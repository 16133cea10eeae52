import { column, formatBytes, formatNumber } from '../../../src/core/format';
import type { MemoryProfile, StageMemory } from '../../../src/core/memory-model/profile';
import { limitText, verdictOf, verdictText } from '../../../src/core/memory-model/verdict';
import { fill, h } from '../../base/dom';
import { makePagedTable } from '../../base/paged-table';
import { capitalised, sentence } from '../../shared/sentence';
import { t } from '../../base/strings';
import { shownCandidate, type Store } from '../../base/store';
import { place } from '../timeline/pane';
import { makeBars } from './bars';
import { partName, presentParts, worstStage } from './summary';
import { say } from '../../../src/core/sentence';

/** The memory tab: a bar per stage, the parts of one stage, and the same as a table. */
export function makeMemoryView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const profile = (): MemoryProfile | null => {
    const { plan } = store.state();
    return plan === null ? null : shownCandidate(plan, store.view()).memory;
  };
  const stageShown = (): StageMemory | null => {
    const known = profile();
    return known === null ? null : (known.stages.find(({ stage }) => stage === store.view().stage) ?? worstStage(known));
  };
  const tooltip = h('div', { class: 'tooltip', role: 'presentation', hidden: true });
  const bars = makeBars({
    axis: true,
    profile,
    stage: () => stageShown()?.stage ?? null,
    onPick: (stage) => store.setView({ stage }),
    onPoint: (stage, x, y) => {
      const known = profile();
      const memory = known?.stages.find((candidate) => candidate.stage === stage);
      tooltip.hidden = memory === undefined || known === null;
      if (memory === undefined || known === null) return;
      fill(
        tooltip,
        h('div', { class: 'tooltip-title' }, t('Stage {0} · {1}', memory.stage, formatBytes(memory.peakBytes))),
        ...presentParts(known)
          .filter((part) => memory.parts[part] > 0)
          .map((part) => h('div', { class: 'tooltip-line' }, `${partName(part)} ${formatBytes(memory.parts[part])}`)),
      );
      const box = bars.canvas.getBoundingClientRect();
      place(tooltip, x, y, box.width, box.height);
    },
  });
  const chart = h('div', { class: 'memory-chart', role: 'img', tabindex: 0 }, bars.canvas, tooltip);
  chart.addEventListener('keydown', (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const stages = profile()?.stages.length ?? 0;
    if (by === undefined || stages === 0) return;
    event.preventDefault();
    store.setView({ stage: Math.min(stages - 1, Math.max(0, (stageShown()?.stage ?? 0) + by)) });
  });
  const detail = h('div', { class: 'memory-detail', 'aria-live': 'polite' });
  const table = makePagedTable();
  const element = h(
    'div',
    { class: 'memory-view' },
    h('div', { class: 'memory-top' }, chart, detail),
    h('section', { class: 'table-twin', 'aria-label': t('Memory of every stage') }, table.element),
  );
  const update = (): void => {
    const known = profile();
    const stage = stageShown();
    if (known === null || stage === null) return;
    bars.redraw();
    chart.setAttribute('aria-label', summaryOf(known));
    fill(detail, ...detailsOf(known, stage));
    showTable(table, known, store.view().stage, (picked) => store.setView({ stage: picked }));
  };
  return { element, update };
}

function summaryOf(profile: MemoryProfile): string {
  const worst = worstStage(profile);
  if (worst === null) return '';
  const [count, stage, used, capacity] = [profile.stages.length, worst.stage, formatBytes(worst.peakBytes), formatBytes(worst.usableBytes)];
  return worst.gpu === undefined
    ? t('Peak memory of {0} stages. Highest: stage {1} with {2} of {3}. Arrow keys move between stages.', count, stage, used, capacity)
    : t('Peak memory of {0} stages. Least room: stage {1} with {2} of {3}. Arrow keys move between stages.', count, stage, used, capacity);
}

function detailsOf(profile: MemoryProfile, stage: StageMemory): HTMLElement[] {
  const isWorst = worstStage(profile)?.stage === stage.stage;
  const verdict = verdictOf({ stages: [stage] });
  const rows = presentParts(profile).map((part) =>
    h(
      'div',
      { class: 'pair' },
      h('dt', {}, h('span', { class: `swatch swatch-${part}` }), partName(part)),
      h('dd', {}, column.bytes(stage.parts[part]), h('span', { class: 'share' }, column.percent(stage.parts[part] / stage.peakBytes))),
    ),
  );
  return [
    h(
      'h2',
      {},
      stage.gpu === undefined ? t('Stage {0}', stage.stage) : t('Stage {0}, {1}', stage.stage, stage.gpu),
      isWorst ? h('span', { class: 'tag' }, stage.gpu === undefined ? t('highest') : t('least room')) : null,
    ),
    h('p', { class: `verdict verdict-${verdict.fits ? 'fits' : 'over'}` }, capitalised(say(verdictText(verdict), t))),
    h(
      'dl',
      { class: 'pairs' },
      ...rows.reverse(),
      h(
        'div',
        { class: 'pair pair-sum' },
        h('dt', {}, t('Peak')),
        h('dd', {}, column.bytes(stage.peakBytes), h('span', { class: 'share' })),
      ),
      ...[
        [
          t('Reserved by the allocator'),
          stage.reservedBytes,
          t(
            "What PyTorch's allocator holds (max_reserved): the tensors, what fragmentation leaves unused, and blocks for other moments of a step.",
          ),
        ] as const,
        [
          t('GPU memory in use (nvidia-smi)'),
          stage.inUseBytes,
          t('Reserved, with the CUDA context and the buffers of NCCL (nvidia-smi).'),
        ] as const,
      ].map(([name, bytes, about]) =>
        h('div', { class: 'pair', title: about }, h('dt', {}, name), h('dd', {}, column.bytes(bytes), h('span', { class: 'share' }))),
      ),
    ),
    h(
      'p',
      { class: 'hint' },
      t('The peak is reached in the {0}. At most {1} in flight.', stage.peakOperation, unitsText(stage.unitsInFlight)),
    ),
    h('p', { class: 'hint' }, sentence(say(limitText(verdict), t)), ' ', t('Counted as {0} does.', profile.runtime)),
  ];
}

function unitsText(units: number): string {
  return units === 1 ? t('1 unit') : t('{0} units', formatNumber(units));
}

function showTable(
  table: ReturnType<typeof makePagedTable>,
  profile: MemoryProfile,
  picked: number | null,
  pick: (stage: number) => void,
): void {
  const parts = presentParts(profile);
  table.show({
    caption: t('Peak memory of every stage'),
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
          column.bytes(stage.peakBytes),
          column.bytes(stage.reservedBytes),
          column.bytes(stage.inUseBytes),
          ...parts.map((part) => column.bytes(stage.parts[part])),
          stage.peakOperation,
        ]),
    marked: picked === null ? null : profile.stages.findIndex(({ stage }) => stage === picked),
    onRow: (index) => pick(profile.stages[index]?.stage ?? 0),
  });
}
