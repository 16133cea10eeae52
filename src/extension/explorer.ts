import * as vscode from 'vscode';
import { chosenOf } from '../core/planner/plan';
import { planItems, stageItems, type ExplorerItem } from './explorer-items';
import { findConfigs } from './find-configs';
import type { PlanSessions } from './plan-sessions';
import { nameOf } from './sources';
import { summaryOf } from './summary';

export interface Explorer {
  readonly dispose: () => void;
  /** Looks through the workspace again. */
  readonly refresh: () => void;
}

/** The tree of models and plans. The workspace is looked through when the tree first shows, and when configs appear or vanish. */
export function registerExplorer(sessions: PlanSessions): Explorer {
  const changed = new vscode.EventEmitter<ExplorerItem | undefined>();
  let roots: Promise<readonly ExplorerItem[]> | null = null;
  const planned = new Map<string, unknown>();

  function findRoots(): Promise<readonly ExplorerItem[]> {
    roots ??= findConfigs().then((found) => found.map((config): ExplorerItem => ({ kind: 'config', ...config })));
    return roots;
  }

  function refresh(): void {
    roots = null;
    changed.fire(undefined);
  }

  async function refreshRow(file: string): Promise<void> {
    const row = (await roots)?.find((item) => item.file === file);
    if (row !== undefined) changed.fire(row);
  }

  async function childrenOf(item: ExplorerItem | undefined): Promise<readonly ExplorerItem[]> {
    if (item === undefined) return findRoots();
    if (item.kind === 'config') return planItems(await sessions.ensure(item.file, item.format), vscode.l10n.t);
    const plan = item.kind === 'stages' ? (sessions.get(item.file)?.plan ?? null) : null;
    return plan === null ? [] : stageItems(item.file, chosenOf(plan), vscode.l10n.t);
  }

  const view = vscode.window.createTreeView('terapipe.explorer', {
    showCollapseAll: true,
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: async (item) => [...(await childrenOf(item))],
      getTreeItem: (item) => treeItemOf(item, sessions),
    },
  });
  const watcher = vscode.workspace.createFileSystemWatcher('**/{terapipe,*.terapipe,config}.json', false, true, false);
  const subscription = sessions.onDidChange(({ file, plan, error }) => {
    const answer = error ?? plan;
    if (planned.get(file) === answer) return;
    planned.set(file, answer);
    void refreshRow(file);
  });
  const parts = vscode.Disposable.from(
    changed,
    view,
    watcher,
    watcher.onDidCreate(refresh),
    watcher.onDidDelete(refresh),
    vscode.workspace.onDidChangeWorkspaceFolders(refresh),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    subscription,
  );
  return { refresh, dispose: () => void parts.dispose() };
}

function treeItemOf(item: ExplorerItem, sessions: PlanSessions): vscode.TreeItem {
  switch (item.kind) {
    case 'config':
      return configItem(item, sessions);
    case 'stages': {
      const row = new vscode.TreeItem(item.label, vscode.TreeItemCollapsibleState.Collapsed);
      row.iconPath = new vscode.ThemeIcon('layers');
      return row;
    }
    case 'number':
      return described(item.label, item.value, item.icon);
    case 'stage':
      return described(item.label, item.value, item.overCapacity ? 'warning' : 'blank');
  }
}

function configItem({ file, format }: Extract<ExplorerItem, { kind: 'config' }>, sessions: PlanSessions): vscode.TreeItem {
  const uri = vscode.Uri.parse(file);
  const folder = nameOf(vscode.Uri.joinPath(uri, '..'));
  const row = new vscode.TreeItem(folder === '' ? nameOf(uri) : `${folder}/${nameOf(uri)}`, vscode.TreeItemCollapsibleState.Collapsed);
  const plan = sessions.get(file)?.plan ?? null;
  row.id = file;
  row.contextValue = `config.${format}`;
  row.iconPath = new vscode.ThemeIcon(format === 'terapipe' ? 'graph' : 'json');
  row.tooltip = vscode.workspace.asRelativePath(uri);
  row.command = { title: vscode.l10n.t('Open'), command: 'vscode.open', arguments: [uri] };
  if (plan !== null) row.description = vscode.l10n.t('{0} / step', summaryOf(plan).stepText);
  return row;
}

function described(label: string, value: string, icon: string): vscode.TreeItem {
  const row = new vscode.TreeItem(label);
  row.description = value;
  row.tooltip = `${label}: ${value}`;
  row.iconPath = new vscode.ThemeIcon(icon);
  return row;
}
