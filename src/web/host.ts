import wasm from './wasm';
import { CancelledError, ExpectedError } from '../core/errors';
import { shellReaderFrom } from '../core/launchers/shell/load-reader';
import { say } from '../core/sentence';
import { bestLayouts } from '../features/compare/host/best-layout';
import { createComparisons } from '../features/compare/host/comparisons';
import { toPageComparison } from '../features/compare/host/page';
import { createPrefills, prefillPlanner } from '../features/prefill/host/prefills';
import { toPagePrefill } from '../features/prefill/host/shown';
import { toPageLayout } from '../host/pages/layout-page';
import { linkPage, type LinkServices } from '../host/pages/page-link';
import { toPageHistory, toPageWhatIf } from '../host/pages/tab-parts';
import { patienceWithoutFlagMs, canShareMemory } from '../host/planner/cancel-flag';
import { createPlannerClient, type PlannerClient } from '../host/planner/client';
import { createLayoutSearches } from '../host/sessions/layout-searches';
import { createPlanHistories } from '../host/sessions/plan-histories';
import { createPlanSessions } from '../host/sessions/plan-sessions';
import type { SessionFormat, SessionState } from '../host/sessions/session-state';
import { createWhatIfs } from '../host/sessions/what-ifs';
import { actForPage, type ActContext, type Surroundings } from './actions';
import { compareWithFile } from './compare';
import { defaults } from './defaults';
import { displayPath, resolvePath, type WebFiles } from './files';
import { plannerStarter } from './planner-worker';

export interface WebHost {
  /** Takes what the page sent. */
  readonly receive: (message: unknown) => void;
  /** Shows a config: reads and plans it. */
  readonly show: (file: string, format: SessionFormat) => void;
  readonly shown: () => string | null;
  /** Whether the shown config cannot be planned, as where its model is in another file. */
  readonly isRefused: () => boolean;
  /** Compares the shown config with a measured run or a config that was dropped. @throws ExpectedError `compare-unknown`. */
  readonly compareWith: (file: File) => void;
  /** A file has another text. */
  readonly changed: (file: string) => void;
}

const typingPauseMs = 250;

/** Sessions of configs, and what is searched, tried and compared of them. */
function startSessions(files: WebFiles) {
  const start = plannerStarter(files.measured);
  const patience = canShareMemory() ? {} : { patienceMs: patienceWithoutFlagMs };
  const startClient = (): PlannerClient => createPlannerClient(start, { ...patience, restMs: 10 * 60_000 });
  const [planner, searcher] = [startClient(), startClient()];
  const shell = shellReaderFrom(wasm);
  const profiles = () => Promise.resolve([]);
  const sessions = createPlanSessions({
    readText: (file) => Promise.resolve().then(() => files.read(file)),
    resolvePath,
    shell,
    // Nothing is kept from the plan before: a link, a reload and the terminal are to give the same plan.
    resolve: (run, found, _, options) => planner.resolve({ run, found: [...found], defaults }, options),
    remedies: (run, found, plan, options) => searcher.remedies({ run, found: [...found], defaults }, plan, options),
    plan: planner.plan,
    planElastic: planner.planElastic,
    readSchedule: planner.readSchedule,
    profiles,
    defaults: () => defaults,
    switchedOff: () => new Set(),
    delayMs: () => typingPauseMs,
    reportBug,
  });
  const layouts = createLayoutSearches(sessions, { search: searcher.search, plan: planner.plan, isAutomatic: () => false, reportBug });
  const whatIfs = createWhatIfs(sessions, {
    plan: (run, sets, _, options) => planner.whatIf({ run, found: [], defaults }, sets, options),
    reportBug,
  });
  const histories = createPlanHistories(sessions, () => false);
  const prefills = createPrefills(
    sessions,
    prefillPlanner(searcher, profiles, () => defaults),
  );
  const comparisons = createComparisons(sessions, {
    compare: searcher.compare,
    ...bestLayouts(layouts, planner.plan),
    localPath: (file) => file,
    displayPath,
    reportBug,
  });
  return { sessions, layouts, whatIfs, histories, prefills, comparisons, plan: planner.plan, shell };
}

type WebSessions = ReturnType<typeof startSessions>;

const reportBug = (error: unknown): void => console.error(error);

/** What tabs show in addition to the plan. */
function pageParts({ sessions, layouts, whatIfs, histories, prefills, comparisons }: WebSessions, files: WebFiles): LinkServices['parts'] {
  return {
    profile: { of: () => null, changed: () => ({ dispose: () => undefined }) },
    layout: { of: (state) => toPageLayout(state, layouts.state(state.file)), changed: layouts.onDidChange },
    comparison: {
      of: ({ file }, sent) =>
        toPageComparison(file, comparisons.state(file), {
          displayPath,
          sessionTexts: (each) => sessions.get(each)?.texts ?? new Map(),
          sent,
        }),
      changed: comparisons.onDidChange,
    },
    prefill: { of: (state) => toPagePrefill(state, prefills.state(state.file), displayPath), changed: prefills.onDidChange },
    whatIf: { of: (state) => toPageWhatIf(state, whatIfs.state(state.file), displayPath), changed: whatIfs.onDidChange },
    history: { of: (state) => toPageHistory(state, histories, files.canUndo()), changed: histories.onDidChange },
  };
}

/** The host of the page, as `src/extension` is in VS Code: the same sessions and messages, over files in memory and web workers. */
export function startHost(files: WebFiles, post: LinkedPost, around: Surroundings): WebHost {
  const made = startSessions(files);
  const { sessions, layouts } = made;
  let shown: string | null = null;
  const session = (): SessionState | null => (shown === null ? null : (sessions.get(shown) ?? null));
  const services: LinkServices = {
    sessions,
    layouts,
    displayPath,
    isWorkspaceTrusted: () => true,
    trainingCost: () => ({ tokens: null, gpuHourPrice: null, currency: 'USD' }),
    parts: pageParts(made, files),
    act: (message, state) => reported(actForPage(actContext(), message, state)),
  };
  const actContext = (): ActContext => ({ ...made, files, around, showTab: link.showTab });
  const reported = (work: Promise<void>): void =>
    void work.catch((error: unknown) => {
      if (error instanceof ExpectedError) around.say(`${say(error.what)}. ${say(error.remedy)}.`);
      else if (!(error instanceof CancelledError)) reportBug(error);
    });
  const link = linkPage(services, { page: 'tab', session, isVisible: () => true, post, report: (report) => post.report(report) });

  return {
    receive: link.receive,
    shown: () => shown,
    isRefused: () => {
      const state = session();
      return state !== null && state.plan === null && state.elastic === null && state.error !== null;
    },
    compareWith: (file) => {
      if (shown !== null) reported(compareWithFile(actContext(), shown, file));
    },
    changed: sessions.changed,
    show: (file, format) => {
      for (const { file: other } of sessions.all()) if (other !== file) sessions.drop(other);
      shown = file;
      void sessions.ensure(file, format);
      link.refresh();
    },
  };
}

/** Posts to the page, and hears what it reports of itself. */
type LinkedPost = Parameters<typeof linkPage>[1]['post'] & { readonly report: Parameters<typeof linkPage>[1]['report'] };
