import { formatCount, formatDuration } from '../../../src/core/format';
import { fullAnswer, type ComparisonAnswer } from '../../../src/protocol/comparison';
import { h } from '../../base/dom';
import { ease } from '../../base/frame';
import { t } from '../../base/strings';
import { indexedTimeline, type Store } from '../../base/store';
import { edgeOf, movedBy, stepFrom } from '../timeline/navigate';
import { wirePointer } from '../timeline/input';
import { readKey, type KeyAction } from '../timeline/keys';
import { operationAt, type Operation, type Operations } from '../../base/operations';
import { makePane, type Pane, type Pointer } from '../timeline/pane';
import { between, clamp, fitAll, fitOperation, reveal, timeAt, type Extent, type Viewport } from '../../base/viewport';
import { idleAt, operationName, stageText, unitText } from '../timeline/labels';
import { gutters } from '../timeline/draw-frame';
import { isControl, takesLetters } from '../../base/ui';
import { counterpartOf } from './counterpart';
import type { ComparisonViewSettings, SideId } from './view-settings';
import { badges, sideCaption } from './labels';

/** Two timelines above each other on one time scale, their stages at the same height, zoomed and panned together. */
export interface ComparedLanes {
  readonly element: HTMLElement;
  /** `isNew`: the answer is another one. */
  readonly update: (answer: ComparisonAnswer, isNew: boolean) => void;
  readonly fit: () => void;
  /** Picks a pass and zooms to it. */
  readonly goTo: (side: SideId, operation: Operation) => void;
  readonly type: (event: KeyboardEvent) => void;
}

const zoomToFitMs = 120;
const sides = ['a', 'b'] as const;
const otherSide = { a: 'b', b: 'a' } as const;

/** The indexed timeline of a side; null where it has none. */
export function sideOperations(answer: ComparisonAnswer | null, side: SideId): Operations | null {
  const timeline = answer?.[side].timeline ?? null;
  return timeline === null ? null : indexedTimeline(timeline);
}

/** The stage to look at first: the straggler, else where measured and predicted part; null where two plans are compared. */
export function tellingStage({ reported }: ComparisonAnswer): number | null {
  if (reported.kind === 'plan') return null;
  return reported.straggler ?? (reported.kind === 'trace' ? (reported.firstLate?.stage ?? null) : null);
}

/** The pass of a side at which a trace is first later than the error bar allows. */
export function partingPass(answer: ComparisonAnswer, side: SideId): Operation | null {
  const { reported } = answer;
  const [predicted, measured] = [sideOperations(answer, 'a'), sideOperations(answer, 'b')];
  if (reported.kind !== 'trace' || reported.firstLate === null || predicted === null || measured === null) return null;
  const late = operationAt(measured, reported.firstLate.row);
  return side === 'b' ? late : counterpartOf(late, measured, predicted);
}

