import type { CandidateId } from '../../core/planner/plan';
import type { HostMessage, PageState } from '../../protocol/page';
import { toPageState, type PageContext } from './page-state';
import type { SessionState } from '../sessions/session-state';

/** Keeps account of what one page was sent. */
export interface PageSync {
  /** The message that brings the page up to date; null when it is. */
  readonly next: (session: SessionState | null, context: Omit<PageContext, 'timelines'>) => HostMessage | null;
  /** How soon the page is notified: what came of a plan now, what changes while one is to come later, all else soon. */
  readonly due: (session: SessionState | null) => 'now' | 'soon' | 'later';
  /** Id of the comparison whose answer the page has; null for none. */
  readonly comparison: () => string | null;
  /** The page draws these candidates in addition to the chosen one. */
  readonly draw: (candidates: readonly CandidateId[]) => void;
  /** The page has nothing any more. */
  readonly forget: () => void;
}

interface PostedState {
  readonly session: SessionState | null;
  readonly state: PageState;
  /** Candidates whose timelines went with the plan. */
  readonly timelines: readonly CandidateId[];
}

/** Sends the whole state of a config first, and then what is new: a plan is large and stays the same while one types. */
export function makePageSync(): PageSync {
  let sent: PostedState | null = null;
  let drawn: readonly CandidateId[] = [];
  return {
    next: (session, context) => {
      const before = sent;
      const kept = before !== null && before.session?.plan === session?.plan ? before.timelines : [];
      const chosen = session?.plan?.chosen;
      const timelines = [...new Set([...kept, ...(chosen === undefined ? [] : [chosen]), ...drawn])];
      const state = toPageState(session, { ...context, timelines });
      sent = { session, state, timelines };
      if (before === null || session === null || before.session?.file !== session.file) return { type: 'state', state };
      const fields = changedFields(before, sent);
      return Object.keys(fields).length > 0 ? { type: 'update', fields } : null;
    },
    due: (session) => {
      const isSent = sent !== null && ([...results, 'error'] as const).every((key) => sent?.session?.[key] === session?.[key]);
      if (!isSent) return 'now';
      return session !== null && (session.progress !== null || session.staleEdits > 0) ? 'later' : 'soon';
    },
    comparison: () => sent?.state.comparison?.answer?.id ?? null,
    draw: (candidates) => (drawn = candidates),
    forget: () => (sent = null),
  };
}

/** What is large is distinguished by identity. */
const results = ['plan', 'schedule', 'elastic'] as const;

function changedFields(before: PostedState, now: PostedState): Partial<PageState> {
  const same = new Set<string>(results.filter((key) => before.session?.[key] === now.session?.[key]));
  const hasTimelines = now.timelines.every((id) => before.timelines.includes(id));
  if (!hasTimelines) same.delete('plan');
  if (same.has('plan')) same.add('withheld');
  const changed = Object.entries(now.state).filter(([key, value]) => {
    if (same.has(key)) return false;
    const isResult = results.some((one) => one === key);
    return isResult || !isSame(value, before.state[key as keyof PageState]);
  });
  return Object.fromEntries(changed);
}

/**
 * Whether two values of a page's state say the same: numbers, texts, lists, plain objects and typed arrays are compared by what is in them,
 * all else by identity.
 */
function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a) || ArrayBuffer.isView(a)) return isSameList(a as unknown as List, b as unknown as List);
  if (Object.getPrototypeOf(a) !== Object.prototype) return false;
  const entries = Object.entries(a);
  return (
    entries.length === Object.keys(b).length && entries.every(([key, value]) => Object.hasOwn(b, key) && isSame(value, Reflect.get(b, key)))
  );
}

type List = ArrayLike<unknown>;

function isSameList(a: List, b: List): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (!isSame(a[index], b[index])) return false;
  return true;
}
