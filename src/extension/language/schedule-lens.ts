import * as vscode from 'vscode';
import { makeLensChanges, makeLensOwners } from './lens-changes';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import { scheduleLensText } from './schedule-text';
import { isEnabled } from '../platform/settings';
import type { ShownConfig } from '../sessions/shown-config';
import { toCommand } from '../platform/ui';

/** Lenses over a schedule file: its size, length and bubble, or how many problems it has, and the way to its timeline. */
export function registerScheduleLens(
  sessions: PlanSessions,
  shown: ShownConfig,
  selector: vscode.DocumentSelector,
  onError: (error: unknown) => void,
): vscode.Disposable {
  const changed = makeLensChanges();
  const owners = makeLensOwners(shown.findSchedule, changed, onError);
  const shownTexts = new Map<string, string | null>();
  const provider: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: changed.event,
    provideCodeLenses: ({ uri }) => {
      const file = isEnabled('codeLens', uri) ? owners.findOwner(uri) : null;
      const state = file === null ? undefined : sessions.get(file);
      const title = state === undefined ? null : scheduleLensText(state, vscode.l10n.t);
      if (state === undefined || title === null) return [];
      const top = new vscode.Range(0, 0, 0, 0);
      const command = state.error === null ? 'terapipe.openTimeline' : 'workbench.actions.view.problems';
      const first = new vscode.CodeLens(top, toCommand(title, command, state.error === null ? [uri] : []));
      if (state.schedule === null) return [first];
      return [first, new vscode.CodeLens(top, toCommand(vscode.l10n.t('Open timeline'), 'terapipe.openTimeline', [uri]))];
    },
  };
  return vscode.Disposable.from(
    changed,
    owners,
    vscode.languages.registerCodeLensProvider(selector, provider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('terapipe.codeLens')) changed.fire();
    }),
    sessions.onDidChange((state) => {
      const text = scheduleLensText(state, vscode.l10n.t);
      if (state.format !== 'pytorch-schedule' || shownTexts.get(state.file) === text) return;
      shownTexts.set(state.file, text);
      changed.fire();
    }),
  );
}
