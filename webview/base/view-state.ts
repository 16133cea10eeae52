import { initialComparisonSettings, type ComparisonViewSettings } from './view-settings/comparison';
import { compareColumns, type CompareOrder } from './view-settings/candidate-order';
import { candidateIds, type CandidateId } from '../../src/core/planner/plan';
import type { ProfilePart } from '../../src/core/domain/profile';
import { isRecord } from '../../src/core/records';
import type { TabId } from '../../src/protocol/page';
import { initialLook, readLook, type TimelineLook } from './view-settings/look';
import { initialRows, readRows, type RowSettings } from './view-settings/rows';
import { initialLayoutSettings, readLayoutSettings, type LayoutViewSettings } from './view-settings/layout';
import { operationKind, type OperationKind } from '../../src/core/schedules/schedule';
import type { Viewport } from './viewport';

/** What is picked in the timeline: one operation by what it is (so that it survives a new plan), or a dragged range. */
export type Selection =
  | { readonly type: 'operation'; readonly chunk: number; readonly kind: OperationKind; readonly unit: number }
  | {
      readonly type: 'range';
      readonly startMs: number;
      readonly endMs: number;
      readonly firstStage: number;
      readonly lastStage: number;
    };

/** How wide an epoch is drawn: as long as it takes, or all alike. */
const epochWidths = ['time', 'equal'] as const;
export type EpochWidth = (typeof epochWidths)[number];

/** The view state: tab, selection and zoom. VS Code keeps it over reloads; it holds nothing of the plan itself. */
export interface ViewState {
  readonly tab: TabId;
  /** Null: the one the plan chose. */
  readonly candidate: CandidateId | null;
  readonly compareWith: CandidateId | null;
  /** Null: the whole step, fitted. */
  readonly viewport: Viewport | null;
  readonly selection: Selection | null;
  /** Stage whose memory is shown; null: the one with the highest peak. */
  readonly stage: number | null;
  readonly inspector: boolean;
  readonly table: boolean;
  readonly criticalPath: boolean;
  /** Null: as the planner has them. */
  readonly compareOrder: CompareOrder | null;
  /** File of the profile shown; null: the one the plan used, else the newest. */
  readonly profile: string | null;
  /** File of the profile it is compared with. */
  readonly profileCompare: string | null;
  readonly profilePart: ProfilePart;
  /** Both axes of the slice times logarithmic. */
  readonly profileLog: boolean;
  /** Epoch of an elastic run that is looked at closely. */
  readonly epoch: number;
  readonly epochWidth: EpochWidth;
  readonly layoutSettings: LayoutViewSettings;
  readonly comparisonSettings: ComparisonViewSettings;
  readonly timelineLook: TimelineLook;
  readonly timelineRows: RowSettings;
}

/** What a page starts with. */
export const initialViewState: ViewState = {
  tab: 'timeline',
  candidate: null,
  compareWith: null,
  viewport: null,
  selection: null,
  stage: null,
  inspector: true,
  table: false,
  criticalPath: false,
  compareOrder: null,
  profile: null,
  profileCompare: null,
  profilePart: 'layer',
  profileLog: false,
  epoch: 0,
  epochWidth: 'time',
  layoutSettings: initialLayoutSettings,
  comparisonSettings: initialComparisonSettings,
  timelineLook: initialLook,
  timelineRows: initialRows,
};

const parts: readonly ProfilePart[] = ['layer', 'embedding', 'head'];

/** Reads a state that an older version (or anything else) may have saved: each field that does not fit falls back to its start value. */
export function readViewState(saved: unknown): ViewState {
  if (!isRecord(saved)) return initialViewState;
  const oneOf = <T extends string>(values: readonly T[], value: unknown): T | null =>
    values.find((candidate) => candidate === value) ?? null;
  const flag = (value: unknown, otherwise: boolean): boolean => (typeof value === 'boolean' ? value : otherwise);
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  return {
    tab: text(saved['tab']) ?? initialViewState.tab,
    candidate: oneOf(candidateIds, saved['candidate']),
    compareWith: oneOf(candidateIds, saved['compareWith']),
    viewport: readViewport(saved['viewport']),
    selection: readSelection(saved['selection']),
    stage: isIndex(saved['stage']) ? saved['stage'] : null,
    inspector: flag(saved['inspector'], initialViewState.inspector),
    table: flag(saved['table'], initialViewState.table),
    criticalPath: flag(saved['criticalPath'], initialViewState.criticalPath),
    compareOrder: readOrder(saved['compareOrder']),
    profile: text(saved['profile']),
    profileCompare: text(saved['profileCompare']),
    profilePart: oneOf(parts, saved['profilePart']) ?? initialViewState.profilePart,
    profileLog: flag(saved['profileLog'], initialViewState.profileLog),
    epoch: isIndex(saved['epoch']) ? saved['epoch'] : initialViewState.epoch,
    epochWidth: oneOf(epochWidths, saved['epochWidth']) ?? initialViewState.epochWidth,
    layoutSettings: readLayoutSettings(saved['layoutSettings'] ?? saved['layoutLook']),
    comparisonSettings: readComparisonSettings(saved['comparisonSettings'] ?? saved['comparedLook']),
    timelineLook: readLook(saved['timelineLook']),
    timelineRows: readRows(saved['timelineRows']),
  };
}

/** Where the user was; a selected pass may be of another answer. */
function readComparisonSettings(value: unknown): ComparisonViewSettings {
  if (!isRecord(value)) return initialComparisonSettings;
  return {
    ...initialComparisonSettings,
    viewport: readViewport(value['viewport']),
    stage: isIndex(value['stage']) ? value['stage'] : null,
  };
}

function readViewport(value: unknown): Viewport | null {
  if (!isRecord(value)) return null;
  const { startMs, endMs, rowPx, scrollPx } = value;
  return isFiniteNumber(startMs) && isFiniteNumber(endMs) && isFiniteNumber(rowPx) && isFiniteNumber(scrollPx) && endMs > startMs
    ? { startMs, endMs, rowPx, scrollPx }
    : null;
}

function readOrder(value: unknown): CompareOrder | null {
  if (!isRecord(value)) return null;
  const by = compareColumns.find((column) => column === value['by']);
  return by === undefined ? null : { by, descending: value['descending'] === true };
}

function readSelection(value: unknown): Selection | null {
  if (!isRecord(value)) return null;
  const { type, chunk, kind, unit, startMs, endMs, firstStage, lastStage } = value;
  if (type === 'operation' && isIndex(chunk) && isIndex(unit) && isKind(kind)) return { type, chunk, kind, unit };
  if (type === 'range' && isFiniteNumber(startMs) && isFiniteNumber(endMs) && isIndex(firstStage) && isIndex(lastStage))
    return { type, startMs, endMs, firstStage, lastStage };
  return null;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function isKind(value: unknown): value is OperationKind {
  return Object.values<unknown>(operationKind).includes(value);
}

function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
