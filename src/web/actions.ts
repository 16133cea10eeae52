import type { WhatIfSet } from '../core/layout-search/what-if';
import { say } from '../core/sentence';
import type { LauncherReader } from '../core/run/facts';
import type { Comparisons } from '../features/compare/host/comparisons';
import { usualPrefill, type Prefills } from '../features/prefill/host/prefills';
import type { LinkServices, PageAction } from '../host/pages/page-link';
import type { PlannerClient } from '../host/planner/client';
import type { PlanHistories } from '../host/sessions/plan-histories';
import type { SessionFormat, SessionState } from '../host/sessions/session-state';
import type { WhatIfs } from '../host/sessions/what-ifs';
import { launcherEdits, overridesForNewFile, triedPlan } from '../host/sessions/written-sizes';
import { compareWithPicked } from './compare';
import { setInConfig, toChanges } from './config';
import { download } from './download';
import { exportJson, exportShown } from './exports';
import { displayPath, type WebFiles } from './files';
import { applyFound, exportFound } from './layouts';
import { beginElastic, changeScenario, chooseCluster } from './scenario';

/** What the page around the timeline does for its host. */
export interface Surroundings {
  /** Shows a part of a file. */
  readonly reveal: (file: string, start: number, end: number) => void;
  /** Goes to the screen where a config is opened. */
  readonly goToStart: () => void;
  readonly openModel: (model: string) => void;
  /** Shows another of the open files. */
  readonly show: (file: string, format: SessionFormat) => void;
  /** Shows a text in a line of its own. */
  readonly say: (text: string) => void;
}

export interface ActContext extends Pick<LinkServices, 'sessions' | 'layouts'> {
  readonly whatIfs: WhatIfs;
  readonly histories: PlanHistories;
  readonly prefills: Prefills;
  readonly comparisons: Comparisons;
  readonly files: WebFiles;
  readonly plan: PlannerClient['plan'];
  readonly shell: () => Promise<LauncherReader>;
  readonly around: Surroundings;
  readonly showTab: (tab: string, candidate: null | NonNullable<Extract<PageAction, { readonly type: 'openTab' }>['candidate']>) => void;
}

/** Does what the page asked for. @throws ExpectedError, CancelledError. */
export async function actForPage(context: ActContext, message: PageAction, state: SessionState | null): Promise<void> {
  const { layouts, whatIfs, histories, comparisons, files, around, showTab } = context;
  if (message.type === 'startModel') around.openModel(message.model);
  else if (message.type === 'save') download(message.name, message.mime, message.text);
  if (state === null) return;
  const { file } = state;
  switch (message.type) {
    case 'command':
      await runCommand(context, message, state);
      return;
    case 'reveal':
      around.reveal(message.place.file, message.place.range.start, message.place.range.end);
      return;
    case 'change':
      await setInConfig({ files, ...around }, state, toChanges([[message.change.key, message.change.value]]));
      return;
    case 'write':
      await writeTried(context, state, message.sets);
      return;
    case 'fix': {
      const fixes = state.findings.flatMap((finding) => (finding.code === message.code ? finding.fixes : []));
      files.edit(fixes.find((fix) => say(fix.title) === message.title)?.edits ?? []);
      return;
    }
    case 'undo':
      files.undo();
      return;
    case 'try':
      await whatIfs.attempt(file, message.sets);
      return;
    case 'openTab':
      showTab(message.tab, message.candidate);
      return;
    case 'openLayout':
      await layouts.open(file, message.point);
      if (message.point !== null) showTab('timeline', null);
      return;
    case 'export':
      exportShown(state, message.format, message.candidate);
      return;
    case 'past': {
      const plan = histories.planAt(file, message.id);
      if (message.act !== 'compare') histories.pin(file, message.id, message.act === 'pin');
      else if (plan !== null) {
        showTab('compare', null);
        await comparisons.start(file, { kind: 'earlier', name: displayPath(file), plan });
      }
      return;
    }
    case 'comparison':
      if (message.act === 'swap' || message.act === 'again') await comparisons[message.act](file);
      else comparisons[message.act](file);
      return;
    case 'applyLayout':
      around.say(await applyFound(context, state, message.point));
      return;
    case 'exportLayout':
      around.say((await exportFound(context, state, message.point)) ?? '');
      return;
    case 'startModel':
    case 'save':
  }
}

type CommandMessage = Extract<PageAction, { readonly type: 'command' }>;
type Command = (context: ActContext, state: SessionState, message: CommandMessage) => Promise<void> | void;

const goToStart: Command = ({ around }) => around.goToStart();

/** What each command of the page does here; null: the page does not show it. */
const commands: Readonly<Record<CommandMessage['command'], Command | null>> = {
  'terapipe.openSample': goToStart,
  'terapipe.createConfig': goToStart,
  'terapipe.exportPlan': (_, state) => exportJson(state),
  'terapipe.plan': async ({ sessions }, { file }) => {
    await sessions.replan(file);
  },
  'terapipe.openTimeline': ({ showTab }) => showTab('timeline', null),
  'terapipe.openElastic': ({ showTab }) => showTab('elastic', null),
  'terapipe.beginElastic': async (context, state) => {
    await beginElastic(scenarioContext(context), state);
    context.showTab('elastic', null);
  },
  'terapipe.chooseCluster': (context, state) => chooseCluster(scenarioContext(context), state),
  'terapipe.changeScenario': (context, state, { about }) => changeScenario(scenarioContext(context), state, about),
  'terapipe.searchLayout': async ({ layouts, showTab }, { file }) => {
    showTab('layout', null);
    await layouts.search(file);
  },
  'terapipe.cancelSearch': ({ layouts }, { file }) => layouts.cancel(file),
  'terapipe.compareWith': (context, { file }) => compareWithPicked(context, file),
  'terapipe.planPrefill': async ({ prefills, showTab }, { file, run, plan }) => {
    if (run === null) return;
    showTab('prefill', null);
    await prefills.plan(file, usualPrefill(run, plan?.request.layout.pipeline ?? null));
  },
  'terapipe.showLog': null,
  'terapipe.profile': null,
  'terapipe.cancelProfile': null,
  'terapipe.importProfile': null,
  'terapipe.runHere': null,
  'terapipe.changeKeys': null,
};

async function runCommand(context: ActContext, message: CommandMessage, state: SessionState): Promise<void> {
  await commands[message.command]?.(context, state, message);
}

function scenarioContext({ files, around }: ActContext): Parameters<typeof changeScenario>[0] {
  return { reveal: around.reveal, setInConfig: (state, changes) => setInConfig({ files, ...around }, state, changes) };
}

/** Writes what was tried: into the terapipe.json or, where it can express that, a launcher's file. @throws as `triedPlan`. */
async function writeTried({ whatIfs, files, around }: ActContext, state: SessionState, sets: readonly WhatIfSet[]): Promise<void> {
  const plan = triedPlan(whatIfs.state(state.file), sets);
  const edits = await launcherEdits(state, sets, plan);
  const { run, format } = state;
  if (edits !== null) files.edit(edits);
  else {
    const all = run === null || format === 'terapipe' ? sets : overridesForNewFile(run, sets, plan);
    await setInConfig({ files, ...around }, state, toChanges(all));
  }
}
