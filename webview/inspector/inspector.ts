import { column, formatBytes, formatCount, formatDuration, formatPercent, plural } from '../../src/core/format';
import { runtimeProfile, type RuntimeProfile } from '../../src/core/domain/runtime';
import { lengthsText } from '../../src/core/plan-request/scenario';
import type { Candidate, Plan } from '../../src/core/planner/plan';
import { operationPart } from '../../src/core/schedules/parts';
import type { SteppedSchedule } from '../../src/core/schedules/pytorch-csv/schedule-file';
import type { WorkUnit } from '../../src/core/schedules/schedule';
import type { PageState } from '../../src/protocol/page';
import { stepCosts } from '../../src/core/planner/explain/limit-labels';
import { fill, h, type Child } from '../base/dom';
import { partAttributes } from '../base/parts';
import { stepPartNames } from '../../src/core/planner/explain/step-part-names';
import { idleTable } from './idle-table';
import { makeDisclosures } from '../shared/disclosures';
import { planAssumptions, findingCount, findingList, provenance, reasonList } from '../shared/reasons';
import { capitalised } from '../shared/sentence';
import { t } from '../base/strings';
import { shownCandidate, shownDrawn, type Drawn, type Store } from '../base/store';
import type { MemoryProfile } from '../../src/core/memory-model/profile';
import type { IdleTimes } from '../../src/core/schedules/simulate/gaps';
import { idleInRange, peakInRange } from '../charts/lanes/range';
import { operationWait } from '../charts/lanes/dependencies';
import { operationAt, sumRange, type Operation, type Operations } from '../base/operations';
import { copyTexts, copyWaitText, kindName, momentText, operationName, startText, timeText } from '../charts/lanes/labels';
import type { Selection, ViewState } from '../base/view-state';
import { idleDetails, rangeIdle } from './idle';
import { say } from '../../src/core/sentence';

const kindClasses = ['forward', 'backward', 'weight'] as const;

type Pair = readonly [name: string, value: string];

/**
 * Details of what is selected, else of the step; below it why this plan, the findings and the assumptions.
 * @param isSelecting whether what is on screen has the selection; other tabs have the step
 */
export function makeInspector(
  store: Store,
  isSelecting: () => boolean,
  goTo: (operation: Operation) => void,
): { readonly element: HTMLElement; readonly update: () => void } {
  const selection = h('section', { class: 'inspector-selection', 'aria-live': 'polite' });
  const rest = h('div', { class: 'inspector-rest' });
  const element = h('section', { class: 'inspector', ...partAttributes, 'aria-label': t('Details') }, selection, rest);
  const disclosure = makeDisclosures();
  let described: unknown = null;
  const update = (): void => {
    const state = store.state();
    const drawn = shownDrawn(state, store.view());
    if (drawn === null) return;
    const selected = isSelecting() ? selectionDetails(drawn, store.view().selection, goTo) : null;
    fill(selection, ...(selected ?? wholeDetails(state, store.view())));
    if (described === state) return;
    described = state;
    fill(rest, ...restSections(state, store, disclosure));
  };
  return { element, update };
}

function restSections(state: PageState, { host }: Store, disclosure: ReturnType<typeof makeDisclosures>): HTMLElement[] {
  const { plan, schedule } = state;
  const found = section(findingCount(state), findingList(state, host));
  if (schedule !== null) return [...section(t('Idle steps'), idleTable(schedule)), ...found];
  if (plan === null) return found;
  const folded = (key: string, title: string, content: HTMLElement | null): HTMLElement[] =>
    content === null ? [] : [disclosure(key, title, content, false)];
  return [
    ...found,
    ...section(t('Confidence'), provenance(plan)),
    ...folded('reasons', t('Why this plan'), reasonList(plan)),
    ...folded('assumptions', t('Assumptions'), planAssumptions(plan, state, host)),
  ];
}

