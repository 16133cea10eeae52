import * as vscode from 'vscode';
import { configEndings } from '../../core/config-files/readers';
import type { Prefills } from '../../features/prefill/host/prefills';
import { isEnabled } from '../platform/settings';
import { pythonGlob, scheduleLanguage } from '../sessions/find-configs';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { Scenarios } from '../../host/sessions/scenarios';
import type { ShownConfig } from '../sessions/shown-config';
import { registerCodeLens } from './code-lens';
import { registerDiagnostics } from './diagnostics';
import { markdownParagraphs } from './markdown-text';
import { registerQuickFixes } from './quick-fixes';
import { registerScheduleLens } from './schedule-lens';

/** Files that may be configs or launchers: JSON with or without comments, YAML, TOML, shell scripts and modules of configs in Python. */
const selector: readonly vscode.DocumentFilter[] = [
  ...['json', 'jsonc', 'yaml', 'toml', 'shellscript'].map((language) => ({ language })),
  // Where no extension knows the language.
  { pattern: `**/*.{${configEndings.join(',')}}` },
  { pattern: pythonGlob },
];

/** Files that may be schedules in PyTorch's CSV: where no extension knows the ending, VS Code knows their first line. */
const scheduleSelector: readonly vscode.DocumentFilter[] = [{ pattern: '**/*.csv' }, { language: scheduleLanguage }];

interface LanguageParts {
  readonly sessions: PlanSessions;
  readonly layouts: LayoutSearches;
  readonly prefills: Prefills;
  readonly scenarios: Scenarios;
  readonly shown: ShownConfig;
  /** Where the codes of problems are explained. */
  readonly documentation: vscode.Uri;
  readonly onError: (error: unknown) => void;
}

/** Registers what is shown in the editor: diagnostics, quick fixes, lenses, hovers and inlay hints. */
export function registerLanguage({
  sessions,
  layouts,
  prefills,
  scenarios,
  shown,
  documentation,
  onError,
}: LanguageParts): vscode.Disposable {
  return vscode.Disposable.from(
    registerDiagnostics(sessions, layouts, documentation),
    registerQuickFixes(sessions, layouts, selector),
    registerCodeLens(sessions, { layouts, prefills, scenarios }, shown, selector, onError),
    registerScheduleLens(sessions, shown, scheduleSelector, onError),
    registerHovers(sessions, prefills, [...selector, ...scheduleSelector]),
    registerInlayHints(sessions, selector),
  );
}

/** Hovers on the values of every file that a session read. */
function registerHovers(sessions: PlanSessions, prefills: Prefills, selector: vscode.DocumentSelector): vscode.Disposable {
  return vscode.languages.registerHoverProvider(selector, {
    provideHover: async (document, position) => {
      const { hoverAt } = await import('./hover-text');
      const file = document.uri.toString();
      if (!isEnabled('hover', document.uri)) return null;
      const text = document.getText();
      for (const state of sessions.all()) {
        if (!sessions.reads(state.file).has(file)) continue;
        const hover = hoverAt({ ...state, prefill: prefills.state(state.file) }, file, text, document.offsetAt(position), vscode.l10n.t);
        if (hover === null) continue;
        const range = new vscode.Range(document.positionAt(hover.range.start), document.positionAt(hover.range.end));
        return new vscode.Hover(hoverMarkdown(hover.title, hover.lines), range);
      }
      return null;
    },
  });
}

/** Texts may quote a config: they are shown as text, never as markdown. */
function hoverMarkdown(title: string, lines: readonly string[]): vscode.MarkdownString {
  return new vscode.MarkdownString(markdownParagraphs([title, ...lines]));
}

/** What follows from a launcher's values, behind them; off until `terapipe.inlayHints.enabled` is on. */
function registerInlayHints(sessions: PlanSessions, selector: vscode.DocumentSelector): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const shown = new WeakSet<object>();
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
      if (launcher === null || shown.has(launcher)) return;
      shown.add(launcher);
      changed.fire();
    }),
  );
}
