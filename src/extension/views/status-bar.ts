import * as vscode from 'vscode';
import { mayFit } from '../../core/memory-model/verdict';
import { isOfAnotherKind as isErrorOfAnotherKind, startErrors } from '../../core/findings';
import { refusalText } from '../language/lens-text';
import { markdownParagraphs } from '../language/markdown-text';
import { isEnabled } from '../platform/settings';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import { isStale, type SessionState } from '../../host/sessions/session-state';
import type { ShownConfig } from '../sessions/shown-config';
import { scenarioText } from '../../core/plan-request/scenario';
import { elasticText, memoryText, planText, planSummary } from '../../host/plan-summary';
import { displayPath } from '../sessions/sources';
import { toCommand, createStatusItem } from '../platform/ui';
import { say } from '../../core/sentence';

/** One item: the step time of the shown config, red only when planning is stopped by an error. */
export function registerStatusBar(sessions: PlanSessions, shown: ShownConfig): vscode.Disposable {
  const item = createStatusItem('terapipe.status', 'TeraPipe');

  function refresh(): void {
    const state = shown.session();
    if (state === null || isOfAnotherKind(state) || !isEnabled('statusBar')) {
      item.hide();
      return;
    }
    const command = state.plan === null && state.elastic !== null ? 'terapipe.openElastic' : 'terapipe.openTimeline';
    item.show({
      icon: statusIcon(state),
      text: statusText(state),
      tooltip: statusTooltip(state),
      command: toCommand(vscode.l10n.t('Open timeline'), command, [vscode.Uri.parse(state.file)]),
      textColor: isStale(state) ? new vscode.ThemeColor('disabledForeground') : undefined,
      color: state.error === null ? undefined : new vscode.ThemeColor('statusBarItem.errorBackground'),
    });
  }

  return vscode.Disposable.from(
    item,
    shown.onDidChange(refresh),
    sessions.onDidChange((state) => {
      if (state.file === shown.file()) refresh();
    }),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('terapipe.statusBar')) refresh();
    }),
  );
}

/** A model of a kind that TeraPipe does not read is not a user error: a quiet finding in the file reports it. */
function isOfAnotherKind({ plan, error }: SessionState): boolean {
  return plan === null && error !== null && isErrorOfAnotherKind(error);
}

function statusIcon({ plan, progress, error, findings }: SessionState): string {
  if (progress !== null) return 'sync~spin';
  return error !== null || startErrors(findings).length > 0 || (plan !== null && !mayFit(planSummary(plan).verdict)) ? 'error' : 'graph';
}

function statusText({ plan, elastic, progress }: SessionState): string {
  if (plan === null && elastic !== null) return elasticText(elastic.plan, vscode.l10n.t);
  if (plan === null) return progress === null ? 'TeraPipe' : vscode.l10n.t('Planning');
  const { stepText } = planSummary(plan);
  return vscode.l10n.t('{0} / step · {1}', stepText, say(scenarioText(plan.request), vscode.l10n.t));
}

function statusTooltip(state: SessionState): vscode.MarkdownString {
  return new vscode.MarkdownString(markdownParagraphs(tooltipLines(state)));
}

function tooltipLines(state: SessionState): string[] {
  const { file, plan, elastic, error, staleEdits } = state;
  const refusal = refusalText(state, vscode.l10n.t);
  const summary = plan === null ? null : planSummary(plan);
  return [
    displayPath(file),
    ...(plan === null ? [] : [say(scenarioText(plan.request), vscode.l10n.t)]),
    ...(summary === null ? [] : [planText(summary, vscode.l10n.t), vscode.l10n.t('Memory: {0}', memoryText(summary, vscode.l10n.t))]),
    ...(plan === null || refusal === null ? [] : [refusal]),
    ...(elastic === null ? [] : [vscode.l10n.t('Elastic: {0}', elasticText(elastic.plan, vscode.l10n.t))]),
    ...(staleEdits > 0 ? [vscode.l10n.t('From before the last edits')] : []),
    ...(error === null ? [] : [`${say(error.what, vscode.l10n.t)}; ${say(error.remedy, vscode.l10n.t)}`]),
  ];
}
