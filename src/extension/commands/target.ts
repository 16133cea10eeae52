import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import type { ShownConfig } from '../sessions/shown-config';
import { uriBaseName } from '../sessions/sources';
import { sentence } from '../../core/sentence';

/** What commands that act on a config share. */
export interface ConfigCommands {
  readonly sessions: PlanSessions;
  readonly shown: ShownConfig;
  readonly log: vscode.LogOutputChannel;
}

/**
 * The config a command is for: the file or tree row it was called on, else the one that is shown (after a look at the workspace when none
 * is).
 * @throws ExpectedError `no-config` when there is none, or the file is none.
 */
export async function findTarget(shown: ShownConfig, argument: unknown): Promise<string> {
  const uri = toUri(argument) ?? activeUri();
  const file = uri === null ? null : await shown.findConfig(uri);
  if (file !== null) return file;
  if (toUri(argument) !== null && uri !== null)
    throw new ExpectedError(
      'no-config',
      sentence`${uriBaseName(uri)} is not a model config that TeraPipe reads`,
      sentence`open a config.json or a terapipe.json`,
    );
  if (shown.file() === null) await shown.suggest();
  const fallback = shown.file();
  if (fallback !== null) return fallback;
  throw new ExpectedError(
    'no-config',
    sentence`No model config is open`,
    sentence`open a config.json or a terapipe.json, or the sample workspace`,
  );
}

/** What to draw the timeline of: as `findTarget`, or a schedule file. @throws ExpectedError as `findTarget`. */
export async function findTimelineTarget(shown: ShownConfig, argument: unknown): Promise<string> {
  const uri = toUri(argument) ?? activeUri();
  return (uri === null ? null : await shown.findSchedule(uri)) ?? findTarget(shown, argument);
}

/** The settled session of a config: waits for planning under way, starts it when there was none. */
export async function settled({ sessions }: ConfigCommands, file: string): Promise<SessionState> {
  return sessions.ensure(file, sessions.get(file)?.format ?? 'terapipe');
}

/** A URI given to a command: by the explorer and editor menus as such, by our tree as `{ file }`, from a script as a string. */
export function toUri(argument: unknown): vscode.Uri | null {
  if (argument instanceof vscode.Uri) return argument;
  if (typeof argument === 'string' && argument !== '')
    return /^[a-z][a-z0-9+.-]+:\//i.test(argument) ? vscode.Uri.parse(argument) : vscode.Uri.file(argument);
  if (typeof argument === 'object' && argument !== null && 'file' in argument && typeof argument.file === 'string')
    return vscode.Uri.parse(argument.file);
  return null;
}

/** The file in front: that of the active tab, which is known before its text is loaded, else that of the active editor. */
export function activeUri(): vscode.Uri | null {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputText ? input.uri : (vscode.window.activeTextEditor?.document.uri ?? null);
}
