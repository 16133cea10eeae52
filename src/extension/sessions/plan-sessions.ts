import type { LauncherFile, LauncherReader } from '../../core/formats/facts';
import type { ReadReferenced, Run } from '../../core/formats/run';
import type { ConfigFormat } from '../../core/formats/config-format';
import type { ElasticAnswer } from '../../core/elastic/answer';
import { readNamedNorms } from '../../core/elastic/named-norms';
import type { ElasticRequest } from '../../core/elastic/request';
import { resolveElastic } from '../../core/elastic/resolve';
import { CancelledError, ExpectedError, placed, throwIfCancelled } from '../../core/errors';
import type { Finding } from '../../core/findings';
import { loadConfig, type LoadedConfig } from '../../core/load/load-config';
import { launchedMemoryFindings } from '../../core/export/launchers/memory-fixes';
import { isLauncher, readerOf, recogniseConfig } from '../../core/load/readers';
import { findingsOf } from '../../core/rules/run-findings';
import type { Plan } from '../../core/planner/plan';
import type { PlanRequest } from '../../core/spec/request';
import type { ResolveDefaults } from '../../core/resolve/defaults';
import type { Remedy } from '../../core/rules/plan/remedies';
import type { NamedProfile } from '../../core/spec/profile';
import type { StandingTimes } from '../../core/slicing/solve';
import { isScheduleCsv } from '../../core/schedules/pytorch-csv/cells';
import type { ScheduleFile, SteppedSchedule } from '../../core/schedules/pytorch-csv/schedule-file';
import { tooLargeToDraw } from './schedule-size';

/** What a session is of: a config, or a schedule in PyTorch's CSV, which is drawn as it is. */
export type SessionFormat = ConfigFormat | 'pytorch-schedule';

/** Everything known about one config or schedule file. Replaced whole on every change. */
export interface SessionState {
  /** Identity of the config: its URI. */
  readonly file: string;
  readonly format: SessionFormat;
  /** As `texts` read; null when they could not be read to the end. */
  readonly run: Run | null;
  /** What a launcher's file says; null for other configs. */
  readonly launcher: LauncherFile | null;
  /** The last good plan; of an older text while `staleEdits` is not 0. */
  readonly plan: Plan | null;
  /** The last that could run, of a schedule file; aged as `plan`. */
  readonly schedule: SteppedSchedule | null;
  /** As `plan`, for a run that freezes layers: of a file with an `elastic` section, and of encoders, which are planned in no other way. */
  readonly elastic: ElasticAnswer | null;
  /** 0..1 while planning, else null. */
  readonly progress: number | null;
  /** The best slices so far while they are solved for, else null. */
  readonly standing: StandingTimes | null;
  /** Edits since `plan`, `schedule` and `elastic` were made. */
  readonly staleEdits: number;
  /** Edits since the session began. */
  readonly edits: number;
  readonly error: ExpectedError | null;
  readonly findings: readonly Finding[];
  /** The texts that `run`, `error` and `findings` point into, by file. */
  readonly texts: ReadonlyMap<string, string>;
}

/** What sessions need of VS Code; tests give their own. */
export interface SessionHost {
  /** Text of a file as the user sees it. Rejects with an `ExpectedError`. */
  readonly readText: (file: string) => Promise<string>;
  /** Identity of the file that `path`, written in `from`, names. @throws ExpectedError when it names none. */
  readonly resolvePath: (from: string, path: string) => string;
  /** The reader of shell scripts, whose grammar is loaded when one is met. */
  readonly shell: () => Promise<LauncherReader>;
  /** The run with what its files leave open filled in: off this thread, since layouts are looked for. */
  readonly resolve: (run: Run, found: readonly NamedProfile[], options: { readonly signal: AbortSignal }) => Promise<PlanRequest>;
  /** The smallest changes with which a run fits whose plan does not. */
  readonly remedies: (
    run: Run,
    found: readonly NamedProfile[],
    plan: Plan,
    options: { readonly signal: AbortSignal },
  ) => Promise<readonly Remedy[]>;
  readonly plan: (
    request: PlanRequest,
    options: {
      readonly signal: AbortSignal;
      readonly onProgress: (fraction: number) => void;
      readonly onStanding: (standing: StandingTimes) => void;
    },
  ) => Promise<Plan>;
  readonly planElastic: (request: ElasticRequest, options: { readonly signal: AbortSignal }) => Promise<ElasticAnswer>;
  /** Reads and draws a schedule in PyTorch's CSV, off this thread: a million cells take seconds. */
  readonly readSchedule: (text: string, file: string, name: string, options: { readonly signal: AbortSignal }) => Promise<ScheduleFile>;
  readonly defaults: (file: string) => ResolveDefaults;
  /** Profiles that lie near a config. Never rejects. */
  readonly profiles: (file: string) => Promise<readonly NamedProfile[]>;
  /** Pause after an edit before planning, ms; null: do not plan on edits. */
  readonly delayMs: () => number | null;
  /** Called with anything that is neither cancelled nor expected. */
  readonly reportBug: (error: unknown) => void;
}

