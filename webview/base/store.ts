import { chosenCandidate, type Candidate, type CandidateId, type Plan } from '../../src/core/planner/plan';
import type { IdleTimes } from '../../src/core/schedules/simulate/gaps';
import type { MemoryProfile } from '../../src/core/memory-model/profile';
import type { Timeline } from '../../src/core/schedules/schedule';
import { withKnownAnswer } from '../../src/features/compare/protocol';
import { emptyPage, type PageState } from '../../src/protocol/page';
import { indexOperations, operationAt, type Operation, type Operations } from './operations';
import { stepTail, type Tail } from '../../src/core/planner/explain/tail';
import { readViewState, type Selection, type Setting, type ViewState } from './view-state';
import type { Host } from './host';
import { say } from '../../src/core/sentence';
import { t } from './strings';
import { maximum } from '../../src/core/numbers';

/** The last state from the host and the view state; notifies views when either changes. */
export interface Store {
  readonly host: Host;
  readonly state: () => PageState;
  readonly view: () => ViewState;
  readonly receive: (state: PageState) => void;
  readonly setView: (change: Partial<ViewState>) => void;
  readonly get: <T>(setting: Setting<T>) => T;
  readonly set: <T>(setting: Setting<T>, value: T) => void;
  readonly subscribe: (listener: (change: Change) => void) => void;
}

/** What listeners hear after a change: whether the host's part changed, and how the view was before. */
export interface Change {
  readonly state: boolean;
  readonly before: ViewState;
}

/** Saving notifies the host, which a drag must not do in every frame. */
const saveDelayMs = 150;

/** Whether the page is too narrow for details next to the timeline: `tab.css` decides. */
function isNarrow(): boolean {
  return getComputedStyle(document.documentElement).getPropertyValue('--is-narrow') !== '';
}

/** An empty page of the given kind, looked at as it was before the last reload. */
export function makeStore(host: Host, page: PageState['page']): Store {
  let state = emptyPage(page, true);
  let view = readViewState(host.saved(), isNarrow());
  let documentId: string | null = null;
  let saving: ReturnType<typeof setTimeout> | null = null;
  const save = (): void => {
    saving ??= setTimeout(() => {
      saving = null;
      host.save({ document: documentId, ...view });
    }, saveDelayMs);
  };
  const listeners: ((change: Change) => void)[] = [];
  const notify = (change: Change): void => {
    for (const listener of listeners) listener(change);
  };
  const setView = (change: Partial<ViewState>): void => {
    const before = view;
    view = { ...view, ...change };
    save();
    notify({ state: false, before });
  };
  return {
    host,
    state: () => state,
    view: () => view,
    receive: (next) => {
      const before = view;
      const isNewFile = state.file !== null && next.file !== null && next.file !== state.file;
      const early = isWaitedFor(next, state, view);
      const plan = early ? state.plan : withKnownParts(next.plan, state.plan);
      const staleEdits = early ? Math.max(1, next.staleEdits) : next.staleEdits;
      state = { ...next, plan, staleEdits, comparison: withKnownAnswer(next.comparison ?? null, state.comparison) };
      documentId = next.document ?? null;
      if (isNewFile) view = { ...view, candidate: null, compareWith: null, viewport: null, selection: null, stage: null, fileSettings: {} };
      save();
      notify({ state: true, before });
    },
    setView,
    get: (setting) => setting.of(view),
    set: (setting, value) => setView(setting.to(view, value)),
    subscribe: (listener) => void listeners.push(listener),
  };
}

/**
 * Whether a plan that comes before the others are compared lacks one that the person looks at, so that the last whole plan stays until they
 * arrive.
 */
function isWaitedFor({ plan, progress }: PageState, { plan: before }: PageState, { candidate, compareWith, tab }: ViewState): boolean {
  if (plan === null || progress === null || before === null || plan.candidates.length >= before.candidates.length) return false;
  const has = (of: Plan, wanted: CandidateId): boolean => of.candidates.some(({ id }) => id === wanted);
  return tab === 'compare' || [candidate, compareWith].some((id) => id !== null && has(before, id) && !has(plan, id));
}

/**
 * A plan with what is the same in the one before it, to which what a person tries belongs: its request and candidates. The one before where
 * all is the same, so that progress messages, which carry the plan again, change nothing on screen.
 */
