import { formatCount, formatDuration } from '../../../src/core/format';
import type { ComparisonAnswer } from '../../../src/features/compare/protocol';
import { h } from '../../base/dom';
import { lanesAttributes } from '../../base/parts';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { wirePane } from '../../charts/lanes/input';
import type { PageAction } from '../../base/actions';
import type { Operation } from '../../base/operations';
import { makePane, type Pointer } from '../../charts/lanes/pane';
import { timeAt, type Extent, type Viewport } from '../../base/viewport';
import { idleAt, stageText } from '../../charts/lanes/labels';
import { gutters } from '../../charts/lanes/draw-frame';
import { laneCommands } from './commands';
import { comparedSides, partingPass, sideOperations, sides, type ComparedSides } from './compared-sides';
import { passLines } from './pass-text';
import type { SideId } from './settings';
import { sideCaption } from './labels';

/** Two timelines above each other on one time scale, their stages at the same height, zoomed and panned together. */
export interface ComparedLanes {
  readonly element: HTMLElement;
  /** `isNew`: the answer is another one. */
  readonly update: (answer: ComparisonAnswer, isNew: boolean) => void;
  readonly fit: () => void;
  /** Picks a pass and zooms to it. */
  readonly goTo: (side: SideId, operation: Operation) => void;
  readonly act: (action: PageAction) => void;
}

/** Makes the lanes. */
export function makeComparedLanes(store: Store): ComparedLanes {
  const compared = comparedSides(store);
  const panes = { a: makeSide(compared, 'a'), b: makeSide(compared, 'b') } as const;
  const live = h('div', { class: 'visually-hidden', 'aria-live': 'polite' });
  const commands = laneCommands(compared, {
    extent: (side) => panes[side].extent(),
    say: (text) => (live.textContent = text),
  });
  const element = h(
    'div',
    { class: 'compared-lanes', role: 'application', tabindex: 0, ...lanesAttributes },
    panes.a.element,
    panes.b.element,
    live,
  );
  for (const side of sides)
    wirePane(panes[side], {
      operations: () => compared.operations(side),
      viewport: () => compared.viewport(panes[side].extent()),
      show: commands.show,
      pick: (operation, stage) => {
        element.focus({ preventScroll: true });
        commands.pick(side, operation, stage !== null && stage < compared.rows() ? stage : null);
      },
      pickRange: () => undefined,
      zoomTo: (operation) => commands.zoomTo(side, operation),
    });
  return {
    element,
    update: (now, isNew) => {
      const shown = compared.drawn();
      element.hidden = shown.length === 0;
      if (isNew) {
        element.setAttribute('aria-label', regionLabel(now, compared.rows()));
        for (const side of sides) {
          panes[side].element.hidden = !shown.includes(side);
          panes[side].setCaption(sideCaption(now, side));
        }
      }
      for (const side of shown) panes[side].redraw();
      element.style.maxHeight = `${shown.reduce((sum, side) => sum + panes[side].highestPx(), 0)}px`;
    },
    fit: () => commands.easeTo(null),
    goTo: commands.zoomTo,
    act: (action) => {
      if (compared.drawn().length > 0) commands.act(action);
    },
  };
}

function makeSide(compared: ComparedSides, side: SideId): ReturnType<typeof makePane> {
  const { answer, viewport } = compared;
  return makePane({
    operations: () => compared.operations(side),
    durationMs: compared.durationMs,
    rows: compared.rows,
    viewport,
    stage: compared.markedStage,
    criticalPath: () => null,
    selection: () => {
      const operation = compared.picked(side);
      return operation === null ? null : { type: 'operation', chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex };
    },
    mark: () => {
      const now = answer();
      return now === null ? null : partingPass(now, side);
    },
    tooltip: (pointer, extent) => tooltipLines(answer(), side, pointer, viewport(extent), extent),
  });
}

function regionLabel(answer: ComparisonAnswer, stages: number): string {
  return t(
    'Timelines of {0} and {1} on one scale, {2} stages. Arrow keys move; question mark: all keys.',
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