function section(title: string, content: HTMLElement | null): HTMLElement[] {
  return content === null ? [] : [h('section', {}, h('h2', {}, title), content)];
}

function selectionDetails(
  { operations, idle, memory }: Pick<Drawn, 'operations' | 'idle' | 'memory'>,
  selection: Selection | null,
  goTo: (operation: Operation) => void,
): Child[] | null {
  if (selection === null || operations === null) return null;
  if (selection.type === 'range') return rangeDetails(operations, idle, memory, selection);
  const row = operations.findRow(selection.chunk, selection.kind, selection.unit);
  return row < 0 ? null : operationDetails(operations, operationAt(operations, row), goTo);
}

function wholeDetails({ plan, schedule }: PageState, view: ViewState): Child[] {
  if (schedule !== null) return scheduleDetails(schedule);
  if (plan === null) return [];
  const candidate = shownCandidate(plan, view);
  return [...stepDetails(plan, candidate), ...costDetails(plan, candidate, view.stage), ...idleDetails(candidate, view.stage)];
}

function scheduleDetails({ timeline, bubbleRate }: SteppedSchedule): Child[] {
  const rows: Pair[] = [
    [t('Ranks'), formatCount(timeline.stages)],
    [t('Stages'), formatCount(timeline.stageOfChunk.length)],
    [t('Micro-batches'), formatCount(timeline.units.length)],
    [t('Passes'), formatCount(timeline.kind.length)],
    [t('Length'), plural(timeline.makespanMs, t('step'), t('steps'))],
    [t('Bubble'), formatPercent(bubbleRate)],
  ];
  return [h('h2', {}, t('Schedule')), pairs(rows)];
}

function pairs(rows: readonly Pair[]): HTMLElement {
  return h('dl', { class: 'pairs' }, ...rows.map(([name, value]) => h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value))));
}

function stepDetails({ request }: Plan, candidate: Candidate): Child[] {
  const rows: Pair[] = [
    [t('Pipeline'), formatDuration(candidate.pipelineMs)],
    ...(request.layout.pipeline > 1 ? [[t('Sends'), sendsName(runtimeProfile(request.training))] as const] : []),
    [t('Gradient exchange'), formatDuration(candidate.gradientExchangeMs)],
    [t('Optimizer'), formatDuration(candidate.optimizerMs)],
    [t('Global batch'), t('{0} sequences', formatCount(request.training.globalBatch))],
    [t('Sequence'), say(lengthsText(request.training), t)],
  ];
  return [h('h2', {}, t('{0}, per step', capitalised(say(candidate.name, t)))), pairs(rows)];
}

/** How the stages of the planned runtime hand on, and whose way that is. */
function sendsName({ sends, name }: RuntimeProfile): string {
  const way = { blocking: t('blocking'), exchange: t('batched exchange'), asynchronous: t('asynchronous') }[sends];
  return t('{0}, {1}', way, name);
}

/** What the step of the chosen candidate goes to: the mean of all stages, or the selected stage. */
function costDetails(plan: Plan, candidate: Candidate, looked: number | null): Child[] {
  if (candidate.id !== plan.chosen || plan.partsByStage === null) return [];
  const stage = looked !== null && looked < plan.partsByStage.length ? looked : null;
  const title = stage === null ? t('Step time, mean of all stages') : t('Step time on stage {0}', stage);
  const rows = stepCosts(plan, candidate, stage).map(([part, share]) =>
    h(
      'div',
      { class: 'pair' },
      h('dt', {}, part === 'work' ? t('work') : capitalised(say(stepPartNames[part], t))),
      h('dd', {}, column.duration(share * candidate.iterationMs), h('span', { class: 'share' }, column.percent(share))),
    ),
  );
  return [h('h2', {}, title), h('dl', { class: 'pairs limits' }, ...rows)];
}