function withKnownParts(plan: Plan | null, before: Plan | null): Plan | null {
  if (plan === null || before === null || plan === before) return plan;
  if (JSON.stringify(plan.request) !== JSON.stringify(before.request)) return plan;
  const known = new Map(before.candidates.map((candidate) => [candidateKey(candidate), candidate]));
  const candidates = plan.candidates.map((candidate) => known.get(candidateKey(candidate)) ?? candidate);
  const isSame =
    candidates.length === before.candidates.length &&
    candidates.every((candidate, index) => candidate === before.candidates[index]) &&
    JSON.stringify([plan.chosen, plan.cost, plan.reasons]) === JSON.stringify([before.chosen, before.cost, before.reasons]);
  return isSame ? before : { ...plan, request: before.request, candidates };
}

/** The candidate on screen: the one picked, else the one the plan chose. */
export function shownCandidate(plan: Plan, view: ViewState): Candidate {
  return plan.candidates.find(({ id }) => id === view.candidate) ?? chosenCandidate(plan);
}

/** The candidate to compare with, or null. Never the shown one. */
export function comparedCandidate(plan: Plan, view: ViewState): Candidate | null {
  const found = plan.candidates.find(({ id }) => id === view.compareWith);
  return found === undefined || found.id === shownCandidate(plan, view).id ? null : found;
}

/** What a timeline is drawn of: a plan's candidate, or a schedule file. */
export interface Drawn {
  readonly name: string;
  /** Null when there are too many to draw. */
  readonly operations: Operations | null;
  /** What follows the operations; null for a schedule file, which ends with them. */
  readonly tail: Tail | null;
  /** Null for a schedule file, whose passes take a step each. */
  readonly idle: IdleTimes | null;
  /** Null for a schedule file, which has no bytes. */
  readonly memory: MemoryProfile | null;
  /** Of the whole step: ms of a plan, steps of a schedule file. */
  readonly lengthMs: number;
  readonly bubbleRate: number;
}

/** What the timeline shows: the schedule file, else the shown candidate; null while there is neither. */
export function shownDrawn({ plan, schedule }: PageState, view: ViewState): Drawn | null {
  if (schedule !== null) {
    const { timeline, bubbleRate } = schedule;
    const operations = indexedTimeline(timeline, true);
    return { name: timeline.name, operations, tail: null, idle: null, memory: null, lengthMs: timeline.makespanMs, bubbleRate };
  }
  return plan === null ? null : toDrawn(shownCandidate(plan, view));
}

/** The operation that a selection is of; null where it is of none, or of one that the timeline lacks. */
export function selectedOperation(operations: Operations | null, selection: Selection | null): Operation | null {
  if (selection?.type !== 'operation' || operations === null) return null;
  const row = operations.findRow(selection.chunk, selection.kind, selection.unit);
  return row < 0 ? null : operationAt(operations, row);
}

/** What the timeline compares it with; null for nothing. */
export function comparedDrawn({ plan }: PageState, view: ViewState): Drawn | null {
  const candidate = plan === null ? null : comparedCandidate(plan, view);
  return candidate === null ? null : toDrawn(candidate);
}

function toDrawn(candidate: Candidate): Drawn {
  const { name, idle, memory, iterationMs, bubbleRate } = candidate;
  return {
    name: say(name, t),
    operations: candidateOperations(candidate),
    tail: tailOfCandidate(candidate),
    idle,
    memory,
    lengthMs: iterationMs,
    bubbleRate,
  };
}

const indexed = new WeakMap<Timeline, Operations>();

/** A timeline indexed, once. */
export function indexedTimeline(timeline: Timeline, ofFile = false): Operations {
  const found = indexed.get(timeline) ?? indexOperations(timeline, ofFile);
  indexed.set(timeline, found);
  return found;
}

/** The indexed timeline of a candidate, or null when it has none. */
export function candidateOperations(candidate: Candidate): Operations | null {
  return candidate.timeline === null ? null : indexedTimeline(candidate.timeline);
}

const tails = new WeakMap<Candidate, Tail>();

/** What follows the operations of a candidate, or null when it has none. */
export function tailOfCandidate(candidate: Candidate): Tail | null {
  const operations = candidateOperations(candidate);
  const found = tails.get(candidate) ?? (operations === null ? null : stepTail(operations.timeline, candidate));
  if (found !== null) tails.set(candidate, found);
  return found;
}

/** What distinguishes candidates of one request. */
function candidateKey({ id, name, scheme, iterationMs, bubbleRate, fits, timeline, memory }: Candidate): string {
  return JSON.stringify([
    id,
    name,
    scheme,
    iterationMs,
    bubbleRate,
    fits,
    timeline?.makespanMs,
    timeline?.kind.length,
    memory.capacityBytes,
    memory.marginBytes,
    maximum(memory.stages.map(({ peakBytes }) => peakBytes)),
  ]);
}
