import * as vscode from 'vscode';
import type { OpenPage } from './open-page';
import type { ShownConfig } from '../sessions/shown-config';
import type { TimelinePanels } from './timeline-panels';

export const scheduleViewId = 'terapipe.schedule';

/** The side view: the plan of the shown config, live. */
export function registerScheduleView(
  openPage: OpenPage,
  shown: ShownConfig,
  panels: TimelinePanels,
  onError: (error: unknown) => void,
): vscode.Disposable {
  return vscode.window.registerWebviewViewProvider(scheduleViewId, {
    resolveWebviewView: (view) => {
      const page = openPage(view.webview, {
        page: 'side',
        title: vscode.l10n.t('Schedule'),
        session: shown.session,
        isVisible: () => view.visible,
        isTabInView: panels.isInView,
      });
      const subscriptions = vscode.Disposable.from(
        shown.onDidChange(page.refresh),
        panels.onDidChangeView(page.refresh),
        view.onDidChangeVisibility(page.visibilityChanged),
      );
      view.onDidDispose(() => {
        subscriptions.dispose();
        page.dispose();
      });
      void shown.suggest().catch(onError);
    },
  });
}
