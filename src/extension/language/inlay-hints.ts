import * as vscode from 'vscode';
import type { PlanSessions } from '../sessions/plan-sessions';
import { isEnabled } from '../platform/settings';

/** What follows from a launcher's values, behind them; off until `terapipe.inlayHints.enabled` is on. */
export function registerInlayHints(sessions: PlanSessions, selector: vscode.DocumentSelector): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const told = new WeakSet<object>();
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerInlayHintsProvider(selector, {
      onDidChangeInlayHints: changed.event,
      provideInlayHints: async (document, visible) => {
        if (!isEnabled('inlayHints', document.uri)) return [];
        const { inlayTexts } = await import('./inlay-text');
        const file = document.uri.toString();
        const state = sessions.get(file);
        if (state === undefined) return [];
        return inlayTexts(state, file, document.getText(), vscode.l10n.t).flatMap(({ offset, text }) => {
          const position = document.positionAt(offset);
          if (!visible.contains(position)) return [];
          const hint = new vscode.InlayHint(position, text);
          hint.paddingLeft = true;
          return [hint];
        });
      },
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('terapipe.inlayHints')) changed.fire();
    }),
    sessions.onDidChange(({ launcher }) => {
      if (launcher === null || told.has(launcher)) return;
      told.add(launcher);
      changed.fire();
    }),
  );
}
