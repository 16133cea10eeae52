import * as vscode from 'vscode';
import type { LauncherReader } from '../../core/run/facts';
import { ExpectedError } from '../../core/errors';
import { applyLayout } from '../../core/export/apply-layout';
import { editableFile } from '../../core/export/launchers/edit-launcher';
import { formatDuration, plural } from '../../core/format';
import type { JudgedChange } from '../../core/checkpoints/judge';
import { checkpointRemedy, checkpointText, foundCheckpoint } from '../../core/rules/plan/checkpoint-findings';
import { toPlanRequest } from '../../core/layout-search/request-of';
import { listPlans } from '../../core/layout-search/plans';
import type { FoundPlan, SearchResult } from '../../core/layout-search/result';
import type { PickedLayout } from '../../host/launcher-text';
import { layoutText } from '../../core/layout-search/labels';
import type { LayoutPoint } from '../../protocol/layout';
import type { LayoutDiffs } from '../sessions/layout-diff';
import { outdated } from '../../host/sessions/layout-search';
import { uriBaseName } from '../sessions/sources';
import { showInformationMessage } from '../platform/ui';
import { withSearchProgress, type LayoutCommands } from './search-layout';
import { runCommand } from './run-command';
import { findTarget } from './target';
import { say, sentence } from '../../core/sentence';

export interface ApplyCommands extends LayoutCommands {
  readonly diffs: LayoutDiffs;
  readonly shell: () => Promise<LauncherReader>;
}

/**
 * Shows the best layout (or the one of `point`) as a change of the config, searching first where there is no current answer. Nothing is
 * written until it is accepted.
 * @throws ExpectedError as `applyLayout` and `LayoutSearches.search`.
 */
export async function applyLayoutCommand(commands: ApplyCommands, argument: unknown, point: LayoutPoint | null = null): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const { result, found } = await pickedLayout(commands, file, point);
  const state = commands.sessions.get(file);
  if (state === undefined || state.run === null || state.staleEdits > 0) throw outdated();
  const { run, launcher, reread } = state;
  const editable = launcher === null || reread === null ? null : await editableFile(launcher, reread);
  const applied = applyLayout({ run, editable }, result, found, result.launched);
  if (applied.edits.length === 0) {
    void showInformationMessage(vscode.l10n.t('{0} already has this layout.', uriBaseName(vscode.Uri.parse(file))));
    return;
  }
  const name = uriBaseName(vscode.Uri.parse(file));
  const title = vscode.l10n.t('{0} ↔ {1}', name, say(layoutText(found.point), vscode.l10n.t));
  await commands.diffs.show(applied, title);
  // The command ends with the diff: a notification is answered whenever a person likes.
  void announce(
    result,
    found,
    applied.remarks.map(({ what, reason, isWhole }) => say(isWhole === true ? reason : sentence`${what}: ${reason}`, vscode.l10n.t)),
    foundCheckpoint({ launcher }, run, toPlanRequest(result.request, found)),
  ).then((isAsked) => (isAsked ? runCommand(commands.log, 'show the diff', () => commands.diffs.showAgain(applied, title)) : undefined));
}

/**
 * What the change brings. It does not offer to apply it, which would outlive the diff: its title has Apply and Discard while it is open.
 * @returns whether the diff is to be shown again, which other editors may cover by then.
 */
async function announce(
  { launched }: SearchResult,
  found: FoundPlan,
  remarks: readonly string[],
  checkpoint: JudgedChange | null,
): Promise<boolean> {
  const after = formatDuration(found.iterationMs);
  const text =
    launched === null
      ? vscode.l10n.t('{0} per step with this layout. Apply or discard it above the diff.', after)
      : vscode.l10n.t(
          '{0} per step as launched, {1} with this layout. Apply or discard it above the diff.',
          formatDuration(launched.iterationMs),
          after,
        );
  const left =
    remarks.length === 0 ? '' : ` ${vscode.l10n.t('{0} left to you: {1}', plural(remarks.length, 'setting'), remarks.join('; '))}`;
  const loading =
    checkpoint === null ? '' : ` ${say(checkpointText(checkpoint), vscode.l10n.t)}; ${say(checkpointRemedy(checkpoint), vscode.l10n.t)}.`;
  const show = vscode.l10n.t('Show the diff');
  return (await showInformationMessage(text + left + loading, show)) === show;
}

/** Makes the change that a diff shows. @throws ExpectedError `apply-untrusted` in a restricted workspace, and as `LayoutDiffs.apply`. */
export async function acceptLayoutCommand({ diffs }: ApplyCommands, uri: unknown): Promise<void> {
  requireTrustToWrite();
  await diffs.apply(uri);
}

/** @throws ExpectedError `apply-untrusted` in a restricted workspace. */
export function requireTrustToWrite(): void {
  if (vscode.workspace.isTrusted) return;
  throw new ExpectedError(
    'apply-untrusted',
    sentence`Launchers of a restricted workspace are not changed`,
    sentence`trust the workspace first`,
  );
}

/** The plan that `point` names, else the best. @throws ExpectedError `layout-outdated`; as `LayoutSearches.search`. */
export async function pickedLayout(commands: LayoutCommands, file: string, point: LayoutPoint | null): Promise<PickedLayout> {
  const { layouts } = commands;
  if (point === null) {
    const { result } = await withSearchProgress(commands, file, layouts.current(file), 'notification');
    return { result, found: result.best };
  }
  const answer = layouts.state(file)?.answer ?? null;
  const found = answer?.id === point.answer ? listPlans(answer.result)[point.index]?.plan : undefined;
  if (answer === null || found === undefined) throw outdated();
  return { result: answer.result, found };
}
