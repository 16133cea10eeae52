import * as vscode from 'vscode';
import type { PageAction } from '../../host/pages/page-link';
import type { Comparisons } from '../../features/compare/host/comparisons';
import type { SessionState } from '../../host/sessions/session-state';
import { applyControl, writeSizes, type ChangeCommands } from '../commands/change-config';
import { applyLayoutCommand, type ApplyCommands } from '../commands/apply-layout';
import { earlierPlan } from '../../features/compare/vscode/command';
import { exportCandidate } from '../commands/export-candidate';
import { exportLayoutCommand, type ExportLayoutCommands } from '../commands/export-layout';
import { startModel } from '../commands/open-sample';
import { savePageText, savePlan } from '../commands/save';
import { editsOfFix } from '../language/quick-fixes';
import { toRange } from '../language/ranges';
import type { PlanHistories } from '../../host/sessions/plan-histories';
import type { Profiles } from '../sessions/profiles';
import type { WhatIfs } from '../../host/sessions/what-ifs';

interface ActSources {
  readonly context: vscode.ExtensionContext;
  readonly profiles: Profiles;
  readonly comparisons: Comparisons;
  readonly whatIfs: WhatIfs;
  readonly histories: PlanHistories;
}

/** Does what a page asked for. A page can reach only the files of its own session. */
export async function actForPage(
  { context, profiles, comparisons, whatIfs, histories, ...commands }: ApplyCommands & ExportLayoutCommands & ChangeCommands & ActSources,
  message: PageAction,
  session: SessionState | null,
): Promise<void> {
  switch (message.type) {
    case 'command':
      // The plan on screen: that of an opened layout, not of the config.
      if (message.command === 'terapipe.exportPlan' && session !== null && session.plan !== null)
        await savePlan(session.file, session.plan, null);
      else {
        const { about, what } = message;
        const asked = [...(about === undefined ? [] : [about]), ...(what === undefined ? [] : [{ what }])];
        await vscode.commands.executeCommand(message.command, ...(session === null ? [] : [vscode.Uri.parse(session.file), ...asked]));
      }
      return;
    case 'startModel':
      await startModel(context, commands.log, message.model);
      return;
    case 'save':
      await savePageText(session === null ? null : vscode.Uri.parse(session.file), message);
      return;
    case 'export':
      if (session !== null) await exportCandidate(commands, session, message);
      return;
    case 'reveal': {
      const { place } = message;
      if (session === null) return;
      const other = comparisons.state(session.file)?.other;
      const owners = [session.file, ...(other?.kind === 'config' ? [other.file] : [])];
      const owner = owners.find((file) => commands.sessions.reads(file).has(place.file));
      const isProfile = profiles.state(session.file)?.known.some(({ file }) => file === place.file) === true;
      if (owner === undefined && !isProfile) return;
      const selection = toRange(place, commands.sessions.get(owner ?? session.file)?.texts ?? session.texts);
      await vscode.window.showTextDocument(vscode.Uri.parse(place.file), { selection, viewColumn: columnBeside() });
      return;
    }
    case 'change':
      if (session !== null) await applyControl(commands, session, message.change);
      return;
    case 'fix':
      if (session !== null) await commands.edits.make(session.file, editsOfFix(session, message));
      return;
    case 'try':
      if (session !== null) await whatIfs.attempt(session.file, message.sets);
      return;
    case 'write':
      if (session !== null) await writeSizes(commands, session, message.sets, whatIfs.state(session.file));
      return;
    case 'undo':
      if (session !== null) await commands.edits.undo(session.file);
      return;
    case 'past':
      if (session !== null) await actOnPast({ histories, comparisons, commands }, session.file, message);
      return;
    case 'comparison':
      if (session === null) return;
      if (message.act === 'swap' || message.act === 'again') await comparisons[message.act](session.file);
      else comparisons[message.act](session.file);
      return;
    case 'openTab':
      if (session !== null) commands.panels.open(session.file, message);
      return;
    case 'openLayout':
      if (session === null) return;
      await commands.layouts.open(session.file, message.point);
      if (message.point !== null) commands.panels.open(session.file, { tab: 'timeline', candidate: null });
      return;
    case 'applyLayout':
      if (session !== null) await applyLayoutCommand(commands, vscode.Uri.parse(session.file), message.point);
      return;
    case 'exportLayout':
      if (session !== null) await exportLayoutCommand(commands, vscode.Uri.parse(session.file), message.point);
  }
}

/** Keeps a plan of the history, or compares the current one with it. */
async function actOnPast(
  {
    histories,
    comparisons,
    commands,
  }: Pick<ActSources, 'histories' | 'comparisons'> & { readonly commands: Pick<ApplyCommands, 'panels'> },
  file: string,
  { act, id }: Extract<PageAction, { readonly type: 'past' }>,
): Promise<void> {
  if (act !== 'compare') {
    histories.pin(file, id, act === 'pin');
    return;
  }
  const earlier = earlierPlan(histories, file, id);
  if (earlier === null) return;
  commands.panels.open(file, { tab: 'compare', candidate: null });
  await comparisons.start(file, earlier);
}

/** The column for a text that a page opens: the first one with texts, else next to the page. */
function columnBeside(): vscode.ViewColumn {
  const hasTabs = vscode.window.tabGroups.all.some(({ tabs }) => tabs.length > 0);
  return vscode.window.visibleTextEditors[0]?.viewColumn ?? (hasTabs ? vscode.ViewColumn.Beside : vscode.ViewColumn.One);
}
