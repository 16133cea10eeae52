import * as vscode from 'vscode';
import { chosenOf } from '../core/planner/plan';
import { configItems, stageItems, type ExplorerItem } from './explorer-items';
import { isLauncher } from '../core/launch/readers';
import { findConfigs, launcherGlob, lookAt } from './find-configs';
import { factsOfRun, totalsText } from './launcher-facts';
import { factRows, type FactRow, type OutlineGroup } from './launcher-outline';
import type { PlanSessions } from './plan-sessions';
import { rangeOf } from './ranges';
import { reportBug } from './run-command';
import { nameOf } from './sources';
import { elasticText, summaryOf } from './summary';

export interface Explorer {
  readonly dispose: () => void;
  /** Looks through the workspace again. */
  readonly refresh: () => void;
}

/** The tree of models and plans. The workspace is looked through when the tree first shows, and when configs appear or vanish. */
export function registerExplorer(sessions: PlanSessions, log: vscode.LogOutputChannel): Explorer {
  const changed = new vscode.EventEmitter<ExplorerItem | undefined>();
  let roots: Promise<readonly ExplorerItem[]> | null = null;
  const launcherPaths = new Set<string>();
  const told = new Map<string, readonly unknown[]>();

  function findRoots(): Promise<readonly ExplorerItem[]> {
    roots ??= findConfigs(log).then((found) => {
      offerMenus(found.filter(({ format }) => isLauncher(format)).map(({ file }) => file));
      return found.map((config): ExplorerItem => ({ kind: 'config', ...config }));
    });
    return roots;
  }

  /** Menus of VS Code's own explorer show our commands on these alone: an ending says nothing. */
  function offerMenus(launchers: readonly string[]): void {
    const before = launcherPaths.size;
    for (const file of launchers) launcherPaths.add(vscode.Uri.parse(file).fsPath);
    if (launcherPaths.size > before) void vscode.commands.executeCommand('setContext', 'terapipe.launchers', [...launcherPaths]);
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
    if (item.kind === 'config') return configItems(await sessions.ensure(item.file, item.format), vscode.l10n.t);
    const state = sessions.get(item.file);
    if (item.kind === 'group') return state === undefined ? [] : factRows(state, item.group, vscode.l10n.t);
    const plan = item.kind === 'stages' ? (state?.plan ?? null) : null;
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
  const launchers = followLaunchers(
    async (created, gone) => {
      const known = (await roots) ?? [];
      if (known.some(({ file }) => gone.has(file)) || (await hasConfig(created))) refresh();
    },
    (error) => reportBug(log, 'looking for configs', error),
  );
  const subscription = sessions.onDidChange(({ file, plan, error, launcher }) => {
    const answer = [error ?? plan, launcher];
    if (told.get(file)?.every((part, index) => part === answer[index]) === true) return;
    told.set(file, answer);
    if (launcher !== null) offerMenus([file]);
    void refreshRow(file);
  });
  const parts = vscode.Disposable.from(
    changed,
    view,
    watcher,
    watcher.onDidCreate(refresh),
    watcher.onDidDelete(refresh),
    launchers,
    vscode.workspace.onDidChangeWorkspaceFolders(refresh),
    vscode.workspace.onDidGrantWorkspaceTrust(refresh),
    subscription,
  );
  return { refresh, dispose: () => void parts.dispose() };
}

const groupIcons: Readonly<Record<OutlineGroup, string>> = {
  model: 'symbol-structure',
  layout: 'split-horizontal',
  training: 'mortar-board',
  cluster: 'server-environment',
};

const calmMs = 500;
const lookedAt = 50;

/** Tells of launchers' files that came or went, many at once: a build or a checkout writes hundreds. */
function followLaunchers(
  act: (created: readonly vscode.Uri[], gone: ReadonlySet<string>) => Promise<void>,
  onError: (error: unknown) => void,
): vscode.Disposable {
  const created = new Map<string, vscode.Uri>();
  const gone = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => {
    const [uris, files] = [[...created.values()], new Set(gone)];
    created.clear();
    gone.clear();
    act(uris, files).catch(onError);
  };
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(tell, calmMs);
  };
  const watcher = vscode.workspace.createFileSystemWatcher(launcherGlob, false, true, false);
  return vscode.Disposable.from(
    watcher,
    watcher.onDidCreate((uri) => {
      created.set(uri.toString(), uri);
      later();
    }),
    watcher.onDidDelete((uri) => {
      gone.add(uri.toString());
      later();
    }),
    new vscode.Disposable(() => clearTimeout(timer)),
  );
}

/** Whether a config is among new files, one after the other; more than a few are worth a whole look. */
async function hasConfig(uris: readonly vscode.Uri[]): Promise<boolean> {
  if (uris.length > lookedAt) return true;
  for (const uri of uris) if ((await lookAt(uri)) !== null) return true;
  return false;
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
    case 'group': {
      const row = described(item.label, item.value, groupIcons[item.group]);
      row.id = `${item.file}#${item.group}`;
      row.collapsibleState = vscode.TreeItemCollapsibleState.Collapsed;
      return row;
    }
    case 'fact':
      return factItem(item, sessions);
    case 'number':
      return described(item.label, item.value, item.icon);
    case 'stage':
      return described(item.label, item.value, item.overCapacity ? 'error' : 'blank');
  }
}

/** A row that jumps to the line that defines its value. */
function factItem({ file, label, value, place }: FactRow, sessions: PlanSessions): vscode.TreeItem {
  const row = described(label, value, 'symbol-field');
  const selection = rangeOf(place, sessions.get(file)?.texts ?? new Map());
  row.command = {
    title: vscode.l10n.t('Open'),
    command: 'vscode.open',
    arguments: [vscode.Uri.parse(place.file), { selection } satisfies vscode.TextDocumentShowOptions],
  };
  return row;
}

function configItem({ file, format }: Extract<ExplorerItem, { kind: 'config' }>, sessions: PlanSessions): vscode.TreeItem {
  const uri = vscode.Uri.parse(file);
  const folder = nameOf(vscode.Uri.joinPath(uri, '..'));
  const row = new vscode.TreeItem(folder === '' ? nameOf(uri) : `${folder}/${nameOf(uri)}`, vscode.TreeItemCollapsibleState.Collapsed);
  const state = sessions.get(file);
  const plan = state?.plan ?? null;
  const launcher = state?.launcher ?? null;
  row.id = file;
  row.contextValue = `config.${format}`;
  row.iconPath = new vscode.ThemeIcon(format === 'terapipe' ? 'graph' : isLauncher(format) ? 'rocket' : 'json');
  row.tooltip = vscode.workspace.asRelativePath(uri);
  row.command = { title: vscode.l10n.t('Open'), command: 'vscode.open', arguments: [uri] };
  if (plan !== null) row.description = vscode.l10n.t('{0} / step', summaryOf(plan).stepText);
  else if (state !== undefined && state.elastic !== null) row.description = elasticText(state.elastic.plan, vscode.l10n.t);
  else if (state !== undefined && launcher !== null) row.description = totalsText(factsOfRun(state), launcher, vscode.l10n.t) ?? '';
  return row;
}

function described(label: string, value: string, icon: string): vscode.TreeItem {
  const row = new vscode.TreeItem(label);
  row.description = value;
  row.tooltip = `${label}: ${value}`;
  row.iconPath = new vscode.ThemeIcon(icon);
  return row;
}
