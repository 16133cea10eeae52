import { formatCount, formatDuration, formatPercent } from '../../src/core/format';
import type { Candidate, Plan } from '../../src/core/planner/plan';
import { partOf } from '../../src/core/schedule/parts';
import { fill, h, type Child } from '../dom';
import { assumptionList, findingCount, findingList, provenance, reasonList } from '../shared/reasons';
import { capitalised } from '../shared/notices';
import { t } from '../strings';
import { operationsOf, shownCandidate, type Store } from '../store';
import { waitOf } from '../timeline/dependencies';
import { operationAt, sumRange, type Operation, type Operations } from '../timeline/operations';
import { kindName, operationName } from '../timeline/words';
import type { Selection } from '../view-state';

const kindClasses = ['forward', 'backward', 'weight'] as const;

type Pair = readonly [name: string, value: string];

/** Details of what is selected, else of the step; below it why this plan, the findings and the assumptions. */
export function makeInspector(
  store: Store,
  goTo: (operation: Operation) => void,
): { readonly element: HTMLElement; readonly update: () => void } {
  const selection = h('section', { class: 'inspector-selection', 'aria-live': 'polite' });
  const rest = h('div', { class: 'inspector-rest' });
  const element = h('aside', { class: 'inspector', 'aria-label': t('Details') }, selection, rest);
  let described: unknown = null;
  const update = (): void => {
    const state = store.state();
    if (state.plan === null) return;
    const candidate = shownCandidate(state.plan, store.view());
    fill(selection, ...selectionDetails(state.plan, candidate, store.view().selection, goTo));
    if (described === state) return;
    described = state;
    fill(
      rest,
      ...section(t('Why this plan'), reasonList(state.plan)),
      ...section(findingCount(state), findingList(state, store.host)),
      ...section(t('How sure'), provenance(state.plan)),
      ...section(t('Assumptions'), assumptionList(state.plan, state, store.host)),
    );
  };
  return { element, update };
}

function section(title: string, content: HTMLElement | null): HTMLElement[] {
  return content === null ? [] : [h('section', {}, h('h2', {}, title), content)];
}

function selectionDetails(plan: Plan, candidate: Candidate, selection: Selection | null, goTo: (operation: Operation) => void): Child[] {
  const operations = operationsOf(candidate);
  if (selection !== null && operations !== null) {
    if (selection.type === 'range') return rangeDetails(operations, selection);
    const row = operations.rowOf(selection.chunk, selection.kind, selection.unit);
    if (row >= 0) return operationDetails(operations, operationAt(operations, row), goTo);
  }
  return stepDetails(plan, candidate);
}

function pairs(rows: readonly Pair[]): HTMLElement {
  return h('dl', { class: 'pairs' }, ...rows.map(([name, value]) => h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value))));
}

function stepDetails({ request }: Plan, candidate: Candidate): Child[] {
  const rows: Pair[] = [
    [t('Pipeline'), formatDuration(candidate.pipelineMs)],
    [t('Gradient exchange'), formatDuration(candidate.gradientExchangeMs)],
    [t('Optimizer'), formatDuration(candidate.optimizerMs)],
    [t('Tokens per second'), formatCount(Math.round(candidate.tokensPerSecond))],
    [t('Model FLOP utilisation'), formatPercent(candidate.mfu)],
    [t('Global batch'), t('{0} sequences', formatCount(request.training.globalBatch))],
    [t('Sequence'), t('{0} tokens', formatCount(request.training.sequenceLength))],
  ];
  return [h('h2', {}, capitalised(candidate.name)), pairs(rows)];
}

function operationDetails(operations: Operations, operation: Operation, goTo: (operation: Operation) => void): Child[] {
  const { unit, startMs, endMs } = operation;
  const { idleMs, on } = waitOf(operations, operation);
  const chunks = operations.timeline.stageOfChunk.length;
  const rows: Pair[] = [
    [t('Stage'), t('{0} of {1}', operation.stage, operations.stages)],
    ...(chunks > operations.stages ? [[t('Chunk'), t('{0} of {1}', operation.chunk, chunks)] as const] : []),
    [t('Micro-batch'), String(unit.microBatch)],
    [t('Slice'), String(unit.slice)],
    [t('Sequences'), formatCount(unit.batch)],
    [t('Tokens'), formatCount(unit.tokens)],
    [t('Context'), formatCount(unit.context)],
    [t('Start'), formatDuration(startMs)],
    [t('End'), formatDuration(endMs)],
    [t('Duration'), formatDuration(endMs - startMs)],
    [t('Idle before'), idleMs > 0 ? formatDuration(idleMs) : t('none')],
  ];
  const wait =
    on === null
      ? h('p', { class: 'hint' }, t('Starts the step'))
      : h(
          'p',
          { class: 'hint' },
          t('Waited for'),
          ' ',
          h('button', { class: 'link', type: 'button', 'data-focus': 'waited', onclick: () => goTo(on) }, operationName(operations, on)),
        );
  return [h('h2', { class: `kind-${kindClasses[partOf(operation.kind)]}` }, kindName(operation)), pairs(rows), wait];
}

function rangeDetails(operations: Operations, range: Extract<Selection, { readonly type: 'range' }>): Child[] {
  const lastStage = Math.min(range.lastStage, operations.stages - 1);
  const firstStage = Math.min(range.firstStage, lastStage);
  const sums = sumRange(operations, range.startMs, range.endMs, firstStage, lastStage);
  const count = lastStage - firstStage + 1;
  const rows: Pair[] = [
    [t('Stages'), count === 1 ? String(firstStage) : t('{0} to {1}', firstStage, lastStage)],
    [t('From'), formatDuration(range.startMs)],
    [t('To'), formatDuration(range.endMs)],
    [t('Length'), formatDuration(range.endMs - range.startMs)],
    [t('Operations'), formatCount(sums.operations)],
    [t('Forward'), formatDuration(sums.forwardMs)],
    [t('Backward'), formatDuration(sums.backwardMs)],
    ...(sums.weightMs > 0 ? [[t('Weight gradients'), formatDuration(sums.weightMs)] as const] : []),
    [t('Idle'), formatDuration(sums.idleMs)],
    [t('Idle share'), formatPercent(sums.idleShare)],
  ];
  return [h('h2', {}, t('Selected range')), pairs(rows), h('p', { class: 'hint' }, t('Sums over all selected stages.'))];
}
