import * as vscode from 'vscode';
import type { Finding, Fix } from '../core/findings';
import type { PlanSessions, SessionState } from './plan-sessions';
import { rangeOf } from './ranges';

/** Quick fixes of the findings under the cursor; offered only while the texts they were made for are still current. */
export function registerQuickFixes(sessions: PlanSessions, selector: vscode.DocumentSelector): vscode.Disposable {
  const provider: vscode.CodeActionProvider = {
    provideCodeActions: (document, range, context) =>
      sessions
        .all()
        .flatMap((state) =>
          state.findings
            .filter(
              (finding) =>
                finding.place.file === document.uri.toString() && rangeOf(finding.place, state.texts).intersection(range) !== undefined,
            )
            .flatMap((finding) =>
              finding.fixes.filter((fix) => isCurrent(fix, state)).map((fix) => actionOf(fix, finding, state, context)),
            ),
        ),
  };
  return vscode.languages.registerCodeActionsProvider(selector, provider, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] });
}

function isCurrent(fix: Fix, { texts }: SessionState): boolean {
  return fix.edits.every(({ place: { file } }) => {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file);
    return document === undefined || document.getText() === texts.get(file);
  });
}

function actionOf(fix: Fix, finding: Finding, state: SessionState, context: vscode.CodeActionContext): vscode.CodeAction {
  const action = new vscode.CodeAction(fix.title, vscode.CodeActionKind.QuickFix);
  action.isPreferred = fix.preferred;
  action.diagnostics = context.diagnostics.filter(
    ({ code, range }) => typeof code === 'object' && code.value === finding.code && range.isEqual(rangeOf(finding.place, state.texts)),
  );
  action.edit = new vscode.WorkspaceEdit();
  for (const { place, newText } of fix.edits) action.edit.replace(vscode.Uri.parse(place.file), rangeOf(place, state.texts), newText);
  return action;
}
