import { CancelledError, ExpectedError } from '../../core/errors';
import type { Plan } from '../../core/planner/plan';
import { measuredAnswer, planSide, plansAnswer, type ComparedSide, type ComparisonAnswer } from '../../protocol/comparison';
import type { PlannerClient } from '../../worker/client';
import type { PlanSessions } from './plan-sessions';
import type { SessionState } from './session-state';

/** What a config is compared with: another config, the best layout of a search, or the file of a measured run; by URI. */
export type Compared =
  { readonly kind: 'config'; readonly file: string } | { readonly kind: 'best' } | { readonly kind: 'measured'; readonly file: string };

/** A comparison of one config. Replaced whole on every change. */
export interface ComparisonState {
  readonly other: Compared;
  readonly running: { readonly fraction: number | null } | null;
  readonly answer: ComparisonAnswer | null;
  /** Edits of either config since `answer`. */
  readonly staleEdits: number;
  readonly error: ExpectedError | null;
}

/** A plan that a search found. */
export interface BestPlan {
  readonly plan: Plan;
  /** Whether the config names a whole layout of its own. */
  readonly isLaunched: boolean;
  /** That of the answer it is of: another one for every search. */
  readonly answer: string;
}

/** What comparisons need of the extension. */
export interface ComparisonHost {
  /** On a thread of its own: a measured run takes seconds to read. */
  readonly compare: PlannerClient['compare'];
  /** The best layout of a config, searched for first where there is no current answer. @throws ExpectedError, CancelledError. */
  readonly best: (file: string, signal: AbortSignal) => Promise<BestPlan>;
  /** Id of the answer that `best` would take without a search, and the edits since; null where there is none. */
  readonly bestStanding: (file: string) => { readonly answer: string; readonly staleEdits: number } | null;
  readonly onDidChangeBest: (listener: (file: string) => void) => { dispose: () => void };
  /** Where a file lies on this machine. @throws ExpectedError `measured-not-local`. */
  readonly pathOf: (file: string) => string;
  readonly displayPath: (file: string) => string;
  readonly reportBug: (error: unknown) => void;
}

