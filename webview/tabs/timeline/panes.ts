import type { Store } from '../../base/store';
import { operationBy } from '../../base/operations';
import { timeAt } from '../../base/viewport';
import { wirePane, wirePointer, type PointerActions, type PointerArea } from '../../charts/lanes/input';
import { makePane, pointAtTime, type Pane, type PaneProps } from '../../charts/lanes/pane';
import type { TimelineCommands } from './commands';
import type { MemoryLane } from './memory-lane';
import type { ShownTimeline, TimelineSide } from './shown';
import { tooltipLines } from './tooltips';

/** The pane of one side of the timeline; selections are of the shown side only. */
export function makeTimelinePane(
  store: Store,
  timeline: ShownTimeline,
  side: TimelineSide,
  listeners: Pick<PaneProps, 'onTime' | 'onPoint' | 'onDrawn'> = {},
): ReturnType<typeof makePane> {
  const { operations, painted, tail, criticalPath } = side;
  const { durationMs, viewport, hiddenTail, rows, markedStage, leftPx } = timeline;
  return makePane({
    operations,
    painted,
    tail,
    criticalPath,
    durationMs,
    viewport,
    hiddenTail,
    list: rows,
    stage: markedStage,
    selection: () => (side === timeline.compared ? null : store.view().selection),
    tooltip: (pointer, extent) =>
      tooltipLines({ operations: operations(), tail: tail(), pointer, viewport: viewport(extent), extent, leftPx: leftPx() }),
    ...listeners,
  });
}

/** What mouse and wheel work on. */
interface PointerTarget {
  readonly pane: Pane;
  readonly comparedPane: Pane;
  readonly lane: MemoryLane;
  readonly commands: TimelineCommands;
  /** Gives the lanes the keyboard focus. */
  readonly focus: () => void;
}

/** Wires mouse and wheel to both panes and to the memory lane. */
export function wirePointers(store: Store, timeline: ShownTimeline, { pane, comparedPane, lane, commands, focus }: PointerTarget): void {
  const { compared } = timeline;
  const actions: PointerActions = {
    viewport: () => timeline.viewport(pane.extent()),
    show: commands.show,
    pick: (operation, stage) => {
      focus();
      timeline.select(operation, stage);
    },
    pickRange: (startMs, endMs, firstStage, lastStage) =>
      store.setView({ selection: { type: 'range', startMs, endMs, firstStage, lastStage } }),
    zoomTo: commands.zoomTo,
    openNode: commands.rows.toggleNode,
  };
  wirePane(pane, { ...actions, operations: timeline.operations });
  wirePane(comparedPane, {
    ...actions,
    operations: compared.operations,
    viewport: () => timeline.viewport(comparedPane.extent()),
    pick: (_, stage) => actions.pick(null, stage),
    pickRange: () => undefined,
    zoomTo: () => undefined,
  });
  wirePointer(laneArea(lane, timeline, pane), {
    ...actions,
    pick: (operation) => {
      lane.focus();
      if (operation !== null) commands.goTo(operation);
    },
  });
}

/** The memory lane as an area on the time axis of a pane, in which everything is of the stage that it shows. */
function laneArea({ canvas }: MemoryLane, { operations, memoryStage, viewport }: ShownTimeline, pane: Pane): PointerArea {
  const { leftPx, extent } = pane;
  const msAt = (x: number): number | null =>
    x < leftPx() || x > leftPx() + extent().widthPx ? null : timeAt(viewport(extent()), x - leftPx(), extent());
  return {
    canvas,
    leftPx,
    extent,
    axisPx: 0,
    at: (x, y) => {
      const [ms, of, stage] = [msAt(x), operations(), memoryStage()?.stage ?? null];
      const operation = ms === null || of === null || stage === null ? null : operationBy(of, stage, ms);
      return { x, y, row: null, stage, operation };
    },
    stagesBetween: () => [memoryStage()?.stage ?? []].flat(),
    point: (pointer) => pointAtTime(pane, viewport(extent()), pointer === null ? null : msAt(pointer.x)),
  };
}
