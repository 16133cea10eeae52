import * as vscode from 'vscode';
import { formatCount, formatDuration } from '../../core/format';
import type { SearchUpdate } from '../../core/layout-search/answer';
import type { SearchResult } from '../../core/layout-search/result';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import type { TimelinePanels } from '../views/timeline-panels';
import { withProgress } from '../platform/ui';
import { findTarget, type ConfigCommands } from './target';

export interface LayoutCommands extends ConfigCommands {
  readonly layouts: LayoutSearches;
  readonly panels: TimelinePanels;
}

const quickMs = 1000;

/** Opens the Layout tab of a config and searches its layouts afresh. @throws as `LayoutSearches.search`. */
export async function searchLayoutCommand(commands: LayoutCommands, argument: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  commands.panels.open(file, { tab: 'layout', candidate: null });
  await withSearchProgress(commands, file, commands.layouts.search(file));
}

/**
 * Opens the Layout tab of a config; searches where there is no answer yet, and for what would help where that was not looked into. @throws
 * as `LayoutSearches.search`.
 */
export async function openLayoutCommand(commands: LayoutCommands, argument: unknown): Promise<void> {
  const { layouts, panels, shown } = commands;
  const file = await findTarget(shown, argument);
  panels.open(file, { tab: 'layout', candidate: null });
  const known = layouts.state(file);
  const isWhole = known?.staleEdits === 0 && (known.answer?.result.improvements.length ?? 0) > 0;
  const isRunning = layouts.isAsked(file);
  if (!isWhole && !isRunning) await withSearchProgress(commands, file, layouts.search(file));
}

/** Stops the search of a config. */
export async function cancelSearchCommand({ layouts, shown }: LayoutCommands, argument: unknown): Promise<void> {
  layouts.cancel(await findTarget(shown, argument));
}

/**
 * Under a second nothing is shown; longer work gets the best so far. @param where the status bar where the Layout tab is shown, which has a
 * button to cancel.
 */
export async function withSearchProgress<T>(
  commands: Pick<LayoutCommands, 'layouts'>,
  file: string,
  work: Promise<T>,
  where: 'notification' | 'status bar' = 'status bar',
): Promise<T> {
  const quick = await Promise.race([
    work.then((value) => ({ value })),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), quickMs)),
  ]);
  if (quick !== null) return quick.value;
  return notified(commands, file, work, where);
}

async function notified<T>(
  { layouts }: Pick<LayoutCommands, 'layouts'>,
  file: string,
  work: Promise<T>,
  where: 'notification' | 'status bar',
): Promise<T> {
  return withProgress(
    vscode.l10n.t('Searching layouts'),
    async (progress, token) => {
      let reached = 0;
      const subscriptions = vscode.Disposable.from(
        token.onCancellationRequested(() => layouts.cancel(file)),
        layouts.onDidChange((changed) => {
          const running = changed === file ? layouts.state(file)?.running : undefined;
          if (running === null || running === undefined) return;
          const fraction = running.kind === 'helping' ? running.index / running.count : 0;
          progress.report({ message: updateText(running), increment: 100 * Math.max(0, fraction - reached) });
          reached = Math.max(reached, fraction);
        }),
      );
      try {
        return await work;
      } finally {
        subscriptions.dispose();
      }
    },
    where,
  );
}

/** How far a search is, in a line. */
function updateText(update: SearchUpdate): string {
  if (update.kind === 'found') return resultText(update.result);
  if (update.kind === 'helping') return vscode.l10n.t('what would help: {0}', update.change);
  const { best, counts } = update;
  const looked = formatCount(counts.families + counts.considered);
  return best === null
    ? vscode.l10n.t('{0} considered, none fits yet', looked)
    : vscode.l10n.t('{0} considered, best so far {1}', looked, formatDuration(best.iterationMs));
}

function resultText({ best }: SearchResult): string {
  return vscode.l10n.t('best {0}', formatDuration(best.iterationMs));
}