/** Makes the lanes; `onHelp` opens the list of keys. */
export function makeComparedLanes(store: Store, onHelp: () => void): ComparedLanes {
  const answer = (): ComparisonAnswer | null => fullAnswer(store.state().comparison);
  const operations = (side: SideId): Operations | null => sideOperations(answer(), side);
  const settings = (): ComparisonViewSettings => store.view().comparisonSettings;
  const change = (part: Partial<ComparisonViewSettings>): void => store.setView({ comparisonSettings: { ...settings(), ...part } });
  const most = (of: (each: Operations) => number, least: number): number =>
    Math.max(least, ...sides.flatMap((side) => operations(side) ?? []).map(of));
  const durationMs = (): number => most(({ timeline }) => timeline.makespanMs, Number.MIN_VALUE);
  const rows = (): number => most(({ stages }) => stages, 0);
  const viewportOf = (extent: Extent): Viewport => {
    const { viewport } = settings();
    return viewport === null ? fitAll(extent) : clamp(viewport, extent);
  };
  const picked = (side: SideId): Operation | null => {
    const { pass } = settings();
    const [own, other] = [operations(side), operations(otherSide[side])];
    const of = pass === null ? null : operations(pass.side);
    const row = pass === null || of === null ? -1 : of.rowOf(pass.chunk, pass.kind, pass.unit);
    if (pass === null || of === null || row < 0 || own === null) return null;
    const operation = operationAt(of, row);
    return pass.side === side || other === null ? operation : counterpartOf(operation, other, own);
  };
  const markedStage = (): number | null => {
    const now = answer();
    return settings().stage ?? (now === null ? null : tellingStage(now));
  };
  const makeSide = (side: SideId): ReturnType<typeof makePane> =>
    makePane({
      operations: () => operations(side),
      durationMs,
      rows,
      viewport: viewportOf,
      stage: markedStage,
      criticalPath: () => null,
      selection: () => {
        const operation = picked(side);
        return operation === null ? null : { type: 'operation', chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex };
      },
      mark: () => {
        const now = answer();
        return now === null ? null : partingPass(now, side);
      },
      tooltip: (pointer, extent) => tooltipLines(answer(), side, pointer, viewportOf(extent), extent),
    });
  const panes: Readonly<Record<SideId, ReturnType<typeof makePane>>> = { a: makeSide('a'), b: makeSide('b') };
  const drawn = (): SideId[] => sides.filter((side) => operations(side) !== null);
  const mainPane = (): Pane => panes[drawn()[0] ?? 'a'];

  let stopEase = (): void => undefined;
  const show = (viewport: Viewport | null): void => {
    stopEase();
    change({ viewport });
  };
  const easeTo = (target: Viewport | null): void => {
    stopEase();
    const extent = mainPane().extent();
    const [from, to] = [viewportOf(extent), target ?? fitAll(extent)];
    stopEase = ease(zoomToFitMs, (fraction) => change({ viewport: fraction >= 1 ? target : between(from, to, fraction) }));
  };

  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const pick = (side: SideId, operation: Operation | null, stage: number | null): void => {
    const pass = operation === null ? null : { side, chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex };
    change({ pass, stage: operation?.stage ?? stage ?? settings().stage });
    const now = answer();
    const of = operations(side);
    if (operation !== null && now !== null && of !== null) live.textContent = passLines(now, side, of, operation).join('. ');
  };
  const zoomTo = (side: SideId, operation: Operation): void => {
    pick(side, operation, null);
    const extent = panes[side].extent();
    easeTo(fitOperation(viewportOf(extent), operation.stage, operation.startMs, operation.endMs, extent));
  };
  const step = (side: SideId, operation: Operation | null): void => {
    if (operation === null) return;
    const extent = panes[side].extent();
    if (settings().viewport !== null) show(reveal(viewportOf(extent), operation.stage, operation.startMs, operation.endMs, extent));
    pick(side, operation, null);
  };
  const move = (action: KeyAction): void => {
    const side = settings().pass?.side ?? drawn()[0] ?? 'a';
    const [of, operation, extent] = [operations(side), picked(side), panes[side].extent()];
    const around = operation === null ? null : (operation.startMs + operation.endMs) / 2;
    const moved = movedBy(action, viewportOf(extent), extent, around);
    const stage = Math.min(operation?.stage ?? markedStage() ?? 0, (of?.stages ?? 1) - 1);
    if (moved !== null) show(moved);
    else if (of === null) return;
    else if (action.do === 'step') step(side, operation === null ? edgeOf(of, stage, 'first') : stepFrom(of, operation, action));
    else if (action.do === 'edge') step(side, edgeOf(of, stage, action.end));
  };
  const act = (action: KeyAction): void => {
    const { pass, viewport } = settings();
    const operation = pass === null ? null : picked(pass.side);
    if (action.do === 'help') onHelp();
    else if (action.do === 'fitSelection' && pass !== null && operation !== null) zoomTo(pass.side, operation);
    else if (action.do === 'fitSelection' || action.do === 'fitAll') easeTo(null);
    else if (action.do !== 'back') move(action);
    else if (pass !== null) change({ pass: null });
    else if (viewport !== null) easeTo(null);
  };
  const press = (event: KeyboardEvent): void => {
    const action = readKey(event);
    if (action === null || action.do === 'find' || action.do === 'criticalPath') return;
    event.preventDefault();
    event.stopPropagation();
    act(action);
  };
  const element = h('div', { class: 'compared-lanes', role: 'application', tabindex: 0 }, panes.a.element, panes.b.element, live);
  element.addEventListener('keydown', (event) => {
    if (!isControl(event.target)) press(event);
  });
  for (const side of sides)
    wirePointer(panes[side], {
      operations: () => operations(side),
      viewport: () => viewportOf(panes[side].extent()),
      show,
      pick: (operation, stage) => {
        element.focus({ preventScroll: true });
        pick(side, operation, stage !== null && stage < rows() ? stage : null);
      },
      pickRange: () => undefined,
      zoomTo: (operation) => zoomTo(side, operation),
    });

  const update = (now: ComparisonAnswer, isNew: boolean): void => {
    const shown = drawn();
    element.hidden = shown.length === 0;
    if (isNew) {
      element.setAttribute('aria-label', regionLabel(now, rows()));
      for (const side of sides) {
        panes[side].element.hidden = !shown.includes(side);
        panes[side].setCaption(sideCaption(now, side));
      }
    }
    for (const side of shown) panes[side].redraw();
    element.style.maxHeight = `${shown.reduce((sum, side) => sum + panes[side].highestPx(), 0)}px`;
  };
  const type = (event: KeyboardEvent): void => {
    if (event.key.length === 1 && !takesLetters(event.target) && drawn().length > 0) press(event);
  };
  return { element, update, fit: () => easeTo(null), goTo: zoomTo, type };
}

