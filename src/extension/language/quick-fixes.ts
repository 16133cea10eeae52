import * as vscode from 'vscode';
import { isApplied } from '../../core/launchers/registry';
import type { Finding, Fix, TextEdit } from '../../core/findings';
import { chosenCandidate } from '../../core/planner/plan';
import { slowdownText } from '../../core/planner/explain/slower';
import type { LayoutSearch } from '../../host/sessions/layout-search-host';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import { toRange } from './ranges';
import { toCommand } from '../platform/ui';
import { say } from '../../core/sentence';

/** Quick fixes of the findings under the cursor; offered only while the texts they were made for are still current. */
export function registerQuickFixes(sessions: PlanSessions, layouts: LayoutSearches, selector: vscode.DocumentSelector): vscode.Disposable {
  const provider: vscode.CodeActionProvider = {
    provideCodeActions: (document, range, context) =>
      sessions.all().flatMap((state) => {
        const isHere = ({ place }: Finding): boolean =>
          place.file === document.uri.toString() && toRange(place, state.texts).intersection(range) !== undefined;
        return [
          ...state.findings
            .filter(isHere)
            .flatMap((finding) => [
              ...(finding.code === 'memory-over-capacity'
                ? memoryActions(finding, state, layouts.state(state.file), context)
                : finding.fixes.filter((fix) => isCurrent(fix, state)).map((fix) => quickFixAction(fix, finding, state, context))),
            ]),
          ...layouts
            .findings(state.file)
            .filter(isHere)
            .map((finding) => applyAction(finding, state, context)),
        ];
      }),
  };
  return vscode.languages.registerCodeActionsProvider(selector, provider, { providedCodeActionKinds: [vscode.CodeActionKind.QuickFix] });
}

function isCurrent(fix: Fix, { texts }: SessionState): boolean {
  return fix.edits.every(({ place: { file } }) => {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file);
    return document === undefined || document.getText() === texts.get(file);
  });
}

/** The edits of the quick fix that a page names by its finding and its English title; none where the texts have changed since. */
export function editsOfFix(state: SessionState, { code, title }: { readonly code: string; readonly title: string }): readonly TextEdit[] {
  const fixes = state.findings.flatMap((finding) => (finding.code === code ? finding.fixes : []));
  const fix = fixes.find((each) => say(each.title) === title);
  return fix !== undefined && isCurrent(fix, state) ? fix.edits : [];
}

function workspaceEdit({ edits }: Fix, { texts }: SessionState): vscode.WorkspaceEdit {
  const edit = new vscode.WorkspaceEdit();
  for (const { place, newText } of edits) edit.replace(vscode.Uri.parse(place.file), toRange(place, texts), newText);
  return edit;
}

function quickFixAction(fix: Fix, finding: Finding, state: SessionState, context: vscode.CodeActionContext): vscode.CodeAction {
  const action = new vscode.CodeAction(say(fix.title, vscode.l10n.t), vscode.CodeActionKind.QuickFix);
  action.isPreferred = fix.preferred;
  action.diagnostics = diagnosticsFor(finding, state, context);
  action.edit = workspaceEdit(fix, state);
  return action;
}

/** What makes a plan fit, cheapest first, the best layout of a search that has ended among it; then other machines, and a search. */
function memoryActions(
  finding: Finding,
  state: SessionState,
  search: LayoutSearch | null,
  context: vscode.CodeActionContext,
): vscode.CodeAction[] {
  const fixes = finding.fixes
    .filter((fix) => isCurrent(fix, state))
    .map((fix) => ({ slower: fix.slower ?? 0, action: quickFixAction(fix, finding, state, context) }));
  const found = search === null || search.staleEdits > 0 ? null : foundFix(finding, state, search, context);
  const sorted = [...fixes, ...(found === null ? [] : [found])].toSorted((a, b) => a.slower - b.slower).map(({ action }) => action);
  sorted.forEach((action, index) => (action.isPreferred = index === 0));
  return [...sorted, ...clusterActions(finding, state, context), ...(found === null ? [searchAction(finding, state, context)] : [])];
}

function foundFix(finding: Finding, state: SessionState, { answer }: LayoutSearch, context: vscode.CodeActionContext) {
  const best = answer?.result.best;
  if (best?.fits !== true || state.plan === null || state.run === null || !isApplied(state.run.format)) return null;
  const slower = chosenCandidate(state.plan).tokensPerSecond / best.tokensPerSecond - 1;
  const action = applyAction(finding, state, context);
  action.title = vscode.l10n.t('Apply the best layout…: fits, {0}', say(slowdownText(slower), vscode.l10n.t));
  return { slower, action };
}

/** Where no one change is enough, or another layout is wanted: a search of all of them. */
function searchAction(finding: Finding, state: SessionState, context: vscode.CodeActionContext): vscode.CodeAction {
  const title = vscode.l10n.t('Search layouts that fit');
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  action.isPreferred = finding.fixes.length === 0;
  action.diagnostics = diagnosticsFor(finding, state, context);
  action.command = toCommand(title, 'terapipe.searchLayout', [vscode.Uri.parse(state.file)]);
  return action;
}

/** Where no file sets the GPU or the nodes, another machine is a fix, too. */
function clusterActions(finding: Finding, state: SessionState, context: vscode.CodeActionContext): readonly vscode.CodeAction[] {
  const assumed = new Set(state.plan?.request.assumptions.map(({ key }) => key));
  const config = vscode.Uri.parse(state.file);
  const offered = [
    { key: 'cluster.gpu', title: vscode.l10n.t('Choose GPU…'), runs: 'terapipe.chooseCluster', given: [config] },
    { key: 'cluster.nodes', title: vscode.l10n.t('I run it on more nodes…'), runs: 'terapipe.changeScenario', given: [config, 'nodes'] },
  ];
  return offered
    .filter(({ key }) => assumed.has(key))
    .map(({ title, runs, given }) => {
      const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
      action.diagnostics = diagnosticsFor(finding, state, context);
      action.command = toCommand(title, runs, given);
      return action;
    });
}

/** What is wrong with a layout is mended by another one, which is shown before it is written. */
function applyAction(finding: Finding, state: SessionState, context: vscode.CodeActionContext): vscode.CodeAction {
  const title = vscode.l10n.t('Apply the best layout…');
  const action = new vscode.CodeAction(title, vscode.CodeActionKind.QuickFix);
  action.isPreferred = true;
  action.diagnostics = diagnosticsFor(finding, state, context);
  action.command = toCommand(title, 'terapipe.applyLayout', [vscode.Uri.parse(state.file)]);
  return action;
}

function diagnosticsFor(finding: Finding, { texts }: SessionState, { diagnostics }: vscode.CodeActionContext): vscode.Diagnostic[] {
  const place = toRange(finding.place, texts);
  return diagnostics.filter(({ code, range }) => typeof code === 'object' && code.value === finding.code && range.isEqual(place));
}