function operationDetails(operations: Operations, operation: Operation, goTo: (operation: Operation) => void): Child[] {
  const { unit, startMs, endMs } = operation;
  const { idleMs, on } = operationWait(operations, operation);
  const chunks = operations.timeline.stageOfChunk.length;
  const { ofFile } = operations;
  const time = (ms: number): string => timeText(operations, ms);
  const rows: Pair[] = [
    [ofFile ? t('Rank') : t('Stage'), t('{0} of {1}', operation.stage, operations.stages)],
    ...(ofFile || chunks > operations.stages
      ? [[ofFile ? t('Stage') : t('Chunk'), t('{0} of {1}', operation.chunk, chunks)] as const]
      : []),
    [t('Micro-batch'), String(unit.microBatch)],
    ...(ofFile ? [] : unitRows(unit, operations.sliced)),
    [t('Start'), momentText(operations, startMs, endMs - startMs)],
    [t('End'), momentText(operations, endMs, endMs - startMs)],
    [t('Duration'), time(endMs - startMs)],
    [t('Idle before'), idleMs > 0 ? time(idleMs) : t('none')],
  ];
  const copyWait = copyWaitText(operations, operation);
  const wait =
    on === null || copyWait !== null
      ? h('p', { class: 'hint' }, copyWait ?? startText(operations))
      : h(
          'p',
          { class: 'hint' },
          t('Waited for'),
          ' ',
          h('button', { class: 'link', type: 'button', 'data-focus': 'waited', onclick: () => goTo(on) }, operationName(operations, on)),
        );
  const copies = copyTexts(operations, operation).map((text) => h('p', { class: 'hint' }, text));
  return [h('h2', { class: `kind-${kindClasses[operationPart(operation.kind)]}` }, kindName(operation)), pairs(rows), wait, ...copies];
}

function unitRows({ slice, batch, tokens, context }: WorkUnit, sliced: boolean): Pair[] {
  return [
    ...(sliced ? [[t('Slice'), String(slice)] as const] : []),
    [t('Sequences'), formatCount(batch)],
    [t('Tokens'), formatCount(tokens)],
    [t('Context'), formatCount(context)],
  ];
}

function rangeDetails(
  operations: Operations,
  idle: IdleTimes | null,
  memory: MemoryProfile | null,
  range: Extract<Selection, { readonly type: 'range' }>,
): Child[] {
  const lastStage = Math.min(range.lastStage, operations.stages - 1);
  const firstStage = Math.min(range.firstStage, lastStage);
  const sums = sumRange(operations, range.startMs, range.endMs, firstStage, lastStage);
  const count = lastStage - firstStage + 1;
  const kept = { ...range, firstStage, lastStage };
  const peak = memory === null ? null : peakInRange(operations, memory, kept);
  const time = (ms: number): string => timeText(operations, ms);
  const rows: Pair[] = [
    [operations.ofFile ? t('Ranks') : t('Stages'), count === 1 ? String(firstStage) : t('{0} to {1}', firstStage, lastStage)],
    [t('From'), time(range.startMs)],
    [t('To'), time(range.endMs)],
    [t('Length'), time(range.endMs - range.startMs)],
    [t('Operations'), formatCount(sums.operations)],
    [t('Forward'), time(sums.forwardMs)],
    [t('Backward'), time(sums.backwardMs)],
    ...(sums.weightMs > 0 ? [[t('Weight gradients'), time(sums.weightMs)] as const] : []),
    [t('Idle'), time(sums.idleMs)],
    ...rangeIdle(idleInRange(operations, idle, kept)).map(([name, ms]) => [name, time(ms)] as const),
    [t('Idle share'), formatPercent(sums.idleShare)],
    ...(peak === null ? [] : [[t('Most memory, stage {0}', peak.stage), formatBytes(peak.bytes)] as const]),
  ];
  return [
    h('h2', {}, t('Selected range')),
    pairs(rows),
    h('p', { class: 'hint' }, operations.ofFile ? t('Sums over all selected ranks.') : t('Sums over all selected stages.')),
  ];
}