function regionLabel(answer: ComparisonAnswer, stages: number): string {
  return t(
    'Timelines of {0} and {1} on one time scale, {2} stages. Arrow keys move between passes, question mark shows all keys.',
    sideCaption(answer, 'a'),
    sideCaption(answer, 'b'),
    formatCount(stages),
  );
}

function tooltipLines(
  answer: ComparisonAnswer | null,
  side: SideId,
  { operation, stage, x }: Pointer,
  viewport: Viewport,
  extent: Extent,
): readonly (string | null)[] {
  const of = sideOperations(answer, side);
  if (answer === null || of === null || stage === null || stage >= of.stages || x < gutters.leftPx) return [];
  if (operation !== null) return passLines(answer, side, of, operation);
  if (x > gutters.leftPx + extent.widthPx) return [];
  const idle = answer[side].role === 'measured' ? null : idleAt(of, stage, timeAt(viewport, x - gutters.leftPx, extent));
  return idle === null
    ? [stageText(of, stage)]
    : [t('Idle for {0}', formatDuration(idle.endMs - idle.startMs)), stageText(of, stage), idle.cause];
}

/** What a pass is, when it runs on either side, and how far they are apart. */
function passLines(answer: ComparisonAnswer, side: SideId, of: Operations, operation: Operation): string[] {
  const to = sideOperations(answer, otherSide[side]);
  const other = to === null ? null : counterpartOf(operation, of, to);
  const [a, b] = side === 'a' ? [operation, other] : [other, operation];
  const names = badges(answer);
  const when = (name: string, pass: Operation | null): string[] =>
    pass === null ? [] : [t('{0}: {1} from {2}', name, formatDuration(pass.endMs - pass.startMs), formatDuration(pass.startMs))];
  const tokens = unitText(of, operation);
  return [
    operationName(of, operation),
    ...(tokens === null ? [] : [tokens]),
    ...when(names.a, a),
    ...when(names.b, b),
    ...(a === null || b === null ? [] : [apartText(names.b, a, b)]),
  ];
}

function apartText(name: string, a: Operation, b: Operation): string {
  const late = b.startMs - a.startMs;
  const longer = b.endMs - b.startMs - (a.endMs - a.startMs);
  const begins = late < 0 ? t('begins {0} sooner', formatDuration(-late)) : t('begins {0} later', formatDuration(late));
  const takes = longer < 0 ? t('takes {0} less', formatDuration(-longer)) : t('takes {0} more', formatDuration(longer));
  return t('{0} {1}, {2}', name, begins, takes);
}
