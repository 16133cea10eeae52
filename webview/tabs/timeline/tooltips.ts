import { formatPercent } from '../../../src/core/format';
import { t } from '../../base/strings';
import { hit, sumRange, type Operation, type Operations } from '../../base/operations';
import { tailAt, type Tail } from '../../../src/core/planner/explain/tail';
import { timeAt, type Extent, type Viewport } from '../../base/viewport';
import { tailName } from '../../charts/lanes/draw-tail';
import { copyTexts, idleAt, kindName, placeText, stageText, timeText, unitName, unitText, waitText } from '../../charts/lanes/labels';
import type { Pointer } from '../../charts/lanes/pane';
import { nodeText } from '../../charts/lanes/row-names';
import type { LaneRow } from '../../charts/lanes/rows';

/** What a tooltip is about. */
interface TooltipTarget {
  readonly operations: Operations | null;
  readonly tail: Tail | null;
  readonly pointer: Pointer;
  readonly viewport: Viewport;
  readonly extent: Extent;
  /** Where the lanes begin, CSS px. */
  readonly leftPx: number;
}

/** The text on what the mouse points at, a line each, the first as title; none: nothing. */
export function tooltipLines({ operations, tail, pointer, viewport, extent, leftPx }: TooltipTarget): (string | null)[] {
  const { x, row, stage, operation } = pointer;
  if (operations === null || row === null || x < leftPx) return [];
  if (operation !== null) return operationLines(operations, operation);
  if (x > leftPx + extent.widthPx) return [];
  const ms = timeAt(viewport, x - leftPx, extent);
  if (stage === null) return nodeLines(operations, tail, row, ms);
  return (tail === null ? null : tailLines(operations, tail, stage, ms)) ?? idleLines(operations, stage, ms);
}

function operationLines(operations: Operations, operation: Operation): (string | null)[] {
  return [
    headline(operations, operation),
    placeText(operations, operation),
    unitText(operations, operation),
    t('{0}, from {1}', timeText(operations, operation.endMs - operation.startMs), timeText(operations, operation.startMs)),
    waitText(operations, operation),
    ...copyTexts(operations, operation),
  ];
}

function idleLines(operations: Operations, stage: number, ms: number): string[] {
  const idle = idleAt(operations, stage, ms);
  if (idle === null) return [];
  return [t('Idle for {0}', timeText(operations, idle.endMs - idle.startMs)), stageText(operations, stage), idle.cause];
}

/** The text on the end of a step; null elsewhere. */
function tailLines(operations: Operations, tail: Tail, stage: number, ms: number): (string | null)[] | null {
  const part = tailAt(tail, stage, ms);
  if (part === null) return null;
  return [
    tailName(part.kind),
    stageText(operations, stage),
    t('{0}, from {1}', timeText(operations, part.endMs - part.startMs), timeText(operations, part.startMs)),
    part.kind === 'gradientExchange' ? t('As long as that of the slowest stage, and only as far as the step waits for it') : null,
  ];
}

/** Stages of a node that are listed one by one. */
const mostStages = 8;

/** What the stages of a node do at a time. */
function nodeLines(operations: Operations, tail: Tail | null, { node, stages }: LaneRow, ms: number): string[] {
  if (node === null) return [];
  const doing = (stage: number): string => {
    const operation = hit(operations, stage, ms);
    if (operation !== null) return headline(operations, operation);
    const part = tail === null ? null : tailAt(tail, stage, ms);
    return part === null ? t('idle') : tailName(part.kind);
  };
  const idleShares = stages.map((stage) => sumRange(operations, 0, operations.timeline.makespanMs, stage, stage).idleShare);
  return [
    nodeText(node, stages),
    ...stages.slice(0, mostStages).map((stage) => t('Stage {0}: {1}', stage, doing(stage))),
    t('Idle for {0} of the pipeline', formatPercent(idleShares.reduce((sum, share) => sum + share, 0) / stages.length)),
    t('Click to show its stages'),
  ];
}

function headline(operations: Operations, operation: Operation): string {
  return t('{0} · {1}', kindName(operation), unitName(operations, operation.unit, operation.chunk, true));
}
