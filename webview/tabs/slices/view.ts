import { column, formatCount, formatDuration, formatPercent, plural } from '../../../src/core/format';
import type { Candidate, Certificate } from '../../../src/core/planner/plan';
import { fill, h, icon } from '../../base/dom';
import { pointIn } from '../../charts/plot';
import { makeTooltip } from '../../charts/tooltip';
import { partAttributes } from '../../base/parts';
import { makePagedTable } from '../../base/paged-table';
import { sentence } from '../../shared/sentence';
import { isProved } from '../../shared/incumbent';
import { t } from '../../base/strings';
import { shownCandidate, type Store } from '../../base/store';
import { makeSliceBar, sliceAt } from './bar';
import { cutCells, cutRows, type CutRow } from './cuts';
import { makeCutEditor } from './editor';
import { busiestStage, groupScheme, schemeText, sliceLines, sliceRows, type SchemeGroup, type SliceRow } from './groups';
import { makeInvitation } from './invitation';
import { whyText } from './words';
import { say } from '../../../src/core/sentence';

/** More different chunks than this are only listed in the table. */
const mostBars = 12;

/** The slices tab: the batch as the paper draws it, what was proved, and every slice in a table. */
export function makeSlicesView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  const why = h('p', { class: 'slices-why' });
  const invitation = makeInvitation(store);
  const editor = makeCutEditor(store);
  const bars = h('div', { class: 'slice-groups' });
  const proof = h('div', { class: 'proof' });
  const cuts = makePagedTable();
  const cutSection = h('section', { ...partAttributes, class: 'table-twin cuts', 'aria-label': t('Baselines') }, cuts.element);
  const table = makePagedTable();
  const tableSection = h('section', { ...partAttributes, class: 'table-twin slice-table', 'aria-label': t('Slices') }, table.element);
  const element = h('div', { class: 'slices-view' }, why, invitation.element, editor.element, bars, proof, cutSection, tableSection);
  let shown: Candidate | null = null;
  const update = (): void => {
    const { plan } = store.state();
    if (plan === null) return;
    const candidate = shownCandidate(plan, store.view());
    if (candidate === shown) return;
    shown = candidate;
    const groups = groupScheme(candidate.scheme);
    const stage = busiestStage(candidate.busyMs);
    const rows = sliceRows(candidate.scheme, candidate.timeline, stage);
    const total = candidate.scheme.reduce((sum, chunk) => sum + chunk.tokens.length, 0);
    const isSliced = candidate.scheme.some(({ tokens }) => tokens.length > 1);
    why.textContent = whyText(groupRows(groups[0], groups, rows));
    invitation.element.hidden = isSliced;
    for (const part of [editor.element, proof, tableSection]) part.hidden = !isSliced;
    if (isSliced) editor.update(plan, candidate);
    else invitation.update(plan, candidate);
    fill(
      bars,
      h('p', { class: 'lead' }, h('code', {}, schemeText(groups.slice(0, mostBars)))),
      // One kind is what can be moved above.
      ...(isSliced && groups.length > 1 ? groups.slice(0, mostBars) : []).map((group) => groupBar(group, groupRows(group, groups, rows))),
      groups.length > mostBars ? h('p', { class: 'hint' }, t('{0} more kinds of chunk are in the table.', groups.length - mostBars)) : null,
      isSliced
        ? h(
            'p',
            { class: 'hint' },
            t(
              '{0} in {1}. Width is tokens, a stronger shade takes longer.',
              plural(total, t('slice'), t('slices')),
              plural(candidate.scheme.length, t('batch chunk'), t('batch chunks')),
            ),
          )
        : null,
    );
    const { certificate } = candidate;
    fill(proof, ...proofContent(certificate));
    cutSection.hidden = certificate === null || !isSliced;
    if (certificate !== null) showCuts(cuts, cutRows(certificate, candidate.scheme));
    showTable(table, rows, stage, groups.length > 1);
  };
  return { element, update };
}

function groupRows(group: SchemeGroup | undefined, groups: readonly SchemeGroup[], rows: readonly SliceRow[]): readonly SliceRow[] {
  if (group === undefined) return [];
  const before = groups.slice(0, groups.indexOf(group)).reduce((sum, { chunk }) => sum + chunk.tokens.length, 0);
  return rows.slice(before, before + group.chunk.tokens.length);
}

