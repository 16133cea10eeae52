import type { WhatIfSet } from '../core/layout-search/what-if';
import { say, sentence } from '../core/sentence';
import type { LauncherReader } from '../core/run/facts';
import type { Comparisons } from '../features/compare/host/comparisons';
import { usualPrefill, type Prefills } from '../features/prefill/host/prefills';
import type { LinkServices, PageAction } from '../host/pages/page-link';
import type { PlannerClient } from '../host/planner/client';
import type { PlanHistories } from '../host/sessions/plan-histories';
import type { SessionFormat, SessionState } from '../host/sessions/session-state';
import type { WhatIfs } from '../host/sessions/what-ifs';
import { launcherEdits, overridesForNewFile, triedPlan, type ConfigSet } from '../host/sessions/written-sizes';
import { compareWithPicked } from './compare';
import { download } from './download';
import { displayPath, type WebFiles } from './files';
import { applyFound, exportFound } from './layouts';
import { beginElastic, changeScenario, chooseCluster } from './scenario';
import { ExpectedError } from '../core/errors';
import { changeJson, type JsonChange } from '../core/terapipe/change-json';
import { fileName } from '../host/file-name';
import { newConfigText } from '../host/sessions/new-config';
import { defaults } from './defaults';
import { candidateTrace } from '../core/export/chrome-trace';
import { planHtml } from '../core/export/html/report';
import { planJson } from '../core/export/plan-json';
import { startErrors } from '../core/findings';
import { writeScheduleCsv } from '../core/schedules/pytorch-csv/write';
import { elasticHtml } from '../features/elastic/core/report';
import { elasticJson } from '../features/elastic/json';
import { reportFindings } from '../host/report-findings';
import type { ExportFormat } from '../protocol/page';

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

interface ConfigContext {
  readonly files: WebFiles;
  /** Shows another of the open files. */
  readonly show: (file: string, format: SessionFormat) => void;
  readonly say: (text: string) => void;
}

/**
 * Sets values in the shown terapipe.json, as one edit; next to another config one is made first, and shown, so that a link carries it.
 * @returns its URI. @throws ExpectedError `config-nothing-known` for a launcher that sets nothing.
 */
async function setInConfig(context: ConfigContext, state: SessionState, changes: readonly JsonChange[]): Promise<string> {
  const { files } = context;
  const file = state.format === 'terapipe' ? state.file : configNextTo(files, state.file);
  const isNew = !files.all().has(file);
  if (isNew) files.put(file, await newText(state, file));
  const replacement = changeJson(files.read(file), changes);
  if (replacement !== null) {
    const { newText: text, ...range } = replacement;
    files.edit([{ place: { file, range }, newText: text }]);
  }
  if (file !== state.file) context.show(file, 'terapipe');
  if (isNew) context.say(`Written into ${displayPath(file)}, a new file.`);
  return file;
}

/** Sets as changes of a terapipe.json. */
function toChanges(sets: readonly ConfigSet[]): readonly JsonChange[] {
  return sets.map(([key, value]) => ({ path: key.split('.'), value: value ?? undefined }));
}

/** The terapipe.json next to a config; for a launcher, next to one that is of something else, `train.terapipe.json`. */
function configNextTo(files: WebFiles, file: string): string {
  const usual = new URL('terapipe.json', file).href;
  return files.all().has(usual) ? new URL(`${fileName(file).replace(/(?<=.)\.\w+$/, '')}.terapipe.json`, file).href : usual;
}

async function newText(state: SessionState, target: string): Promise<string> {
  const name = fileName(state.file);
  if (state.launcher === null) return newConfigText(name, state.run, defaults);
  const { newLauncherConfigText } = await import('../host/sessions/new-launcher-config');
  const text = newLauncherConfigText(state, target, defaults);
  if (text !== null) return text;
  throw new ExpectedError(
    'config-nothing-known',
    sentence`${name} has no sizes of the model, the layout or the training`,
    sentence`open the config.json of the model instead`,
  );
}

/** As `terapipe plan --json` prints it. */
function exportJson({ plan, elastic, findings }: SessionState): void {
  if (plan !== null) {
    const starts = startErrors(findings).length === 0;
    download(`${plan.request.title} plan.json`, 'application/json', `${JSON.stringify({ ...planJson(plan), starts }, null, 2)}\n`);
  } else if (elastic !== null)
    download(
      `${elastic.plan.request.title} elastic plan.json`,
      'application/json',
      `${JSON.stringify(elasticJson(elastic.plan, elastic.study), null, 2)}\n`,
    );
}

/** Saves a candidate of a plan, as people load it elsewhere. @throws ExpectedError `no-plan`, `export-no-timeline`. */
function exportShown(state: SessionState, format: ExportFormat, id: string | null): void {
  const { plan, elastic } = state;
  if (plan === null && elastic !== null && format === 'html') {
    download(`${elastic.plan.request.title} elastic plan.html`, 'text/html', elasticHtml(elastic.plan, reportFindings(state, displayPath)));
    return;
  }
  if (plan === null)
    throw new ExpectedError('no-plan', sentence`There is no plan yet`, sentence`wait for planning to end, then export again`);
  if (format === 'html') {
    download(`${plan.request.title} plan.html`, 'text/html', planHtml(plan, reportFindings(state, displayPath)));
    return;
  }
  const candidate = plan.candidates.find((each) => each.id === id);
  const timeline = candidate?.timeline ?? null;
  if (candidate === undefined || timeline === null || format === 'torchrun')
    throw new ExpectedError('export-no-timeline', sentence`There is no timeline to write`, sentence`pick a plan whose timeline is drawn`);
  const name = `${plan.request.title} ${say(candidate.name)}`;
  if (format === 'chrome-trace') download(`${name} trace.json`, 'application/json', joined(candidateTrace(candidate, timeline, name)));
  else {
    const kind = format === 'pytorch-csv' ? 'compute_only' : 'compute_comms';
    download(`${name}.csv`, 'text/csv', joined(writeScheduleCsv(timeline, kind, format === 'pytorch-csv-comms-2.14' ? '2.14' : '2.15')));
  }
}

/** A text that is written whole or in pieces. */
function joined(text: string | Iterable<string>): string {
  return typeof text === 'string' ? text : Array.from(text).join('');
}
