import * as vscode from 'vscode';
import { patienceWithoutFlagMs, canShareMemory } from '../host/planner/cancel-flag';
import { createPlannerClient, type PlannerClient } from '../host/planner/client';
import type { StartPlanner } from '../host/planner/process';
import { registerLanguageModelTools } from '../features/agents/vscode/language-model-tools';
import { registerMcpServers } from '../features/agents/vscode/mcp-servers';
import { comparisonHost } from '../features/compare/vscode/comparison-context';
import { createComparisons } from '../features/compare/host/comparisons';
import type { Commands } from './commands/commands';
import { welcomeToSample } from './commands/sample-window';
import { registerExplorer } from './views/explorer';
import { followFiles } from './sessions/follow-files';
import { createLayoutDiffs } from './sessions/layout-diff';
import { createLayoutSearches } from '../host/sessions/layout-searches';
import { createPageFocus } from './views/page-focus';
import { registerLanguage } from './language/register';
import { openPageWith, type OpenPage } from './views/open-page';
import type { PageServices } from './views/page-host';
import type { TabStores } from './views/page-parts';
import type { SessionHost } from '../host/sessions/session-host';
import { createPlanSessions, type PlanSessions } from '../host/sessions/plan-sessions';
import { createPageEdits, type PageEdits } from './commands/page-edits';
import { createPlanHistories, type PlanHistories } from '../host/sessions/plan-histories';
import { createWhatIfs, type WhatIfHost, type WhatIfs } from '../host/sessions/what-ifs';
import { createPrefills, prefillPlanner } from '../features/prefill/host/prefills';
import { createRehearsals } from '../features/rehearsal/vscode/rehearsals';
import { createProfiles, type Profiles } from './sessions/profiles';
import { registerTasks } from './commands/check-tasks';
import { registerCommands } from './commands/register-commands';
import { reportBug, runCommand } from './commands/run-command';
import { registerConfigTests } from './views/config-tests';
import { registerScheduleView } from './views/schedule-view';
import { shellReaderFrom } from '../core/launchers/shell/load-reader';
import { limitSessions } from '../host/sessions/session-limit';
import { isDesktop } from './platform/desktop';
import { affectsPlans, planDefaults, planDelayMs, searchesLayouts, switchedOff, trainingCost } from './platform/settings';
import { createScenarios, type Scenarios } from '../host/sessions/scenarios';
import { createShownConfig } from './sessions/shown-config';
import { displayPath, readText, resolvePath } from './sessions/sources';
import { createReportDocuments } from './views/report-documents';
import { registerStatusBar } from './views/status-bar';
import { createTimelinePanels, type TimelinePanels } from './views/timeline-panels';

