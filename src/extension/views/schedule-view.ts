import * as vscode from 'vscode';
import { attachPage, type PageServices } from './page-host';
import type { ShownConfig } from '../sessions/shown-config';

export const scheduleViewId = 'terapipe.schedule';

/** The side view: the schedule of the shown config, live. */
export function registerScheduleView(services: PageServices, shown: ShownConfig, onError: (error: unknown) => void): vscode.Disposable {
  return vscode.window.registerWebviewViewProvider(scheduleViewId, {
    resolveWebviewView: (view) => {
      const page = attachPage(view.webview, services, {
        page: 'side',
        title: vscode.l10n.t('Schedule'),
        session: shown.session,
        isVisible: () => view.visible,
      });
      const subscriptions = vscode.Disposable.from(shown.onDidChange(page.refresh), view.onDidChangeVisibility(page.visibilityChanged));
      view.onDidDispose(() => {
        subscriptions.dispose();
        page.dispose();
      });
      void shown.suggest().catch(onError);
    },
  });
}
