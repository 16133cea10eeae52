import * as vscode from 'vscode';
import { isLauncher } from '../core/launch/readers';
import type { LayoutSearches } from './layout-searches';
import { makeLensChanges } from './lens-changes';
import { layoutLensText, lensTexts } from './lens-text';
import type { PlanSessions, SessionState } from './plan-sessions';
import { rangeOf } from './ranges';
import { isEnabled } from './settings';
import type { ShownConfig } from './shown-config';
import { commandOf } from './ui';

class ConfigLens extends vscode.CodeLens {
  constructor(
    range: vscode.Range,
    readonly file: string,
    readonly part: 'run' | 'plan' | 'layout' | 'memory' | 'profile' | 'elastic',
  ) {
    super(range);
  }
}

/** Lenses over every config: a launcher's totals, step time and bubble, memory of the worst stage, the profile or the way to one, what freezing layers gains. Where they stand is cheap; what they say is asked when they show. */
export function registerCodeLens(
  sessions: PlanSessions,
  layouts: LayoutSearches,
  shown: ShownConfig,
  selector: vscode.DocumentSelector,
): vscode.Disposable {
  const changed = makeLensChanges();
  const provider: vscode.CodeLensProvider<ConfigLens> = {
    onDidChangeCodeLenses: changed.event,
    provideCodeLenses: async ({ uri }) => {
      if (!isEnabled('codeLens', uri)) return [];
      const file = await shown.configOf(uri);
      if (file === null) return [];
      const state = sessions.get(file);
      const place = state?.launcher?.place ?? state?.run?.place;
      const range = state !== undefined && place?.file === uri.toString() ? rangeOf(place, state.texts) : new vscode.Range(0, 0, 0, 0);
      const planned = (state?.plan ?? null) !== null;
      const isElastic = (state?.elastic ?? null) !== null;
      const hasTotals = state !== undefined && lensTexts(state, vscode.l10n.t).run !== null;
      return [
        ...(hasTotals ? [new ConfigLens(range, file, 'run')] : []),
        ...(planned || !isElastic || state?.error !== null ? [new ConfigLens(range, file, 'plan')] : []),
        ...(planned && hasLayouts(state) ? [new ConfigLens(range, file, 'layout')] : []),
        ...(planned ? (['memory', 'profile'] as const).map((part) => new ConfigLens(range, file, part)) : []),
        ...(isElastic ? [new ConfigLens(range, file, 'elastic')] : []),
      ];
    },
    resolveCodeLens: (lens) => {
      const state = sessions.get(lens.file);
      const texts = state === undefined ? null : lensTexts(state, vscode.l10n.t);
      const arguments_ = [vscode.Uri.parse(lens.file)];
      if (lens.part === 'layout') {
        const title = layoutLensText(layouts.stateOf(lens.file), vscode.l10n.t) ?? vscode.l10n.t('Search layouts');
        lens.command = commandOf(title, 'terapipe.openLayout', arguments_, vscode.l10n.t('Compare layouts'));
        return lens;
      }
      const title = texts?.[lens.part] ?? vscode.l10n.t('Plan');
      const measures = lens.part === 'profile' && (state?.plan?.request.profile ?? null) === null;
      if (lens.part === 'run') lens.command = commandOf(title, 'terapipe.explorer.focus', [], vscode.l10n.t('Show models and plans'));
      else if (lens.part === 'elastic')
        lens.command = commandOf(title, 'terapipe.openElastic', arguments_, vscode.l10n.t('Open elastic plan'));
      else if (measures) lens.command = commandOf(title, 'terapipe.profile', arguments_, vscode.l10n.t('Measure this layer here'));
      else
        lens.command =
          (state?.plan ?? null) === null
            ? commandOf(title, 'terapipe.plan', arguments_, vscode.l10n.t('Plan this model'))
            : commandOf(title, 'terapipe.openTimeline', arguments_, vscode.l10n.t('Open timeline'));
      return lens;
    },
  };

  /** Files that somebody launches, and others once layouts were searched for them. */
  function hasLayouts(state: SessionState | undefined): boolean {
    if (state === undefined) return false;
    return state.launcher !== null && state.format !== 'pytorch-schedule' ? isLauncher(state.format) : layouts.stateOf(state.file) !== null;
  }

  const said = new Map<string, string>();
  function tell(file: string): void {
    const state = sessions.get(file);
    if (state === undefined) return;
    const { plan, memory, profile, run, elastic } = lensTexts(state, vscode.l10n.t);
    const text = [plan, memory, profile, run, elastic, layoutLensText(layouts.stateOf(file), vscode.l10n.t)].join('\n');
    if (said.get(file) === text) return;
    said.set(file, text);
    changed.fire();
  }

  return vscode.Disposable.from(
    changed,
    vscode.languages.registerCodeLensProvider(selector, provider),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('terapipe.codeLens')) changed.fire();
    }),
    sessions.onDidChange(({ file }) => tell(file)),
    layouts.onDidChange(tell),
  );
}
