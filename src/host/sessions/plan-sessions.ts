import { CancelledError, ExpectedError } from '../../core/errors';
import type { Finding } from '../../core/findings';
import { notSuppressed } from '../../core/rules/switched-off';
import { heldByNobody } from '../timers';
import type { SessionHost } from './session-host';
import { newState, type SessionFormat, type SessionState } from './session-state';
import { sentence } from '../../core/sentence';

/** Plans of several configs, each kept current as its files change. */
export interface PlanSessions {
  readonly get: (file: string) => SessionState | undefined;
  /** Of findings on a config those that neither its files nor settings switch off. */
  readonly notSuppressed: (file: string, findings: readonly Finding[]) => readonly Finding[];
  readonly all: () => readonly SessionState[];
  /** Files the session read or tried to read, itself included. */
  readonly reads: (file: string) => ReadonlySet<string>;
  /**
   * Starts a session if there is none. Resolves when planning has ended, with success or failure; if an edit restarts it, when that has
   * ended.
   */
  readonly ensure: (file: string, format: SessionFormat) => Promise<SessionState>;
  /**
   * Drops running planning and plans again. @param scenario of the last plan, which is kept, or chosen again as for a file that is new.
   * Rejects only with what `SessionHost.reportBug` got too.
   */
  readonly replan: (file: string, scenario?: 'keep' | 'choose') => Promise<SessionState>;
  /** A file changed: every session that read it counts the edit and plans again after the pause. */
  readonly changed: (file: string) => void;
  readonly cancel: (file: string) => void;
  readonly drop: (file: string) => void;
  readonly onDidChange: (listener: (state: SessionState) => void) => { dispose: () => void };
  /** A session was dropped: its file is gone, or too many were open. */
  readonly onDidDrop: (listener: (file: string) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

/** One file: its state and its running pass. */
interface Session {
  readonly state: () => SessionState;
  readonly reads: () => ReadonlySet<string>;
  /** Drops a running pass, then reads and plans again. */
  readonly start: (scenario?: 'keep' | 'choose') => Promise<SessionState>;
  /** The state once planning has ended, including planning restarted by an edit. */
  readonly settled: () => Promise<SessionState>;
  readonly stop: () => void;
  /** A file that it read was edited. */
  readonly edited: () => void;
}

/** Keeps one session a config. Results of older texts never replace newer ones; the last good plan stays through errors. */
export function createPlanSessions(host: SessionHost): PlanSessions {
  const sessions = new Map<string, Session>();
  const listeners = new Set<(state: SessionState) => void>();
  const dropListeners = new Set<(file: string) => void>();
  const open = (file: string, format: SessionFormat): Session => {
    const session = openSession(host, newState(file, format), (state) => {
      if (sessions.get(file) === session) for (const listener of listeners) listener(state);
    });
    sessions.set(file, session);
    void session.start();
    return session;
  };
  return {
    get: (file) => sessions.get(file)?.state(),
    all: () => [...sessions.values()].map(({ state }) => state()),
    reads: (file) => sessions.get(file)?.reads() ?? new Set(),
    notSuppressed: (file, findings) =>
      notSuppressed(findings, file, sessions.get(file)?.state().texts ?? new Map(), host.switchedOff(file)),
    ensure: (file, format) => (sessions.get(file) ?? open(file, format)).settled(),
    replan: (file, scenario) => sessions.get(file)?.start(scenario) ?? Promise.reject(new Error(`no session for ${file}`)),
    changed: (file) => {
      for (const session of sessions.values()) if (session.reads().has(file)) session.edited();
    },
    cancel: (file) => sessions.get(file)?.stop(),
    drop: (file) => {
      sessions.get(file)?.stop();
      if (sessions.delete(file)) for (const listener of dropListeners) listener(file);
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    onDidDrop: (listener) => {
      dropListeners.add(listener);
      return { dispose: () => dropListeners.delete(listener) };
    },
    dispose: () => {
      for (const session of sessions.values()) session.stop();
      sessions.clear();
      listeners.clear();
      dropListeners.clear();
    },
  };
}

/** The state without what its files or settings switch off. */
function withoutSuppressed(state: SessionState, off: ReadonlySet<string>): SessionState {
  const findings = notSuppressed(state.findings, state.file, state.texts, off);
  return findings === state.findings ? state : { ...state, findings };
}

function openSession(host: SessionHost, first: SessionState, changed: (state: SessionState) => void): Session {
  const { file } = first;
  let state = first;
  let edits = 0;
  let plannedEdits = 0;
  let reads: ReadonlySet<string> = new Set([file]);
  let abort: AbortController | null = null;
  /** Runs while edits follow each other; and what starts the next pass. */
  let burst: ReturnType<typeof setTimeout> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let current: Promise<SessionState> | null = null;

  const update = (change: Partial<SessionState>): void => {
    const now = withoutSuppressed({ ...state, ...change }, host.switchedOff(file));
    const isNew = now.plan === null && now.schedule === null && now.elastic === null;
    const incumbent = now.progress === null ? null : now.incumbent;
    state = { ...now, incumbent, edits, staleEdits: isNew ? 0 : edits - plannedEdits };
    changed(state);
  };
  const stop = (): void => {
    clearTimeout(timer);
    abort?.abort();
    abort = null;
  };
  const fail = (signal: AbortSignal, error: unknown, texts: ReadonlyMap<string, string>): void => {
    if (signal.aborted || error instanceof CancelledError) {
      const superseded = signal.aborted && abort !== null;
      if (!superseded) update({ progress: null });
      return;
    }
    const expected = error instanceof ExpectedError ? error : internalError();
    if (expected !== error) host.reportBug(error);
    const wasRead = state.texts === texts;
    const failed = { progress: null, error: expected, texts };
    update(wasRead ? failed : { ...failed, run: null, launcher: null, reread: null, findings: [] });
  };
  const work = async (signal: AbortSignal, keepsScenario: boolean): Promise<SessionState> => {
    const begunEdits = edits;
    const texts = new Map<string, string>();
    const tried = new Set([file]);
    const read = async (path: string): Promise<string> => {
      reads = new Set([...reads, path]);
      tried.add(path);
      const text = await host.readText(path);
      texts.set(path, text);
      return text;
    };
    try {
      // Much code, which is loaded with the first config.
      const { runPass } = await import('./plan-pass');
      await runPass({
        host,
        file,
        signal,
        read,
        texts,
        keepsScenario,
        state: () => state,
        update,
        planned: () => void (plannedEdits = begunEdits),
        followOnlyRead: () => void (reads = tried),
      });
    } catch (error) {
      fail(signal, error, texts);
    }
    return state;
  };
  const start = (scenario: 'keep' | 'choose' = 'keep'): Promise<SessionState> => {
    stop();
    abort = new AbortController();
    const promise = work(abort.signal, scenario === 'keep').finally(() => {
      if (current === promise) current = null;
    });
    current = promise;
    return promise;
  };
  return {
    state: () => state,
    reads: () => reads,
    start,
    settled: async () => {
      while (current !== null) await current;
      return state;
    },
    stop,
    edited: () => {
      edits += 1;
      update({});
      const delayMs = host.delayMs();
      if (delayMs === null) return;
      const isFirst = burst === undefined;
      clearTimeout(burst);
      clearTimeout(timer);
      burst = heldByNobody(setTimeout(() => (burst = undefined), delayMs));
      timer = setTimeout(() => void start(), isFirst ? 0 : delayMs);
    },
  };
}

/** What a page shows for a bug; the details are in the log. */
function internalError(): ExpectedError {
  return new ExpectedError(
    'internal',
    sentence`TeraPipe failed to plan this config`,
    sentence`the log has the details; please report them`,
  );
}