/** Plans of several configs, each kept current as its files change. */
export interface PlanSessions {
  readonly get: (file: string) => SessionState | undefined;
  readonly all: () => readonly SessionState[];
  /** Files the session read or tried to read, itself included. */
  readonly reads: (file: string) => ReadonlySet<string>;
  /** Starts a session when there is none yet; resolves when its planning has ended, that of an edit which overtook it included, however it ended. */
  readonly ensure: (file: string, format: SessionFormat) => Promise<SessionState>;
  /** Plans afresh, dropping what is under way. Rejects only with what `SessionHost.reportBug` got too. */
  readonly replan: (file: string) => Promise<SessionState>;
  /** A file changed: every session that read it counts the edit and plans again after the pause. */
  readonly changed: (file: string) => void;
  readonly cancel: (file: string) => void;
  readonly drop: (file: string) => void;
  readonly onDidChange: (listener: (state: SessionState) => void) => { dispose: () => void };
  readonly dispose: () => void;
}

interface Session {
  state: SessionState;
  edits: number;
  plannedEdits: number;
  reads: Set<string>;
  abort: AbortController | null;
  timer: ReturnType<typeof setTimeout> | null;
  current: Promise<SessionState> | null;
}

/** Keeps one session a config. Results of older texts never replace newer ones; the last good plan stays through errors. */
export function createPlanSessions(host: SessionHost): PlanSessions {
  const sessions = new Map<string, Session>();
  const listeners = new Set<(state: SessionState) => void>();

  function update(session: Session, change: Partial<SessionState>): void {
    if (sessions.get(session.state.file) !== session) return;
    const now = { ...session.state, ...change };
    const isNew = now.plan === null && now.schedule === null && now.elastic === null;
    const standing = now.progress === null ? null : now.standing;
    session.state = { ...now, standing, edits: session.edits, staleEdits: isNew ? 0 : session.edits - session.plannedEdits };
    for (const listener of listeners) listener(session.state);
  }

  function open(file: string, format: SessionFormat): Session {
    const state: SessionState = {
      file,
      format,
      run: null,
      launcher: null,
      plan: null,
      schedule: null,
      elastic: null,
      progress: null,
      standing: null,
      staleEdits: 0,
      edits: 0,
      error: null,
      findings: [],
      texts: new Map(),
    };
    const session: Session = { state, edits: 0, plannedEdits: 0, reads: new Set([file]), abort: null, timer: null, current: null };
    sessions.set(file, session);
    return session;
  }

  function start(session: Session): Promise<SessionState> {
    stop(session);
    const abort = new AbortController();
    session.abort = abort;
    const promise = work(session, abort.signal).finally(() => {
      if (session.current === promise) session.current = null;
    });
    session.current = promise;
    return promise;
  }

  /** The state once planning has ended, that of an edit which overtook it included. */
  async function settled(session: Session): Promise<SessionState> {
    while (session.current !== null) await session.current;
    return session.state;
  }

  function stop(session: Session): void {
    if (session.timer !== null) clearTimeout(session.timer);
    session.timer = null;
    session.abort?.abort();
    session.abort = null;
  }

  async function work(session: Session, signal: AbortSignal): Promise<SessionState> {
    const { file } = session.state;
    const edits = session.edits;
    const texts = new Map<string, string>();
    const tried = new Set([file]);
    const read = async (path: string): Promise<string> => {
      session.reads.add(path);
      tried.add(path);
      const text = await host.readText(path);
      texts.set(path, text);
      return text;
    };
    update(session, { progress: 0, standing: null });
    try {
      const text = await read(file);
      throwIfCancelled(signal);
      if (session.state.format === 'pytorch-schedule') return await drawSchedule(session, edits, text, signal);
      const format = recogniseConfig(file, text) ?? session.state.format;
      const readReferenced: ReadReferenced = async (from, path) => {
        const referenced = host.resolvePath(from, path);
        return { file: referenced, text: await read(referenced) };
      };
      const config = await loadConfig(file, text, { read: readReferenced, shell: host.shell });
      throwIfCancelled(signal);
      const { run, launcher } = config;
      const judged = (plan: Plan | null): readonly Finding[] =>
        run === null
          ? config.findings
          : isLauncher(format)
            ? [...config.findings, ...launchedMemoryFindings(run, plan)]
            : findingsOf(run, planToJudge(run, plan)).filter(isTrueOf(run));
      if (run !== null) session.reads = tried;
      update(session, { run, launcher, texts, format, findings: judged(null), error: config.noRun });
      if (run === null) {
        // A launcher that names no sizes has no plan; a terapipe.json that is broken keeps its last one.
        update(session, launcher === null ? { progress: null } : { plan: null, elastic: null, progress: null });
        return session.state;
      }
      const found = await host.profiles(file);
      throwIfCancelled(signal);
      const isAlsoElastic = isElastic(run);
      if (!isAlsoElastic || run.unplanned === undefined) {
        const request = await host.resolve(run, found, { signal });
        throwIfCancelled(signal);
        const plan = await host.plan(request, {
          signal,
          onProgress: (progress) => {
            if (!signal.aborted) update(session, { progress: isAlsoElastic ? progress / 2 : progress });
          },
          onStanding: (standing) => {
            if (!signal.aborted) update(session, { standing });
          },
        });
        throwIfCancelled(signal);
        session.plannedEdits = edits;
        update(session, { plan, findings: judged(plan) });
      } else update(session, { plan: null });
      const elastic = isAlsoElastic ? await elasticOf(run, found, { signal, read: readReferenced }) : null;
      throwIfCancelled(signal);
      session.plannedEdits = edits;
      update(session, { elastic, error: null, progress: null });
      const { plan } = session.state;
      if (plan !== null && planToJudge(run, plan) !== null) void offerRemedies(session, config, run, plan, found, signal);
    } catch (error) {
      fail(session, signal, error, texts);
    }
    return session.state;
  }

  /** Looks, once the plan is shown, for the smallest changes that fit where it does not; an edit stops it. */
  async function offerRemedies(
    session: Session,
    config: LoadedConfig,
    run: Run,
    plan: Plan,
    found: readonly NamedProfile[],
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const remedies = await host.remedies(run, found, plan, { signal });
      if (remedies.length === 0) return;
      const { launcher } = config;
      const launched =
        launcher === null || !isLauncher(launcher.format) ? null : { launcher, read: await readerOf(launcher.format, host.shell) };
      const findings =
        launched === null
          ? findingsOf(run, plan, remedies).filter(isTrueOf(run))
          : [...config.findings, ...launchedMemoryFindings(run, plan, remedies, launched)];
      if (!signal.aborted) update(session, { findings });
    } catch (error) {
      if (!signal.aborted && !(error instanceof CancelledError)) host.reportBug(error);
    }
  }

  /** A text that is no schedule any more, such as one about to be written anew, is nothing to complain about. */
  async function drawSchedule(session: Session, edits: number, text: string, signal: AbortSignal): Promise<SessionState> {
    const { file } = session.state;
    const isSchedule = isScheduleCsv(text);
    const refusal = isSchedule ? tooLargeToDraw(text, file) : null;
    const nothing: ScheduleFile = { findings: refusal === null ? [] : [refusal], drawn: null };
    const { findings, drawn } =
      isSchedule && refusal === null ? await host.readSchedule(text, file, nameOfFile(file), { signal }) : nothing;
    throwIfCancelled(signal);
    if (drawn !== null) session.plannedEdits = edits;
    const error = drawn === null ? errorOfFinding(findings[0]) : null;
    update(session, {
      texts: new Map(refusal === null ? [[file, text]] : []),
      findings,
      error,
      progress: null,
      ...(drawn === null ? {} : { schedule: drawn }),
    });
    return session.state;
  }

  async function elasticOf(
    run: Run,
    found: readonly NamedProfile[],
    { signal, read }: { readonly signal: AbortSignal; readonly read: ReadReferenced },
  ): Promise<ElasticAnswer> {
    const norms = await readNamedNorms(run, read);
    throwIfCancelled(signal);
    const request = placed(run.place, () => resolveElastic(run, host.defaults(run.file), norms, found));
    return host.planElastic(request, { signal }).catch((error: unknown) =>
      placed(run.place, () => {
        throw error;
      }),
    );
  }

  function fail(session: Session, signal: AbortSignal, error: unknown, texts: ReadonlyMap<string, string>): void {
    if (signal.aborted || error instanceof CancelledError) {
      const superseded = signal.aborted && session.abort !== null;
      if (!superseded) update(session, { progress: null });
      return;
    }
    const expected = error instanceof ExpectedError ? error : internalError();
    if (expected !== error) host.reportBug(error);
    const wasRead = session.state.texts === texts;
    update(session, { progress: null, error: expected, texts, ...(wasRead ? {} : { run: null, launcher: null, findings: [] }) });
  }

  return {
    get: (file) => sessions.get(file)?.state,
    all: () => [...sessions.values()].map(({ state }) => state),
    reads: (file) => sessions.get(file)?.reads ?? new Set(),
    ensure: (file, format) => {
      const known = sessions.get(file);
      const session = known ?? open(file, format);
      if (known === undefined) void start(session);
      return settled(session);
    },
    replan: (file) => {
      const session = sessions.get(file);
      return session === undefined ? Promise.reject(new Error(`no session for ${file}`)) : start(session);
    },
    changed: (file) => {
      for (const session of sessions.values()) {
        if (!session.reads.has(file)) continue;
        session.edits += 1;
        update(session, {});
        const delayMs = host.delayMs();
        if (delayMs === null) continue;
        if (session.timer !== null) clearTimeout(session.timer);
        session.timer = setTimeout(() => void start(session), delayMs);
      }
    },
    cancel: (file) => {
      const session = sessions.get(file);
      if (session !== undefined) stop(session);
    },
    drop: (file) => {
      const session = sessions.get(file);
      if (session !== undefined) stop(session);
      sessions.delete(file);
    },
    onDidChange: (listener) => {
      listeners.add(listener);
      return { dispose: () => listeners.delete(listener) };
    },
    dispose: () => {
      for (const session of sessions.values()) stop(session);
      sessions.clear();
      listeners.clear();
    },
  };
}

/** Last part of a URI's path, as people read it. */
function nameOfFile(file: string): string {
  return decodeURIComponent(file.slice(file.lastIndexOf('/') + 1));
}

function errorOfFinding(finding: Finding | undefined): ExpectedError | null {
  return finding === undefined ? null : new ExpectedError(finding.code, finding.message, finding.remedy, finding.place);
}

/** A model config alone says nothing of the GPUs it must fit: the cluster is an assumption, and no reason for remarks on the file. */
function planToJudge({ format }: Run, plan: Plan | null): Plan | null {
  return format === 'huggingface' ? null : plan;
}

function isElastic({ elastic, encoder }: Run): boolean {
  return elastic !== undefined || encoder !== undefined;
}

/** That a model is not planned is no news of one that is, as a run that freezes layers. */
function isTrueOf(run: Run): (finding: Finding) => boolean {
  return ({ code }) => code !== 'model-not-planned' || !isElastic(run);
}

/** What a page shows for a failure that is our fault; the details are in the log. */
function internalError(): ExpectedError {
  return new ExpectedError('internal', 'TeraPipe failed to plan this config', 'the log has the details; please report them');
}
