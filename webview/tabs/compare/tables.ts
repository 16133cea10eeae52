import type { PredictedMeasured } from '../../../src/features/compare/core/against-trace';
import type { PlanComparison, PlanOutcome } from '../../../src/features/compare/core/plans';
import { column, formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatRate } from '../../../src/core/format';
import { verdictWord } from '../../../src/core/memory-model/verdict';
import { worthARow } from '../../../src/core/planner/explain/limit-labels';
import type { ComparisonAnswer, ReportedComparison } from '../../../src/features/compare/protocol';
import { h, type Child } from '../../base/dom';
import type { Column, TableContent } from '../../base/paged-table';
import { t } from '../../base/strings';
import { requestName, badges, comparedPartName, signed } from './labels';
import { say } from '../../../src/core/sentence';

/** What comes out, where the step goes, and what was asked for: of two plans. Of a measured run the step and the bubble. */
export function figureTables(answer: ComparisonAnswer): HTMLElement[] {
  const { reported } = answer;
  const names = badges(answer);
  const heads = [names.a, names.b];
  if (reported.kind !== 'plan') return [section(t('What comes out'), [...heads, t('Measured − predicted')], measuredRows(reported), '', 6)];
  const apart = t('B − A');
  return [
    section(t('What comes out'), [...heads, apart], outcomeRows(reported), '', Infinity),
    section(t('Step time, mean of all stages'), [...heads, apart], partRows(reported), 'compared-parts'),
    reported.requestDiff.length === 0
      ? h(
          'section',
          { class: 'compared-section' },
          h('h2', {}, t('Differences in the request')),
          h('p', { class: 'hint' }, t('None: both requests are the same.')),
        )
      : section(t('Differences in the request'), heads, requestRows(reported), 'compared-asked'),
  ];
}

type Row = readonly [name: Child, ...cells: readonly Child[]];

/** Rows that are listed before the others are asked for. */
const listedRows = 4;

function section(title: string, heads: readonly string[], rows: readonly Row[], className = '', most = listedRows): HTMLElement {
  const others = rows.length > most + 1 ? rows.slice(most) : [];
  const rest = h('tbody', { hidden: true }, ...others.map(tableRow));
  const showAll = (): void => {
    rest.hidden = false;
    all.hidden = true;
  };
  const all = h('button', { class: 'link', type: 'button', onclick: showAll }, t('All {0}', rows.length));
  return h(
    'section',
    { class: `compared-section ${className}` },
    h('h2', {}, title),
    h(
      'table',
      { 'aria-label': title },
      h('thead', {}, h('tr', {}, h('td', {}), ...heads.map((head) => h('th', { scope: 'col', class: 'numeric' }, head)))),
      h('tbody', {}, ...rows.slice(0, rows.length - others.length).map(tableRow)),
      rest,
    ),
    others.length === 0 ? null : all,
  );
}

function tableRow([name, ...cells]: Row): HTMLElement {
  return h('tr', {}, h('th', { scope: 'row' }, name), ...cells.map((cell) => h('td', { class: 'numeric' }, cell)));
}

function outcomeRows({ a, b }: PlanComparison): Row[] {
  const row = (name: string, of: (plan: PlanOutcome) => string, apart: string): Row => [name, of(a), of(b), apart];
  const rate = (name: string, of: (plan: PlanOutcome) => number): Row =>
    row(name, (plan) => formatRate(of(plan)), signed(of(b) - of(a), formatRate));
  const perGpu = ({ tokensPerSecond, gpus }: PlanOutcome): number => tokensPerSecond / gpus;
  const isSame = a.gpus === b.gpus;
  return [
    ...(isSame ? [] : [row(t('GPUs'), ({ gpus }) => formatCount(gpus), signed(b.gpus - a.gpus, formatCount))]),
    row(t('Step'), ({ iterationMs }) => formatDuration(iterationMs), signed(b.iterationMs - a.iterationMs, formatDuration)),
    row(t('Likely within'), ({ errorPercent }) => `± ${formatNumber(errorPercent)} %`, ''),
    rate(t('Tokens/s'), ({ tokensPerSecond }) => tokensPerSecond),
    ...(isSame ? [] : [rate(t('Tokens/s per GPU'), perGpu)]),
    row(t('Bubble'), ({ bubbleRate }) => formatPercent(bubbleRate), points(b.bubbleRate - a.bubbleRate)),
    row(t('MFU'), ({ mfu }) => formatPercent(mfu), points(b.mfu - a.mfu)),
    row(t('Peak memory'), memoryText, signed(b.peakBytes - a.peakBytes, formatBytes)),
  ];
}

function memoryText({ peakBytes, fits }: PlanOutcome): string {
  return fits ? formatBytes(peakBytes) : `${formatBytes(peakBytes)}, ${say(verdictWord({ fits, tight: false }), t)}`;
}

/** A difference of two shares, in percentage points. */
function points(by: number): string {
  return signed(100 * by, (amount) => t('{0} points', formatNumber(amount)));
}

function partRows({ parts, a, b }: PlanComparison): Row[] {
  const longest = Math.max(a.iterationMs, b.iterationMs);
  const bar = (ms: number, isIdle: boolean): HTMLElement => {
    const element = h('span', { class: isIdle ? 'layout-bar layout-bar-idle' : 'layout-bar' });
    element.style.width = `${(100 * Math.max(0, ms)) / longest}%`;
    return element;
  };
  return parts
    .filter(({ aMs, bMs }) => Math.max(aMs, bMs) >= worthARow * longest)
    .toSorted((one, other) => Math.abs(other.bMs - other.aMs) - Math.abs(one.bMs - one.aMs))
    .map(({ part, aMs, bMs }) => [
      h(
        'span',
        { class: 'compared-part' },
        comparedPartName(part),
        h('span', { class: 'compared-bars', 'aria-hidden': 'true' }, bar(aMs, part === 'bubble'), bar(bMs, part === 'bubble')),
      ),
      column.duration(Math.max(0, aMs)),
      column.duration(Math.max(0, bMs)),
      signed(bMs - aMs, column.duration),
    ]);
}

