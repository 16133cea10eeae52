import { ExpectedError } from '../core/errors';
import { say, sentence } from '../core/sentence';
import type { LauncherReader } from '../core/run/facts';
import { changeJson } from '../core/terapipe/change-json';
import type { Comparisons } from '../features/compare/host/comparisons';
import { usualPrefill, type Prefills } from '../features/prefill/host/prefills';
import type { LinkServices, PageAction } from '../host/pages/page-link';
import type { PlannerClient } from '../host/planner/client';
import type { PlanHistories } from '../host/sessions/plan-histories';
import type { SessionState } from '../host/sessions/session-state';
import type { WhatIfs } from '../host/sessions/what-ifs';
import { compareWithPicked } from './compare';
import { download } from './download';
import { exportJson, exportShown } from './exports';
import { displayPath, type WebFiles } from './files';
import { applyFound, exportFound } from './layouts';

/** What the page around the timeline does for its host. */
export interface Surroundings {
  /** Shows a part of a file. */
  readonly reveal: (file: string, start: number, end: number) => void;
  /** Goes to the screen where a config is opened. */
  readonly goToStart: () => void;
  readonly openModel: (model: string) => void;
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
      await runCommand(context, message.command, state);
      return;
    case 'reveal':
      around.reveal(message.place.file, message.place.range.start, message.place.range.end);
      return;
    case 'change':
      setInConfig(files, state, [[message.change.key, message.change.value]]);
      return;
    case 'write':
      setInConfig(files, state, message.sets);
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
      showTab('timeline', null);
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

async function runCommand(context: ActContext, name: string, state: SessionState): Promise<void> {
  const { sessions, layouts, prefills, around, showTab } = context;
  const { file } = state;
  if (name === 'terapipe.openSample' || name === 'terapipe.createConfig') around.goToStart();
  else if (name === 'terapipe.exportPlan') exportJson(state);
  else if (name === 'terapipe.plan') await sessions.replan(file);
  else if (name === 'terapipe.openTimeline') showTab('timeline', null);
  else if (name === 'terapipe.openElastic') showTab('elastic', null);
  else if (name === 'terapipe.cancelSearch') layouts.cancel(file);
  else if (name === 'terapipe.compareWith') await compareWithPicked(context, file);
  else if (name === 'terapipe.searchLayout') {
    showTab('layout', null);
    await layouts.search(file);
  } else if (name === 'terapipe.planPrefill' && state.run !== null) {
    showTab('prefill', null);
    await prefills.plan(file, usualPrefill(state.run, state.plan?.request.layout.pipeline ?? null));
  } else around.say('This needs VS Code on a desktop.');
}

/** Sets values in the shown terapipe.json, as one edit. @throws ExpectedError where another file is shown. */
function setInConfig(files: WebFiles, { file, format }: SessionState, sets: readonly (readonly [string, unknown])[]): void {
  if (format !== 'terapipe')
    throw new ExpectedError('what-if-outdated', sentence`Only a terapipe.json is changed here`, sentence`edit the file itself`);
  const changes = sets.map(([key, value]) => ({ path: key.split('.'), value: (value ?? undefined) as string | number | undefined }));
  const replacement = changeJson(files.read(file), changes);
  if (replacement === null) return;
  const { newText, ...range } = replacement;
  files.edit([{ place: { file, range }, newText }]);
}
