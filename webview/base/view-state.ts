import { candidateIds, type CandidateId } from '../../src/core/planner/plan';
import { isRecord, own } from '../../src/core/records';
import type { TabId } from '../../src/protocol/page';
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

/** The few that matter most for the plan, or all of them. */
type SettingsToTry = 'first' | 'all';

/**
 * The view state: tab, selection, zoom, and what tabs let the person set. VS Code keeps it over reloads; it holds nothing of the plan
 * itself.
 */
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
  /** Which settings to try are on screen; null: none. */
  readonly tries: SettingsToTry | null;
  readonly table: boolean;
  readonly criticalPath: boolean;
  /** Values of `Setting`s by key. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Values of settings that another file resets. */
  readonly fileSettings: Readonly<Record<string, unknown>>;
}

/** What a page starts with. */
const initialViewState: ViewState = {
  tab: 'timeline',
  candidate: null,
  compareWith: null,
  viewport: null,
  selection: null,
  stage: null,
  inspector: true,
  tries: null,
  table: false,
  criticalPath: false,
  settings: {},
  fileSettings: {},
};

/** Something that a tab lets the person set, kept with the page. */
export interface Setting<T> {
  /** Takes what was saved, which may be anything; what does not fit, and undefined, is the initial value. */
  readonly read: (saved: unknown) => T;
  readonly of: (view: ViewState) => T;
  /** The change of a view that sets it. */
  readonly to: (view: ViewState, value: T) => Partial<ViewState>;
}

/** Declares a setting. `formerKey`: its key in older versions. `ofFile`: another file resets it. */
export function setting<T>(key: string, read: (saved: unknown) => T, options: { formerKey?: string; ofFile?: true } = {}): Setting<T> {
  const place = options.ofFile === true ? 'fileSettings' : 'settings';
  const known = new WeakMap<object, T>();
  return {
    read,
    of: (view) => {
      const saved = own(view[place], key) ?? own(view[place], options.formerKey ?? key);
      if (typeof saved !== 'object' || saved === null) return read(saved);
      const value = known.get(saved) ?? read(saved);
      known.set(saved, value);
      return value;
    },
    to: (view, value) => {
      if (typeof value === 'object' && value !== null) known.set(value, value);
      return { [place]: { ...view[place], [key]: value } };
    },
  };
}

/**
 * Reads a state that an older version (or anything else) may have saved: each field that does not fit falls back to its start value.
 * @param isNarrow a narrow page starts without details, which would take the height of the timeline
 */
export function readViewState(saved: unknown, isNarrow = false): ViewState {
  const initial = { ...initialViewState, inspector: !isNarrow };
  if (!isRecord(saved)) return initial;
  const memberOrNull = <T extends string>(values: readonly T[], value: unknown): T | null =>
    values.find((candidate) => candidate === value) ?? null;
  const flag = (value: unknown, otherwise: boolean): boolean => (typeof value === 'boolean' ? value : otherwise);
  const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
  // Older versions saved settings with the rest.
  const older = Object.fromEntries(Object.entries(saved).filter(([key]) => key !== 'document' && !Object.hasOwn(initialViewState, key)));
  return {
    tab: text(saved['tab']) ?? initialViewState.tab,
    candidate: memberOrNull(candidateIds, saved['candidate']),
    compareWith: memberOrNull(candidateIds, saved['compareWith']),
    viewport: readViewport(saved['viewport']),
    selection: readSelection(saved['selection']),
    stage: isIndex(saved['stage']) ? saved['stage'] : null,
    inspector: flag(saved['inspector'], initial.inspector),
    tries: memberOrNull(['first', 'all'], saved['tries']),
    table: flag(saved['table'], initialViewState.table),
    criticalPath: flag(saved['criticalPath'], initialViewState.criticalPath),
    settings: isRecord(saved['settings']) ? saved['settings'] : older,
    fileSettings: isRecord(saved['fileSettings']) ? saved['fileSettings'] : older,
  };
}

/** A viewport that was saved, or null. */
export function readViewport(value: unknown): Viewport | null {
  if (!isRecord(value)) return null;
  const { startMs, endMs, rowPx, scrollPx } = value;
  return isFiniteNumber(startMs) && isFiniteNumber(endMs) && isFiniteNumber(rowPx) && isFiniteNumber(scrollPx) && endMs > startMs
    ? { startMs, endMs, rowPx, scrollPx }
    : null;
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

/** Whether a saved value counts something from 0. */
export function isIndex(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