function requestRows({ requestDiff }: PlanComparison): Row[] {
  return requestDiff.map(({ key, a, b }) => {
    const name = requestName(key);
    return [name === key ? h('code', {}, key) : name, a, b];
  });
}

function measuredRows(run: Exclude<ReportedComparison, PlanComparison>): Row[] {
  const row = (name: string, { predictedMs, measuredMs }: PredictedMeasured): Row => [
    name,
    column.duration(predictedMs),
    column.duration(measuredMs),
    signed(measuredMs - predictedMs, column.duration),
  ];
  const bar: Row = [t('Likely within'), `± ${formatNumber(run.errorPercent)} %`, '', ''];
  if (run.kind === 'trace')
    return [
      row(t('Pipeline'), run.pipeline),
      bar,
      [
        t('Bubble'),
        formatPercent(run.bubble.predicted),
        formatPercent(run.bubble.measured),
        points(run.bubble.measured - run.bubble.predicted),
      ],
      ...(run.exchange === null ? [] : [row(t('Gradient exchange'), run.exchange)]),
      ...(run.optimizer === null ? [] : [row(t('Optimizer'), run.optimizer)]),
      ...run.memory.map(({ stage, predictedBytes, measuredBytes }): Row => [
        t('Peak memory of stage {0}', stage),
        formatBytes(predictedBytes),
        formatBytes(measuredBytes),
        signed(measuredBytes - predictedBytes, formatBytes),
      ]),
    ];
  const { step, steady } = run;
  return [
    ...(step === null ? [] : [row(t('Step'), step), bar]),
    ...(steady === null
      ? []
      : [[t('Half of the steps'), '', t('{0} to {1}', formatDuration(steady.lowMs), formatDuration(steady.highMs)), ''] satisfies Row]),
  ];
}

/** Every stage on both sides; `onRow` looks at one. */
export function stageTable(answer: ComparisonAnswer, marked: number | null, onRow: (stage: number) => void): TableContent | null {
  const { reported } = answer;
  const of = reported.kind === 'plan' ? planStages(reported) : measuredStages(reported);
  if (of.stages.length === 0) return null;
  const at = of.stages.indexOf(marked ?? -1);
  return {
    caption:
      reported.kind === 'plan' ? t('Busy time and peak memory of every stage') : t('Mean pass of every stage, predicted and measured'),
    columns: of.columns,
    total: of.stages.length,
    rows: (page) => of.stages.slice(page.first, page.end).map((_, index) => of.cells(page.first + index)),
    marked: at < 0 ? null : at,
    onRow: (index) => onRow(of.stages[index] ?? 0),
  };
}

interface StageRows {
  readonly stages: readonly number[];
  readonly columns: readonly Column[];
  readonly cells: (index: number) => Child[];
}

function numeric(title: string, className = ''): Column {
  return { title, numeric: true, className };
}

function planStages({ stages }: PlanComparison): StageRows {
  const pair = (of: PlanComparison['stages'][number]['a']): string[] =>
    of === null ? ['', ''] : [column.duration(of.busyMs), column.bytes(of.peakBytes)];
  return {
    stages: stages.map(({ stage }) => stage),
    columns: [
      { title: t('Stage'), numeric: false },
      numeric(t('A busy')),
      numeric(t('A peak')),
      numeric(t('B busy')),
      numeric(t('B peak')),
    ],
    cells: (index) => {
      const row = stages[index];
      return row === undefined ? [] : [formatCount(row.stage), ...pair(row.a), ...pair(row.b)];
    },
  };
}

function measuredStages({ stages, straggler }: Exclude<ReportedComparison, PlanComparison>): StageRows {
  const both = (times: PredictedMeasured | null): string[] =>
    times === null ? ['', ''] : [column.duration(times.predictedMs), column.duration(times.measuredMs)];
  return {
    stages: stages.map(({ stage }) => stage),
    columns: [
      { title: t('Stage'), numeric: false },
      numeric(t('Forward')),
      numeric(t('measured')),
      numeric(t('Backward')),
      numeric(t('measured')),
      numeric(t('Measured / predicted')),
    ],
    cells: (index) => {
      const row = stages[index];
      if (row === undefined) return [];
      const name = h(
        'span',
        {},
        formatCount(row.stage),
        row.stage === straggler ? h('span', { class: 'tag compared-straggler' }, t('straggler')) : null,
      );
      return [name, ...both(row.forward), ...both(row.backward), `${column.number(row.ratio)}x`];
    },
  };
}

/** From a pass to the one on a neighbouring stage that waits for it; null where a run does not show it. */
export function transferTable({ reported }: ComparisonAnswer): TableContent | null {
  if (reported.kind !== 'trace' || reported.transfers.length === 0) return null;
  const { transfers } = reported;
  return {
    caption: t('From the end of a pass to the one that waits for it, means'),
    columns: [{ title: t('Stages'), numeric: false }, numeric(t('Predicted')), numeric(t('Measured')), numeric(t('Waits'))],
    total: transfers.length,
    rows: (page) =>
      transfers
        .slice(page.first, page.end)
        .map(({ from, to, predictedMs, measuredMs, waits }) => [
          t('{0} to {1}', formatCount(from), formatCount(to)),
          column.duration(predictedMs),
          column.duration(measuredMs),
          formatCount(waits),
        ]),
    marked: null,
  };
}
