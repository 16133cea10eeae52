import { fullAnswer, type ComparisonAnswer, type PageComparison } from '../../../src/features/compare/protocol';
import type { ComparisonAct } from '../../../src/protocol/page';
import { fill, h } from '../../base/dom';
import { makePagedTable, type TableContent, rowsBelowPicture } from '../../base/paged-table';
import { errorNotice } from '../../shared/notices';
import { whenChanged } from '../../shared/when-changed';
import { makeRunningStrip } from '../../shared/running-strip';
import { t } from '../../base/strings';
import type { PageAction } from '../../base/actions';
import type { Change, Store } from '../../base/store';
import { isDrawn, tellingStage } from './compared-sides';
import { makeComparisonHead } from './comparison-head';
import { makeComparedLanes, type ComparedLanes } from './lanes';
import { makePassTable } from './passes';
import { comparisonSettings } from './settings';
import { figureTables, stageTable, transferTable } from './tables';
import { badges } from './labels';
import { say } from '../../../src/core/sentence';

/** The plan compared with another one or a measured run: sentences, both timelines, and tables. */
interface ComparisonView {
  readonly element: HTMLElement;
  readonly update: (change: Change | null) => void;
  /** Does what a command asks of the page. */
  readonly act: (action: PageAction) => void;
}

/** Makes the view. */
export function makeComparison(store: Store): ComparisonView {
  const post = (what: ComparisonAct) => (): void => store.host.post({ type: 'comparison', act: what });
  const lanes = makeComparedLanes(store);
  const head = makeComparisonHead(store, lanes, post);
  const found = makeAnswerView(store, lanes);
  const strip = makeRunningStrip<NonNullable<PageComparison['running']>>(
    'compared-running',
    t('Comparing'),
    ({ fraction }) => (fraction === null ? t('Comparing.') : t('Reading the measured run.')),
    post('cancel'),
  );
  const notices = h('div', { class: 'compared-notices' });
  const whenOther = whenChanged();
  const element = h('section', { class: 'compared', 'aria-label': t('Comparison') }, head.element, strip.element, notices, found.element);
  const update = (change: Change | null): void => {
    const { comparison = null } = store.state();
    element.hidden = comparison === null;
    if (comparison === null) return;
    const { running, error } = comparison;
    const answer = fullAnswer(comparison);
    head.update(comparison, answer);
    strip.update(running);
    whenOther(error, () => fill(notices, error === null ? null : errorNotice(error, store.host)));
    found.element.hidden = answer === null;
    if (answer !== null) found.update(answer, change);
  };
  return { element, update, act: (action) => ((store.state().comparison ?? null) === null ? undefined : lanes.act(action)) };
}

/** What a comparison found: sentences, both timelines and tables. */
function makeAnswerView(store: Store, lanes: ComparedLanes) {
  const passes = makePassTable((side, operation) => lanes.goTo(side, operation));
  const [stages, transfers] = [makePagedTable(rowsBelowPicture), makePagedTable()];
  const sentences = h('ul', { class: 'reasons compared-sentences' });
  const figures = h('div', { class: 'compared-figures' });
  const undrawn = h('p', { class: 'hint' });
  const folded = (title: string, content: HTMLElement): HTMLDetailsElement =>
    h('details', { class: 'disclosure compared-section' }, h('summary', {}, title), content);
  const stageSection = folded(t('Stages'), stages.element);
  const transferSection = folded(t('Transfers between stages'), transfers.element);
  const tables = h('div', { class: 'compared-tables' }, stageSection, transferSection);
  const element = h('div', { class: 'compared-found' }, sentences, lanes.element, undrawn, passes.element, figures, tables);
  const changes = { answer: whenChanged(), lanes: whenChanged(), stages: whenChanged(), passes: whenChanged() };
  const showTable = (section: HTMLElement, paged: typeof stages, content: TableContent | null): void => {
    section.hidden = content === null;
    if (content !== null) paged.show(content);
  };
  const update = (answer: ComparisonAnswer, change: Change | null): void => {
    const { table: isTable } = store.view();
    const { pass, stage: picked } = store.get(comparisonSettings);
    changes.answer(answer.id, () => {
      fill(sentences, ...answer.sentences.map((sentence) => h('li', {}, say(sentence, t))));
      fill(figures, ...figureTables(answer));
      showTable(transferSection, transfers, transferTable(answer));
      stageSection.open = answer.reported.kind !== 'plan';
      undrawn.textContent = undrawnText(answer);
      undrawn.hidden = undrawn.textContent === '';
    });
    const stage = picked ?? tellingStage(answer);
    const ofStages = (): TableContent | null => stageTable(answer, stage, (next) => pickStage(store, next));
    changes.stages([answer.id, stage], () => showTable(stageSection, stages, ofStages()));
    let isNew = change === null;
    changes.lanes(answer.id, () => (isNew = true));
    lanes.update(answer, isNew);
    passes.element.hidden = !isTable || !isDrawn(answer);
    if (!passes.element.hidden) changes.passes([answer.id, stage, pass], () => passes.update(answer, stage ?? 0, pass));
  };
  return { element, update };
}

/** Why nothing, or only one side, is drawn; empty where both are. */
function undrawnText(answer: ComparisonAnswer): string {
  if (answer.reported.kind === 'times') return t('Measured times have no timeline: only the predicted one is shown.');
  const missing = (['a', 'b'] as const).filter((side) => answer[side].timeline === null);
  return missing.length === 0 ? '' : t('{0} has more operations than are drawn.', missing.map((side) => badges(answer)[side]).join(', '));
}

function pickStage(store: Store, stage: number): void {
  store.set(comparisonSettings, { ...store.get(comparisonSettings), stage, pass: null });
}
