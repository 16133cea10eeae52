import * as vscode from 'vscode';
import type { SessionState } from '../../host/sessions/session-state';
import { scheduleViewId } from '../views/schedule-view';
import { withProgress } from '../platform/ui';
import { findTarget, type ConfigCommands } from './target';

const quickMs = 1000;

/**
 * Plans a config afresh and shows the schedule view. Under a second nothing else is shown; longer work gets a notification that can cancel
 * it.
 * @throws ExpectedError what stopped the planning.
 */
export async function planCommand(commands: ConfigCommands, argument: unknown): Promise<void> {
  const { sessions, shown } = commands;
  const file = await findTarget(shown, argument);
  shown.show(file);
  await vscode.commands.executeCommand(`${scheduleViewId}.focus`, { preserveFocus: true });
  const work = sessions.replan(file, 'choose');
  const quick = await Promise.race([work, new Promise<null>((resolve) => setTimeout(() => resolve(null), quickMs))]);
  const state = quick ?? (await withNotification(commands, file, work));
  if (state.error !== null) throw state.error;
}

function withNotification({ sessions }: ConfigCommands, file: string, work: Promise<SessionState>): Thenable<SessionState> {
  return withProgress(vscode.l10n.t('Planning the pipeline'), async (progress, token) => {
    let reported = 0;
    const subscriptions = vscode.Disposable.from(
      token.onCancellationRequested(() => sessions.cancel(file)),
      sessions.onDidChange((state) => {
        if (state.file !== file || state.progress === null || state.progress <= reported) return;
        progress.report({ increment: 100 * (state.progress - reported) });
        reported = state.progress;
      }),
    );
    try {
      return await work;
    } finally {
      subscriptions.dispose();
    }
  });
}