/** Builds everything bottom up. @param plannerIn starts planners of a bundle, by its path in the extension. */
export function build(context: vscode.ExtensionContext, log: vscode.LogOutputChannel, plannerIn: (bundle: string) => StartPlanner): void {
  const keep = <T extends { dispose: () => unknown }>(part: T): T => {
    context.subscriptions.push(part);
    return part;
  };
  const onError = (error: unknown): void => reportBug(log, 'background', error);

  const profilerFile = context.asAbsolutePath('dist/profiler.js');
  const profiles: Profiles = keep(createProfiles(() => sessions, profilerFile, log));
  const rehearsals = keep(createRehearsals(profilerFile));
  const startPlanner = (bundle = 'dist/worker.js'): PlannerClient => keep(plannerFrom(plannerIn(bundle), log));
  const planner = startPlanner();
  // Plans are waited for: a search never delays one, nor does a measured run that is read.
  const [searcher, comparer] = [startPlanner(), startPlanner()];
  const shell = shellReaderFrom((name) => vscode.workspace.fs.readFile(vscode.Uri.joinPath(context.extensionUri, 'dist', name)));
  const scenarios = createScenarios((file) => planDefaults(vscode.Uri.parse(file), log), context.workspaceState);
  const sessions: PlanSessions = keep(createPlanSessions(sessionHost({ planner, searcher, profiles, scenarios, shell, log })));
  keep(scenarios.follow(sessions));
  const layouts = keep(
    createLayoutSearches(sessions, {
      search: searcher.search,
      plan: planner.plan,
      isAutomatic: searchesLayouts,
      reportBug: (error) => reportBug(log, 'search', error),
    }),
  );
  const measured = { ...comparisonHost(layouts, planner.plan), compare: comparer.compare };
  const comparisons = keep(createComparisons(sessions, { ...measured, reportBug: (error) => reportBug(log, 'comparison', error) }));
  const { whatIfs, histories, edits } = planChanges(keep, sessions, {
    plan: async (run, sets, kept, options) =>
      planner.whatIf({ run, found: await profiles.found(run.file), defaults: scenarios.defaultsKeeping(run.file, kept) }, sets, options),
    reportBug: (error) => reportBug(log, 'what-if', error),
  });
  const prefills = keep(createPrefills(sessions, prefillPlanner(searcher, profiles.found, scenarios.resolveDefaults)));
  const [diffs, reports] = [keep(createLayoutDiffs()), keep(createReportDocuments())];
  const shown = keep(createShownConfig(sessions, context.workspaceState, onError, log));
  keep(followFiles(sessions, onError));

  const commandParts = {
    whatIfs,
    histories,
    edits,
    layouts,
    comparisons,
    prefills,
    scenarios,
    context,
    sessions,
    shown,
    log,
    diffs,
    reports,
    shell,
    torchFolder: context.asAbsolutePath('dist/torch'),
    plan: planner.plan,
    searcher,
    measured,
    profiles,
    focus,
  };
  const pages: Omit<PageServices, 'parts'> = {
    extensionUri: context.extensionUri,
    sessions,
    layouts,
    displayPath,
    isWorkspaceTrusted: () => vscode.workspace.isTrusted,
    trainingCost: (file) => trainingCost(file === null ? undefined : vscode.Uri.parse(file)),
    log,
    focus,
    act: (message, session) =>
      void runCommand(log, `page ${message.type}`, async () => {
        const { actForPage } = await import('./views/page-actions');
        await actForPage({ ...commandParts, panels }, message, session);
      }),
  };
  const openPage = pageOpener(pages, { sessions, profiles, layouts, comparisons, prefills, whatIfs, histories, edits }, onError);
  const panels: TimelinePanels = keep(createTimelinePanels(openPage, sessions, context.extensionUri, shown));
  keep(registerScheduleView(openPage, shown, panels, onError));
  const explorer = keep(registerExplorer(sessions, log));
  keep(limitSessions(sessions, (file) => file === shown.file() || panels.has(file) || comparisons.needs(file) || isInView(sessions, file)));

  const commands = async (): Promise<Commands> => {
    const { createCommands } = await import('./commands/commands');
    return createCommands({
      ...commandParts,
      rehearsals,
      prepareRehearsal: planner.prepareRehearsal,
      panels,
      refreshExplorer: explorer.refresh,
    });
  };
  keep(registerCommands(context.extension, commands, log));
  keep(registerLanguage({ sessions, layouts, prefills, scenarios, shown, documentation: findingsDocumentation(context), onError }));
  keep(registerConfigTests(sessions, log, onError));
  if (isDesktop()) {
    const tools = { ask: startPlanner('dist/tools.js').ask, defaults: scenarios.resolveDefaults };
    keep(registerLanguageModelTools(context.extension, tools));
    keep(vscode.Disposable.from(registerMcpServers(context), registerTasks(context)));
  }
  keep(registerStatusBar(sessions, shown));
  keep(followSettings(sessions, onError));
  void welcomeToSample(context).catch(onError);
}