function groupBar({ chunk, times }: SchemeGroup, rows: readonly SliceRow[]): HTMLElement {
  const bar = makeSliceBar(() => rows);
  const tooltip = makeTooltip();
  bar.canvas.addEventListener('pointermove', (event) => {
    const { width } = bar.canvas.getBoundingClientRect();
    const { x, y } = pointIn(bar.canvas, event);
    const slice = sliceAt(rows, x, width);
    tooltip.show(slice === null ? [] : sliceLines(slice), x, y, width, 400);
  });
  bar.canvas.addEventListener('pointerleave', tooltip.hide);
  const name = t('{0} × {1}', plural(times, t('chunk'), t('chunks')), plural(chunk.batch, t('sequence'), t('sequences')));
  const label = t('{0}, each cut into {1}', name, plural(chunk.tokens.length, t('slice'), t('slices')));
  return h(
    'div',
    { class: 'slice-group' },
    h('div', { class: 'slice-name' }, label),
    h('div', { class: 'slice-canvas', role: 'img', 'aria-label': label }, bar.canvas, tooltip.element),
  );
}

function proofContent(certificate: Certificate | null): HTMLElement[] {
  if (certificate === null) return [h('p', { class: 'hint' }, t('This scheme was given, not optimized; there is nothing to prove.'))];
  const { optimumMs, lowerBoundMs, evaluations, judgedBy, note } = certificate;
  const proved = isProved(optimumMs, lowerBoundMs);
  const gap = proved ? 0 : 1 - lowerBoundMs / optimumMs;
  const optimal = judgedBy === 'simulation' ? t('Proved optimal by equation 5') : t('Proved optimal');
  const pair = (name: string, value: string): HTMLElement => h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value));
  return [
    h('h2', {}, icon(proved ? 'check' : 'information'), proved ? optimal : t('Within {0} of the optimum', formatPercent(gap))),
    h(
      'dl',
      { class: 'pairs' },
      pair(t('Found, per step'), formatDuration(optimumMs)),
      pair(t('Lower bound, per step'), formatDuration(lowerBoundMs)),
      pair(t('Gap'), proved ? '0 %' : formatPercent(gap)),
      pair(t('Judged by'), judgedBy === 'formula' ? t('equation 5') : t('simulation')),
      pair(judgedBy === 'makespan' ? t('Parts bounded') : t('Thresholds solved'), formatCount(evaluations)),
    ),
    h('p', { class: 'hint' }, sentence(say(note, t))),
  ];
}

function showCuts(table: ReturnType<typeof makePagedTable>, rows: readonly CutRow[]): void {
  table.show({
    caption: t('Baselines, by the same objective'),
    columns: [
      { title: t('Cut'), numeric: false },
      { title: t('Slices'), numeric: true },
      { title: t('Latency'), numeric: true },
      { title: t('Longer by'), numeric: true },
    ],
    total: rows.length,
    rows: ({ first, end }) => rows.slice(first, end).map(cutCells),
    marked: rows.findIndex(({ rule }) => rule === 'solved'),
  });
}

function showTable(table: ReturnType<typeof makePagedTable>, rows: readonly SliceRow[], stage: number, several: boolean): void {
  const ms = (value: number | null): string => (value === null ? '–' : column.number(value));
  table.show({
    caption: t('Slices, timed on stage {0}, the busiest', stage),
    columns: [
      ...(several
        ? [
            { title: t('Chunks'), numeric: true },
            { title: t('Sequences'), numeric: true },
          ]
        : []),
      { title: t('Slice'), numeric: true },
      { title: t('Tokens'), numeric: true },
      { title: t('Context'), numeric: true },
      { title: t('Forward, ms'), numeric: true },
      { title: t('Backward, ms'), numeric: true },
    ],
    total: rows.length,
    rows: ({ first, end }) =>
      rows
        .slice(first, end)
        .map((row) => [
          ...(several ? [formatCount(row.times), formatCount(row.batch)] : []),
          String(row.slice),
          formatCount(row.tokens),
          formatCount(row.context),
          ms(row.forwardMs),
          ms(row.backwardMs),
        ]),
    marked: null,
  });
}