/** Comparisons, one a config, that follow edits of both sides. */
export interface Comparisons {
  readonly stateOf: (file: string) => ComparisonState | null;
  /** Compares a config, in place of what it was compared with before. Resolves when that has ended; what stopped it is in the state. */
  readonly start: (file: string, other: Compared) => Promise<void>;
  /** Compares again: the measured run as it lies there now, the best as it is known, searched for anew where that is old. */
  readonly again: (file: string) => Promise<void>;
  /** Turns two plans round. */
  readonly swap: (file: string) => Promise<void>;
  /** Gives up what is under way; an answer stays, without one the comparison closes. */
  readonly cancel: (file: string) => void;
  readonly close: (file: string) => void;
  /** Whether a config is looked at as the other side, so that its session has to stay. */
  readonly needs: (file: string) => boolean;
  readonly onDidChange: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

interface Entry {
  state: ComparisonState;
  isSwapped: boolean;
  /** What was compared last, or could not be: the plans, or the id of the search; null for none. */
  basis: { readonly own: Plan | null; readonly other: Plan | string | null };
  job: AbortController | null;
}

const nothing = { own: null, other: null } as const;

/** Keeps the comparisons of all sessions. An edit that breaks a config leaves the last answer in place, and says so. */
export function createComparisons(sessions: PlanSessions, host: ComparisonHost): Comparisons {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(file: string) => void>();
  let lastId = 0;

  function update(file: string, entry: Entry, change: Partial<ComparisonState>): void {
    if (entries.get(file) !== entry) return;
    entry.state = { ...entry.state, ...change };
    for (const listener of listeners) listener(file);
  }

  /** Of a config the plan that is there once its planning has ended. @throws ExpectedError where it has none. */
  async function currentPlan(file: string): Promise<Plan> {
    const known = sessions.get(file);
    const state = known === undefined ? undefined : await sessions.ensure(file, known.format);
    if (state !== undefined && state.plan !== null && state.error === null) return state.plan;
    throw state?.error ?? new ExpectedError('no-plan', 'There is nothing to compare: the config has no plan', 'fix the config first');
  }

  async function run(file: string, entry: Entry): Promise<void> {
    entry.job?.abort();
    const job = new AbortController();
    entry.job = job;
    entry.basis = nothing;
    update(file, entry, { running: { fraction: null }, error: null });
    try {
      const own = await currentPlan(file);
      const answer = await answerOf(file, entry, own, job.signal);
      if (entry.job === job) update(file, entry, { answer, running: null, staleEdits: 0 });
    } catch (error) {
      // Tried with what there is now: only a change is a reason to try again.
      if (entry.job === job) entry.basis = { own: sessions.get(file)?.plan ?? null, other: otherNow(file, entry) };
      if (entry.job === job) update(file, entry, { running: null, error: shown(error) });
    } finally {
      if (entry.job === job) {
        entry.job = null;
        follow(file, entry);
      }
    }
  }

  async function answerOf(file: string, entry: Entry, own: Plan, signal: AbortSignal): Promise<ComparisonAnswer> {
    const { other } = entry.state;
    const id = (): string => `${file}#${++lastId}`;
    const config = host.displayPath(file);
    if (other.kind === 'measured') {
      entry.basis = { own, other: null };
      const against = { kind: 'measured', path: host.pathOf(other.file), file: other.file } as const;
      const onProgress = (fraction: number): void => {
        if (!signal.aborted) update(file, entry, { running: { fraction } });
      };
      const comparison = await host.compare(own, against, { signal, onProgress });
      if (comparison.kind === 'plan') throw new Error('a measured run was compared as a plan');
      return measuredAnswer(id(), comparison, own, { config, run: host.displayPath(other.file) });
    }
    const sides = await sidesOf(file, entry, own, other, signal);
    const [a, b] = entry.isSwapped ? [sides.other, sides.own] : [sides.own, sides.other];
    const comparison = await host.compare(a.plan, { kind: 'plan', plan: b.plan }, { signal });
    if (comparison.kind !== 'plan') throw new Error('a plan was compared as a measured run');
    return plansAnswer(id(), comparison, a.side, b.side);
  }

  async function sidesOf(
    file: string,
    entry: Entry,
    own: Plan,
    other: Exclude<Compared, { readonly kind: 'measured' }>,
    signal: AbortSignal,
  ) {
    entry.basis = { own, other: null };
    const config = host.displayPath(file);
    const sideOf = (plan: Plan, side: ComparedSide) => ({ plan, side });
    if (other.kind === 'best') {
      const { plan, isLaunched, answer } = await host.best(file, signal);
      entry.basis = { own, other: answer };
      return {
        own: sideOf(own, planSide(isLaunched ? 'launched' : 'planned', config, own)),
        other: sideOf(plan, planSide('best', config, plan)),
      };
    }
    const plan = await currentPlan(other.file);
    entry.basis = { own, other: plan };
    return {
      own: sideOf(own, planSide('config', config, own)),
      other: sideOf(plan, planSide('config', host.displayPath(other.file), plan)),
    };
  }

  function shown(error: unknown): ExpectedError | null {
    if (error instanceof CancelledError) return null;
    if (error instanceof ExpectedError) return error;
    host.reportBug(error);
    return new ExpectedError('internal', 'TeraPipe failed to compare', 'the log has the details; please report them');
  }

  /** Compares anew when either side is another plan than the one that was compared, and both are settled; else says how old the answer is. */
  function follow(file: string, entry: Entry): void {
    if (entries.get(file) !== entry || entry.job !== null) return;
    const states = statesOf(file, entry);
    if (states === null) return;
    const { own, beside, best } = states;
    const settled = [own, ...beside];
    const isSettled = settled.every(({ progress, staleEdits, error }) => progress === null && staleEdits === 0 && error === null);
    const other = otherNow(file, entry);
    const isFound = entry.state.other.kind !== 'best' || best?.staleEdits === 0;
    if (isSettled && isFound && (own.plan !== entry.basis.own || other !== entry.basis.other)) {
      void run(file, entry);
      return;
    }
    const staleEdits = Math.max(best?.staleEdits ?? 0, ...settled.map((state) => state.staleEdits));
    const broken = settled.find(({ progress, error }) => progress === null && error !== null)?.error ?? entry.state.error;
    if (staleEdits !== entry.state.staleEdits || broken !== entry.state.error) update(file, entry, { staleEdits, error: broken });
  }

  /** The other side as it is now: its plan, or the id of the search. */
  function otherNow(file: string, { state: { other } }: Entry): Entry['basis']['other'] {
    if (other.kind === 'config') return sessions.get(other.file)?.plan ?? null;
    return other.kind === 'best' ? (host.bestStanding(file)?.answer ?? null) : null;
  }

  /** The sessions that an entry looks at; null when one of them is gone. */
  function statesOf(file: string, { state: { other } }: Entry) {
    const own = sessions.get(file);
    if (own === undefined) return null;
    if (other.kind !== 'config') return { own, beside: [], best: other.kind === 'best' ? host.bestStanding(file) : null };
    const beside = sessions.get(other.file);
    return beside === undefined ? null : { own, beside: [beside], best: null };
  }

  const subscription = sessions.onDidChange(({ file: changed }: SessionState) => {
    for (const [file, entry] of entries) {
      if (sessions.get(file) === undefined) close(file);
      else if (changed === file || (entry.state.other.kind === 'config' && entry.state.other.file === changed)) follow(file, entry);
    }
  });
  const bestSubscription = host.onDidChangeBest((file) => {
    const entry = entries.get(file);
    if (entry?.state.other.kind === 'best') follow(file, entry);
  });

  function close(file: string): void {
    const entry = entries.get(file);
    if (entry === undefined) return;
    entry.job?.abort();
    entries.delete(file);
    for (const listener of listeners) listener(file);
  }

  return {
    stateOf: (file) => entries.get(file)?.state ?? null,
    start: async (file, other) => {
      entries.get(file)?.job?.abort();
      const state: ComparisonState = { other, running: null, answer: null, staleEdits: 0, error: null };
      const entry: Entry = { state, isSwapped: false, basis: nothing, job: null };
      entries.set(file, entry);
      await run(file, entry);
    },
    again: async (file) => {
      const entry = entries.get(file);
      if (entry !== undefined) await run(file, entry);
    },
    swap: async (file) => {
      const entry = entries.get(file);
      if (entry === undefined || entry.state.other.kind === 'measured') return;
      entry.isSwapped = !entry.isSwapped;
      await run(file, entry);
    },
    cancel: (file) => {
      const entry = entries.get(file);
      if (entry?.state.answer === null) close(file);
      else entry?.job?.abort();
    },
    close,
    needs: (file) =>
      [...entries].some(
        ([
          own,
          {
            state: { other },
          },
        ]) => own === file || (other.kind === 'config' && other.file === file),
      ),
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      subscription.dispose();
      bestSubscription.dispose();
      for (const { job } of entries.values()) job?.abort();
      entries.clear();
      listeners.clear();
    },
  };
}