/** A planner outside this thread. */
function plannerFrom(start: StartPlanner, log: vscode.LogOutputChannel): PlannerClient {
  const patience = isDesktop() || canShareMemory() ? {} : { patienceMs: patienceWithoutFlagMs };
  return createPlannerClient(start, { ...patience, onLost: (why) => log.warn(`A planner's process ended: ${why}`) });
}

/** Opens pages; their code is loaded with the first. */
function pageOpener(pages: Omit<PageServices, 'parts'>, stores: TabStores, onError: (error: unknown) => void): OpenPage {
  return openPageWith(async () => {
    const [{ attachPage }, { pageParts }] = await Promise.all([import('./views/page-host'), import('./views/page-parts')]);
    const services = { ...pages, parts: pageParts(stores) };
    return (webview, source) => attachPage(webview, services, source);
  }, onError);
}

/** What sessions need of VS Code and of the planner's processes. */
function sessionHost({
  planner,
  searcher,
  profiles,
  scenarios,
  shell,
  log,
}: {
  readonly planner: PlannerClient;
  readonly searcher: PlannerClient;
  readonly profiles: Profiles;
  readonly scenarios: Scenarios;
  readonly shell: SessionHost['shell'];
  readonly log: vscode.LogOutputChannel;
}): SessionHost {
  return {
    readText,
    resolvePath,
    shell,
    resolve: (run, found, kept, options) => planner.resolve({ run, found, defaults: scenarios.defaultsKeeping(run.file, kept) }, options),
    remedies: (run, found, plan, options) =>
      searcher.remedies({ run, found, defaults: scenarios.resolveDefaults(run.file) }, plan, options),
    plan: planner.plan,
    planElastic: planner.planElastic,
    readSchedule: planner.readSchedule,
    profiles: (file) => profiles.found(file),
    defaults: scenarios.resolveDefaults,
    switchedOff,
    delayMs: planDelayMs,
    reportBug: (error) => reportBug(log, 'planning', error),
  };
}

/** Whether an editor shows a file of a session, which would be planned again at once and push out another. */
function isInView(sessions: PlanSessions, file: string): boolean {
  return vscode.window.visibleTextEditors.some(({ document }) => sessions.reads(file).has(document.uri.toString()));
}

/** Plans again when a setting changes that plans are made with. */
function followSettings(sessions: PlanSessions, onError: (error: unknown) => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (affectsPlans(event)) for (const { file } of sessions.all()) void sessions.replan(file, 'choose').catch(onError);
  });
}

/** Which page has the keyboard focus: the context key of their keys. */
const focus = createPageFocus((on) => void vscode.commands.executeCommand('setContext', 'terapipe.pageFocus', on));

/** Sizes that are tried, the plans that there were, and the edits of pages. */
function planChanges(
  keep: <T extends { dispose: () => unknown }>(part: T) => T,
  sessions: PlanSessions,
  host: WhatIfHost,
): { readonly whatIfs: WhatIfs; readonly histories: PlanHistories; readonly edits: PageEdits } {
  const isDirty = (file: string): boolean =>
    vscode.workspace.textDocuments.some((document) => document.isDirty && document.uri.toString() === file);
  const histories = keep(createPlanHistories(sessions, isDirty));
  keep(vscode.workspace.onDidSaveTextDocument(({ uri }) => histories.saved(uri.toString())));
  return { whatIfs: keep(createWhatIfs(sessions, host)), histories, edits: createPageEdits() };
}

/** docs/findings.md in the project's repository, where the codes of problems are explained. */
function findingsDocumentation({ extension, extensionUri }: vscode.ExtensionContext): vscode.Uri {
  const manifest = extension.packageJSON as { readonly repository?: { readonly url?: unknown } };
  const url = manifest.repository?.url;
  if (typeof url !== 'string' || !url.startsWith('https://')) return vscode.Uri.joinPath(extensionUri, 'docs', 'findings.md');
  return vscode.Uri.parse(`${url.replace(/(\.git)?\/?$/, '')}/blob/main/docs/findings.md`);
}
