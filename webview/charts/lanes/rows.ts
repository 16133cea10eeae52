import type { StageNode } from '../../../src/core/cluster/rank-groups';
import { isRecord } from '../../../src/core/records';
import { setting } from '../../base/view-state';

/** Which stages stay at the top, and which nodes are one row each. It survives a plan with other stages: what is missing is ignored. */
export interface RowSettings {
  /** Ascending. */
  readonly pinned: readonly number[];
  /** Whether nodes are collapsed; those of `except` are the other way. */
  readonly collapsed: boolean;
  readonly except: readonly number[];
}

const initialRows: RowSettings = { pinned: [], collapsed: false, except: [] };

/** Reads settings that were saved: what does not fit falls back. */
function readRows(value: unknown): RowSettings {
  if (!isRecord(value)) return initialRows;
  const indices = (list: unknown): readonly number[] =>
    Array.isArray(list) ? ascending(list.filter((each): each is number => Number.isSafeInteger(each) && each >= 0)) : [];
  return { pinned: indices(value['pinned']), collapsed: value['collapsed'] === true, except: indices(value['except']) };
}

export const timelineRows = setting('timelineRows', readRows, { ofFile: true });

/** A row of the lanes: a stage, or all stages of a node that are not pinned. */
export interface LaneRow {
  /** At least one, ascending. */
  readonly stages: readonly number[];
  /** The node that this row collapses, or that begins with it and could be; null for all others. */
  readonly node: StageNode | null;
  /** Whether it stands for a node; else for one stage. */
  readonly collapsed: boolean;
}

/** Which rows are drawn, from the top; every stage is in one. */
export interface RowList {
  readonly rows: readonly LaneRow[];
  /** Rows at the top that do not scroll: a stage each. */
  readonly pinned: number;
  /** Row of a stage. @throws RangeError where there is no such stage. */
  readonly laneRow: (stage: number) => number;
}

/** The rows of a timeline. `nodes` are those with several stages. */
export function laneRows(stages: number, nodes: readonly StageNode[], settings: RowSettings): RowList {
  const pinned = new Set(settings.pinned.filter((stage) => stage < stages));
  const nodeByStage = new Map(nodes.flatMap((node) => node.stages.map((stage) => [stage, node] as const)));
  const canOpen = settings.collapsed || nodes.some(({ node }) => isCollapsed(settings, node));
  const rows: LaneRow[] = [...pinned].map((stage) => ({ stages: [stage], node: null, collapsed: false }));
  const begun = new Set<StageNode>();
  for (let stage = 0; stage < stages; stage++) {
    if (pinned.has(stage)) continue;
    const node = nodeByStage.get(stage) ?? null;
    const begins = node !== null && !begun.has(node);
    if (node !== null) begun.add(node);
    if (node === null || !isCollapsed(settings, node.node))
      rows.push({ stages: [stage], node: begins && canOpen ? node : null, collapsed: false });
    else if (begins) rows.push({ stages: node.stages.filter((each) => each < stages && !pinned.has(each)), node, collapsed: true });
  }
  const rowOfStage = new Int32Array(stages).fill(-1);
  rows.forEach((row, index) => {
    for (const stage of row.stages) rowOfStage[stage] = index;
  });
  const laneRow = (stage: number): number => {
    const row = rowOfStage[stage] ?? -1;
    if (row < 0) throw new RangeError(`no stage ${stage}`);
    return row;
  };
  return { rows, pinned: pinned.size, laneRow };
}

const plain = new Map<number, RowList>();

/** A row for each stage, in their order. */
export function plainRows(stages: number): RowList {
  const found = plain.get(stages) ?? laneRows(stages, [], initialRows);
  plain.set(stages, found);
  return found;
}

/** Whether a node is one row. */
export function isCollapsed({ collapsed, except }: RowSettings, node: number): boolean {
  return collapsed !== except.includes(node);
}

/** Collapses a node, or opens it. */
export function toggleNode(settings: RowSettings, node: number): RowSettings {
  return { ...settings, except: toggled(settings.except, node) };
}

/** Collapses all nodes, or opens them where all are collapsed. */
export function toggleNodes(settings: RowSettings, nodes: readonly StageNode[]): RowSettings {
  return { ...settings, collapsed: !areCollapsed(settings, nodes), except: [] };
}

/** Whether every node is one row. */
export function areCollapsed(settings: RowSettings, nodes: readonly StageNode[]): boolean {
  return nodes.length > 0 && nodes.every(({ node }) => isCollapsed(settings, node));
}

/** Pins the row of a stage, or lets it go. */
export function togglePin(settings: RowSettings, stage: number): RowSettings {
  return { ...settings, pinned: toggled(settings.pinned, stage) };
}

function toggled(list: readonly number[], one: number): readonly number[] {
  return list.includes(one) ? list.filter((each) => each !== one) : ascending([...list, one]);
}

function ascending(list: readonly number[]): readonly number[] {
  return [...new Set(list)].sort((a, b) => a - b);
}

/** `3`, `0–7` or `0, 2, 4–6`. */
export function rangesText(stages: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const stage of stages) {
    const last = ranges.at(-1);
    if (last?.[1] === stage - 1) last[1] = stage;
    else ranges.push([stage, stage]);
  }
  return ranges.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`)).join(', ');
}
