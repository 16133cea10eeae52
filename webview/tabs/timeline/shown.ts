import { placeRanks, stageNodes, type StageNode } from '../../../src/core/cluster/rank-groups';
import type { StageMemory } from '../../../src/core/memory-model/profile';
import { gpusUsed, type PlanRequest } from '../../../src/core/domain/request';
import { resolveRankOrder } from '../../../src/core/domain/runtime';
import type { Operation, Operations } from '../../base/operations';
import { comparedDrawn, selectedOperation, shownDrawn, type Drawn, type Store } from '../../base/store';
import type { Tail, TailPart } from '../../../src/core/planner/explain/tail';
import { clamp, fitAll, type Extent, type Viewport } from '../../base/viewport';
import { criticalPath } from '../../charts/lanes/dependencies';
import { gutterPx } from '../../charts/lanes/draw-frame';
import { worstStage } from '../../charts/memory/summary';
import { laneRows, timelineRows, type RowList, type RowSettings } from '../../charts/lanes/rows';
import { hiddenTail, lookedAt, timelineLook } from './look';

/** One timeline of the page's state. */
export interface TimelineSide {
  readonly drawn: () => Drawn | null;
  readonly operations: () => Operations | null;
  /** The operations that the look shows, with its shades. */
  readonly painted: () => Operations | null;
  /** What follows the operations; null for a schedule file. */
  readonly tail: () => Tail | null;
  /** Rows of the path that decides the length of the step; null while it is not outlined. */
  readonly criticalPath: () => Uint32Array | null;
}

/** The timeline of the shown candidate or of a schedule file, and what is set on it. */
export interface ShownTimeline extends TimelineSide {
  /** That of the candidate that it is compared with, in which nothing is selected. */
  readonly compared: TimelineSide;
  /** The end of the step that the look hides. */
  readonly hiddenTail: () => ReadonlySet<TailPart['kind']>;
  /** Of the whole step, the longer of the two. */
  readonly durationMs: () => number;
  readonly viewport: (extent: Extent) => Viewport;
  /** The memory of the stage that is picked, else of the fullest. */
  readonly memoryStage: () => StageMemory | null;
  /** The stage whose memory is shown, or that is picked; null where the timeline has no such row. */
  readonly markedStage: () => number | null;
  readonly selected: () => Operation | null;
  /** Nodes that hold several stages. */
  readonly nodes: () => readonly StageNode[];
  readonly rows: () => RowList;
  /** Where the lanes begin, CSS px from the left. */
  readonly leftPx: () => number;
  /** Selects an operation, or none and a stage. */
  readonly select: (operation: Operation | null, stage: number | null) => void;
}

function drawnLength(drawn: Drawn | null): number {
  return drawn?.tail?.endMs ?? drawn?.operations?.timeline.makespanMs ?? 0;
}

/** Ranks of a larger cluster are not placed. */
const mostRanks = 65_536;

const knownNodes = new WeakMap<PlanRequest, readonly StageNode[]>();

function requestNodes(request: PlanRequest): readonly StageNode[] {
  const { layout, cluster, training } = request;
  const known = knownNodes.get(request);
  if (known !== undefined) return known;
  const ranks = gpusUsed(layout);
  const nodes = ranks > mostRanks ? [] : stageNodes(placeRanks(layout, cluster, resolveRankOrder({ layout, training })));
  knownNodes.set(request, nodes);
  return nodes;
}

/** `laneRows`, made once for each of its arguments in turn. */
function rowsOnce(): typeof laneRows {
  let last: readonly [number, readonly StageNode[], RowSettings, RowList] | null = null;
  return (stages, nodes, settings) => {
    if (last?.[0] !== stages || last[1] !== nodes || last[2] !== settings)
      last = [stages, nodes, settings, laneRows(stages, nodes, settings)];
    return last[3];
  };
}

const paths = new WeakMap<Operations, Uint32Array>();

function memoizedCriticalPath(operations: Operations): Uint32Array {
  const path = paths.get(operations) ?? criticalPath(operations);
  paths.set(operations, path);
  return path;
}

function timelineSide(store: Store, drawn: () => Drawn | null): TimelineSide {
  const operations = (): Operations | null => drawn()?.operations ?? null;
  return {
    drawn,
    operations,
    painted: () => {
      const of = operations();
      return of === null ? null : lookedAt(of, store.get(timelineLook));
    },
    tail: () => drawn()?.tail ?? null,
    criticalPath: () => {
      const of = operations();
      return of === null || !store.view().criticalPath ? null : memoizedCriticalPath(of);
    },
  };
}

const noNodes: readonly StageNode[] = [];

export function shownTimeline(store: Store): ShownTimeline {
  const laneRowsOnce = rowsOnce();
  const nodes = (): readonly StageNode[] => {
    const { plan, schedule } = store.state();
    return plan === null || schedule !== null ? noNodes : requestNodes(plan.request);
  };
  const shown = timelineSide(store, () => shownDrawn(store.state(), store.view()));
  const compared = timelineSide(store, () => comparedDrawn(store.state(), store.view()));
  const { drawn, operations } = shown;
  const rows = (): RowList => laneRowsOnce(operations()?.stages ?? 0, nodes(), store.get(timelineRows));
  const memoryStage = (): StageMemory | null => {
    const profile = drawn()?.memory ?? null;
    if (profile === null) return null;
    return profile.stages.find(({ stage }) => stage === store.view().stage) ?? worstStage(profile);
  };
  return {
    ...shown,
    compared,
    hiddenTail: () => hiddenTail(store.get(timelineLook)),
    durationMs: () => Math.max(drawnLength(drawn()), drawnLength(compared.drawn()), Number.MIN_VALUE),
    viewport: (extent) => {
      const { viewport } = store.view();
      return viewport === null ? fitAll(extent) : clamp(viewport, extent);
    },
    memoryStage,
    markedStage: () => {
      const stage = memoryStage()?.stage ?? store.view().stage;
      return stage === null || stage >= (operations()?.stages ?? 0) ? null : stage;
    },
    selected: () => selectedOperation(operations(), store.view().selection),
    nodes,
    rows,
    leftPx: () => gutterPx(rows()),
    select: (operation, stage) => {
      const selection =
        operation === null
          ? null
          : ({ type: 'operation', chunk: operation.chunk, kind: operation.kind, unit: operation.unitIndex } as const);
      store.setView({ selection, stage: operation?.stage ?? stage ?? store.view().stage });
    },
  };
}
