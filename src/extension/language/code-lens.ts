import * as vscode from 'vscode';
import { isLauncher } from '../../core/launchers/registry';
import type { LayoutSearches } from '../../host/sessions/layout-searches';
import { makeLensChanges, makeLensOwners } from './lens-changes';
import { configLenses, type LensText } from './lens-text';
import type { Prefills } from '../../features/prefill/host/prefills';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { Scenarios } from '../../host/sessions/scenarios';
import type { SessionState } from '../../host/sessions/session-state';
import { toRange } from './ranges';
import { isEnabled } from '../platform/settings';
import type { ShownConfig } from '../sessions/shown-config';
import { toCommand } from '../platform/ui';

/** Lenses over every config: what is known of it now. */
export function registerCodeLens(
  sessions: PlanSessions,
  { layouts, prefills, scenarios }: { readonly layouts: LayoutSearches; readonly prefills: Prefills; readonly scenarios: Scenarios },
  shown: ShownConfig,
  selector: vscode.DocumentSelector,
  onError: (error: unknown) => void,
): vscode.Disposable {
  const changed = makeLensChanges();
  const owners = makeLensOwners(shown.findConfig, changed, onError);
  const provider: vscode.CodeLensProvider = {
    onDidChangeCodeLenses: changed.event,
    provideCodeLenses: ({ uri }) => {
      const owner = isEnabled('codeLens', uri) ? owners.findOwner(uri) : null;
      const state = owner === null ? undefined : sessions.get(owner);
      return state === undefined ? [] : lensesAt(state, uri);
    },
  };

  function lensTexts(state: SessionState): readonly LensText[] {
    const { file } = state;
    return configLenses(state, layouts.state(file), vscode.l10n.t, { prefill: prefills.state(file), changes: scenarios.changes(file) });
  }

  function lensesAt(state: SessionState, uri: vscode.Uri): vscode.CodeLens[] {
    const range = rangeIn(state, uri);
    return lensTexts(state).map(({ title, runs, tooltip, isOfFile }) => {
      const arguments_ = isOfFile ? [vscode.Uri.parse(state.file)] : [];
      return new vscode.CodeLens(range, toCommand(title, runs, arguments_, tooltip));
    });
  }

  const shownTexts = new Map<string, string>();
  function update(file: string): void {
    const state = sessions.get(file);
    if (state === undefined) return;
    const text = lensTexts(state)
      .map(({ title }) => title)
      .join('\n');
    if (shownTexts.get(file) === text) return;
    shownTexts.set(file, text);
    changed.fire();
  }

  return vscode.Disposable.from(
    changed,
    owners,
    vscode.languages.registerCodeLensProvider(selector, provider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('terapipe.codeLens')) changed.fire();
    }),
    sessions.onDidChange(({ file }) => update(file)),
    sessions.onDidDrop((file) => {
      if (shownTexts.delete(file)) changed.fire();
    }),
    layouts.onDidChange(update),
    prefills.onDidChange(update),
  );
}

/** Above the first line; of a launcher above the launch itself, which may be far below. */
function rangeIn({ format, launcher, texts }: SessionState, uri: vscode.Uri): vscode.Range {
  const place = format !== 'pytorch-schedule' && isLauncher(format) ? launcher?.place : undefined;
  return place?.file === uri.toString() ? toRange(place, texts) : new vscode.Range(0, 0, 0, 0);
}
