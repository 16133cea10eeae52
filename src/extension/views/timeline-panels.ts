import * as vscode from 'vscode';
import type { CandidateId } from '../../core/planner/plan';
import type { TabId } from '../../protocol/page';
import type { OpenPage } from './open-page';
import type { Page } from './page-host';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import type { ShownConfig } from '../sessions/shown-config';
import { displayPath } from '../sessions/sources';

const timelineViewType = 'terapipe.timeline';

interface Panel {
  readonly panel: vscode.WebviewPanel;
  readonly page: Page;
}

export interface TimelinePanels {
  readonly dispose: () => void;
  /** Opens the editor tab of a config or schedule next to the text in front, or brings it forward where it is. */
  readonly open: (file: string, at?: { readonly tab: TabId; readonly candidate: CandidateId | null }) => void;
  readonly has: (file: string) => boolean;
  readonly isInView: (file: string) => boolean;
  /** Hears that a tab came into view, or went out of it. */
  readonly onDidChangeView: vscode.Event<void>;
}

/** One editor tab a config or schedule, restored with the window. */
export function createTimelinePanels(
  openPage: OpenPage,
  sessions: PlanSessions,
  extensionUri: vscode.Uri,
  shown: ShownConfig,
): TimelinePanels {
  const panels = new Map<string, Panel>();
  const viewChanged = new vscode.EventEmitter<void>();

  function adopt(panel: vscode.WebviewPanel, file: string): Panel {
    const session = (): ReturnType<typeof shown.session> => sessions.get(file) ?? null;
    const title = (): string => {
      const name = panelTitle(session());
      if (name === undefined) return vscode.l10n.t('Timeline');
      const isShared = sessions.all().some((other) => other.file !== file && panelTitle(other) === name);
      return isShared ? vscode.l10n.t('Timeline of {0} ({1})', name, displayPath(file)) : vscode.l10n.t('Timeline of {0}', name);
    };
    const retitle = (): void => {
      const text = title();
      if (panel.title !== text) panel.title = text;
    };
    const icon = (theme: string): vscode.Uri => vscode.Uri.joinPath(extensionUri, 'media', `terapipe-${theme}.svg`);
    panel.iconPath = { light: icon('light'), dark: icon('dark') };
    const page = openPage(panel.webview, { page: 'tab', title: title(), session, isVisible: () => panel.visible });
    const adopted = { panel, page };
    panels.set(file, adopted);
    retitle();
    viewChanged.fire();
    const subscriptions = vscode.Disposable.from(
      page,
      sessions.onDidChange(retitle),
      sessions.onDidDrop((dropped) => {
        if (dropped === file) panel.dispose();
        else retitle();
      }),
      panel.onDidChangeViewState(() => {
        page.visibilityChanged();
        viewChanged.fire();
        if (panel.active) shown.show(file);
      }),
    );
    panel.onDidDispose(() => {
      panels.delete(file);
      viewChanged.fire();
      subscriptions.dispose();
    });
    return adopted;
  }

  async function restore(panel: vscode.WebviewPanel, state: unknown): Promise<void> {
    const remembered = keptDocument(state);
    const uri = remembered === null ? null : vscode.Uri.parse(remembered);
    const file = uri === null ? null : ((await shown.findSchedule(uri)) ?? (await shown.findConfig(uri)));
    if (file === null) await shown.suggest();
    const target = file ?? shown.file();
    if (target === null || panels.has(target)) {
      panel.dispose();
      return;
    }
    adopt(panel, target);
    if (panel.active) shown.show(target);
  }

  const serializer = vscode.window.registerWebviewPanelSerializer(timelineViewType, { deserializeWebviewPanel: restore });

  return {
    open: (file, at) => {
      const known = panels.get(file);
      known?.panel.reveal(known.panel.viewColumn);
      const { page } = known ?? adopt(vscode.window.createWebviewPanel(timelineViewType, vscode.l10n.t('Timeline'), freeColumn()), file);
      if (at !== undefined) page.showTab(at.tab, at.candidate);
    },
    has: (file) => panels.has(file),
    isInView: (file) => panels.get(file)?.panel.visible === true,
    onDidChangeView: viewChanged.event,
    dispose: () => {
      serializer.dispose();
      for (const { panel } of [...panels.values()]) panel.dispose();
      viewChanged.dispose();
    },
  };
}

/** Where a tab covers no text that is being edited: the other group of editors, a new one where there is none, else the group in use. */
function freeColumn(): vscode.ViewColumn {
  const { all, activeTabGroup } = vscode.window.tabGroups;
  const input = activeTabGroup.activeTab?.input;
  const isText = input instanceof vscode.TabInputText || input instanceof vscode.TabInputTextDiff;
  if (!isText) return vscode.ViewColumn.Active;
  const others = all.filter((group) => group !== activeTabGroup);
  const withTimelines = others.find(({ tabs }) => tabs.some(isTimeline));
  return (withTimelines ?? others[0])?.viewColumn ?? vscode.ViewColumn.Beside;
}

function isTimeline({ input }: vscode.Tab): boolean {
  return input instanceof vscode.TabInputWebview && input.viewType.endsWith(timelineViewType);
}

/** What a config or schedule is called. */
function panelTitle(state: SessionState | null): string | undefined {
  return state?.run?.title ?? state?.plan?.request.title ?? state?.schedule?.timeline.name;
}

/** The config that a page kept in its own state, if it did. */
function keptDocument(state: unknown): string | null {
  if (state === null || typeof state !== 'object' || !('document' in state)) return null;
  return typeof state.document === 'string' ? state.document : null;
}
