import * as vscode from 'vscode';
import { markdownParagraphs } from './markdown-text';
import type { Prefills } from '../../features/prefill/vscode/prefills';
import type { PlanSessions } from '../sessions/plan-sessions';
import { isEnabled } from '../platform/settings';

/** Hovers on the values of every file that a session read. */
export function registerHovers(sessions: PlanSessions, prefills: Prefills, selector: vscode.DocumentSelector): vscode.Disposable {
  return vscode.languages.registerHoverProvider(selector, {
    provideHover: async (document, position) => {
      const { hoverAt } = await import('./hover-text');
      const file = document.uri.toString();
      if (!isEnabled('hover', document.uri)) return null;
      const text = document.getText();
      for (const state of sessions.all()) {
        if (!sessions.reads(state.file).has(file)) continue;
        const hover = hoverAt({ ...state, prefill: prefills.stateOf(state.file) }, file, text, document.offsetAt(position), vscode.l10n.t);
        if (hover === null) continue;
        const range = new vscode.Range(document.positionAt(hover.range.start), document.positionAt(hover.range.end));
        return new vscode.Hover(markdownOf(hover.title, hover.lines), range);
      }
      return null;
    },
  });
}

/** Texts may quote a config: they are shown as text, never as markdown. */
function markdownOf(title: string, lines: readonly string[]): vscode.MarkdownString {
  return new vscode.MarkdownString(`**TeraPipe** ${markdownParagraphs([title, ...lines])}`);
}
