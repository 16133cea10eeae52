import { plural } from '../../../src/core/format';
import { fullAnswer, type ComparisonAnswer, type PageComparison } from '../../../src/protocol/comparison';
import type { ComparisonAct } from '../../../src/protocol/page';
import { fill, h } from '../../base/dom';
import { makePagedTable, type TableContent } from '../../base/paged-table';
import { errorNotice } from '../../shared/notices';
import { onlyNew } from '../../shared/announce-new';
import { makeRunningStrip } from '../../shared/running-strip';
import { t } from '../../base/strings';
import type { Change, Store } from '../../base/store';
import { button, iconButton, setPressed } from '../../base/ui';
import { partingPass, sideOperations, tellingStage } from './compared-sides';
import { makeComparedLanes } from './lanes';
import type { SideId } from './view-settings';
import { makePassTable } from './passes';
import { figureTables, stageTable, transferTable } from './tables';
import { badges, otherName, sideName } from './labels';

/** The plan beside another one or beside a measured run: sentences, both timelines, and tables. */
export interface ComparisonView {
  readonly element: HTMLElement;
  readonly update: (change: Change | null) => void;
  /** Does what a letter typed anywhere on the page asks for. */
  readonly type: (event: KeyboardEvent) => void;
}

/** Makes the view; `onHelp` opens the list of keys. */
export function makeComparison(store: Store, onHelp: () => void): ComparisonView {
  const act = (what: ComparisonAct) => (): void => store.host.post({ type: 'comparison', act: what });
  const secondary = (label: string, onClick: () => void): HTMLElement => button({ label, appearance: 'secondary', onClick });
  const lanes = makeComparedLanes(store, onHelp);
  const passes = makePassTable((side, operation) => lanes.goTo(side, operation));
  const [stages, transfers] = [makePagedTable(), makePagedTable()];
  const swap = secondary(t('Swap'), act('swap'));
  const again = secondary(t('Compare again'), act('again'));
  const fit = iconButton({ icon: 'fit', label: t('Zoom to fit'), onClick: lanes.fit });
  const table = iconButton({
    icon: 'table',
    label: t('Show passes as a table'),
    onClick: () => store.setView({ table: !store.view().table }),
  });
  const parting = secondary(t('Show where they diverge'), () => {
    const answer = fullAnswer(store.state().comparison);
    const side = answer === null ? null : (['b', 'a'] as const).find((each) => partingPass(answer, each) !== null);
    const pass = answer === null || side === null || side === undefined ? null : partingPass(answer, side);
    if (side !== null && side !== undefined && pass !== null) lanes.goTo(side, pass);
  });
  const title = h('h2', { class: 'compared-title' });
  const stale = h('span', { class: 'stale', role: 'status' });
  const head = h(
    'div',
    { class: 'compared-head' },
    title,
    stale,
    h('div', { class: 'compared-actions' }, parting, fit, table, again, swap, secondary(t('Close'), act('close'))),
  );
  const strip = makeRunningStrip<NonNullable<PageComparison['running']>>(
    'compared-running',
    t('Comparing'),
    ({ fraction }) => (fraction === null ? t('Comparing.') : t('Reading the measured run.')),
    act('cancel'),
  );
  const notices = h('div', { class: 'compared-notices' });
  const sentences = h('ul', { class: 'reasons compared-sentences' });
  const figures = h('div', { class: 'compared-figures' });
  const undrawn = h('p', { class: 'hint' });
  const stageSection = h('section', { class: 'compared-section' }, stages.element);
  const transferSection = h('section', { class: 'compared-section' }, transfers.element);
  const found = h(
    'div',
    { class: 'compared-found' },
    sentences,
    lanes.element,
    undrawn,
    passes.element,
    figures,
    h('div', { class: 'compared-tables' }, stageSection, transferSection),
  );
  const element = h('section', { class: 'compared', 'aria-label': t('Comparison') }, head, strip.element, notices, found);
  const changes = { title: onlyNew(), notices: onlyNew(), answer: onlyNew(), lanes: onlyNew(), stages: onlyNew(), passes: onlyNew() };

  const showTable = (section: HTMLElement, paged: typeof stages, content: TableContent | null): void => {
    section.hidden = content === null;
    if (content !== null) paged.show(content);
  };
  const showAnswer = (answer: ComparisonAnswer, change: Change | null): void => {
    const { comparisonSettings, table: isTable } = store.view();
    const { pass } = comparisonSettings;
    changes.answer(answer.id, () => {
      fill(sentences, ...answer.sentences.map((said) => h('li', {}, said)));
      fill(figures, ...figureTables(answer));
      showTable(transferSection, transfers, transferTable(answer));
      undrawn.textContent = undrawnText(answer);
      undrawn.hidden = undrawn.textContent === '';
    });
    const stage = comparisonSettings.stage ?? tellingStage(answer);
    changes.stages([answer.id, stage], () =>
      showTable(
        stageSection,
        stages,
        stageTable(answer, stage, (picked) => pickStage(store, picked)),
      ),
    );
    let isNew = change === null;
    changes.lanes(answer.id, () => (isNew = true));
    lanes.update(answer, isNew);
    const isDrawn = (['a', 'b'] as const).some((side: SideId) => sideOperations(answer, side) !== null);
    passes.element.hidden = !isTable || !isDrawn;
    if (!passes.element.hidden) changes.passes([answer.id, stage, pass], () => passes.update(answer, stage ?? 0, pass));
    fit.hidden = !isDrawn;
    table.hidden = !isDrawn;
    setPressed(table, isTable);
    parting.hidden = partingPass(answer, 'b') === null;
  };
  const update = (change: Change | null): void => {
    const { comparison } = store.state();
    element.hidden = comparison === null;
    if (comparison === null) return;
    const { running, staleEdits, error } = comparison;
    const answer = fullAnswer(comparison);
    changes.title([comparison.other, answer?.id], () => fill(title, ...titleOf(comparison, answer)));
    strip.update(running);
    stale.textContent = answer === null || staleEdits === 0 ? '' : t('from {0} ago', plural(staleEdits, t('edit'), t('edits')));
    changes.notices(error, () => fill(notices, error === null ? null : errorNotice(error, store.host)));
    swap.hidden = comparison.other.role === 'measured' || answer === null;
    again.hidden = running !== null || (answer !== null && staleEdits === 0 && comparison.other.role === 'config');
    found.hidden = answer === null;
    for (const each of [parting, fit, table]) each.hidden = answer === null;
    if (answer !== null) showAnswer(answer, change);
  };
  return { element, update, type: (event) => (store.state().comparison === null ? undefined : lanes.type(event)) };
}

function titleOf({ other }: PageComparison, answer: ComparisonAnswer | null): (HTMLElement | string)[] {
  if (answer === null) return [t('Compared with {0}', otherName(other))];
  const names = badges(answer);
  const side = (id: SideId): HTMLElement =>
    h(
      'span',
      { class: 'compared-side', title: answer[id].file },
      h('span', { class: 'tag' }, names[id]),
      h('span', { class: 'compared-name' }, sideName(answer[id])),
    );
  return [side('a'), h('span', { class: 'compared-against' }, t('against')), side('b')];
}

/** Why nothing, or one side alone, is drawn; empty where both are. */
function undrawnText(answer: ComparisonAnswer): string {
  if (answer.reported.kind === 'times') return t('Measured times have no timeline: the predicted one stands alone.');
  const missing = (['a', 'b'] as const).filter((side) => answer[side].timeline === null);
  return missing.length === 0 ? '' : t('{0} has more operations than are drawn.', missing.map((side) => badges(answer)[side]).join(', '));
}

function pickStage(store: Store, stage: number): void {
  store.setView({ comparisonSettings: { ...store.view().comparisonSettings, stage, pass: null } });
}
