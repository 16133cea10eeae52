import type { Section } from '../../core/domain/settings/table';
import * as vscode from 'vscode';
import { chosenCandidate } from '../../core/planner/plan';
import type { ExplorerItem } from './explorer-items';
import { isLauncher } from '../../core/launchers/registry';
import { findConfigs, launcherGlob, lookAt } from '../sessions/find-configs';
import { factsOfRun } from '../../host/sessions/run-facts';
import { totalsText } from '../language/launcher-facts';
import type { FactRow } from '../language/launcher-outline';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import type { SessionState } from '../../host/sessions/session-state';
import { toRange } from '../language/ranges';
import { reportBug } from '../commands/run-command';
import { uriBaseName } from '../sessions/sources';
import { elasticText, planSummary } from '../../host/plan-summary';
import { toCommand, treeItem } from '../platform/ui';

interface Explorer {
  readonly dispose: () => void;
  /** Scans the workspace again. */
  readonly refresh: () => void;
}

/** The tree of models and plans. It scans the workspace when it is first shown, and when configs appear or vanish. */
export function registerExplorer(sessions: PlanSessions, log: vscode.LogOutputChannel): Explorer {
  const changed = new vscode.EventEmitter<ExplorerItem | undefined>();
  let roots: Promise<readonly ExplorerItem[]> | null = null;
  const launcherPaths = new Set<string>();
  const answers = new Map<string, readonly unknown[]>();

  function findRoots(): Promise<readonly ExplorerItem[]> {
    roots ??= findConfigs(log).then((found) => {
      offerMenus(found.filter(({ format }) => isLauncher(format)).map(({ file }) => file));
      return found.map((config): ExplorerItem => ({ kind: 'config', ...config }));
    });
    return roots;
  }

  /** Menus of VS Code's own explorer show our commands only on these: an ending is not enough. */
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

  async function childItems(item: ExplorerItem | undefined): Promise<readonly ExplorerItem[]> {
    if (item === undefined) return findRoots();
    // Loaded when a config is first opened up in the tree.
    const [{ configItems, stageItems }, { factRows }] = await Promise.all([
      import('./explorer-items'),
      import('../language/launcher-outline'),
    ]);
    if (item.kind === 'config') return configItems(await sessions.ensure(item.file, item.format), vscode.l10n.t);
    const state = sessions.get(item.file);
    if (item.kind === 'group') return state === undefined ? [] : factRows(state, item.group, vscode.l10n.t);
    const plan = item.kind === 'stages' ? (state?.plan ?? null) : null;
    return plan === null ? [] : stageItems(item.file, chosenCandidate(plan), vscode.l10n.t);
  }

  const view = vscode.window.createTreeView('terapipe.explorer', {
    showCollapseAll: true,
    treeDataProvider: {
      onDidChangeTreeData: changed.event,
      getChildren: async (item) => [...(await childItems(item))],
      getTreeItem: (item) => toTreeItem(item, sessions),
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
    if (answers.get(file)?.every((part, index) => part === answer[index]) === true) return;
    answers.set(file, answer);
    // An event's state keeps its plan alive; a closed session must not.
    for (const known of answers.keys()) if (sessions.get(known) === undefined) answers.delete(known);
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

const groupIcons: Readonly<Record<Section, string>> = {
  model: 'symbol-structure',
  layout: 'split-horizontal',
  training: 'mortar-board',
  cluster: 'server-environment',
};

const calmMs = 500;
const lookedAt = 50;

/** Reports created and deleted launcher files in batches: a build or a checkout writes hundreds. */
function followLaunchers(
  act: (created: readonly vscode.Uri[], gone: ReadonlySet<string>) => Promise<void>,
  onError: (error: unknown) => void,
): vscode.Disposable {
  const created = new Map<string, vscode.Uri>();
  const gone = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const report = (): void => {
    const [uris, files] = [[...created.values()], new Set(gone)];
    created.clear();
    gone.clear();
    act(uris, files).catch(onError);
  };
  const later = (): void => {
    clearTimeout(timer);
    timer = setTimeout(report, calmMs);
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

/** Whether one of the new files is a config. Reads a few one by one; for more, scans the whole workspace. */
async function hasConfig(uris: readonly vscode.Uri[]): Promise<boolean> {
  if (uris.length > lookedAt) return true;
  for (const uri of uris) if ((await lookAt(uri)) !== null) return true;
  return false;
}

function toTreeItem(item: ExplorerItem, sessions: PlanSessions): vscode.TreeItem {
  switch (item.kind) {
    case 'config':
      return configItem(item, sessions);
    case 'stages':
      return treeItem({ label: item.label, icon: 'layers', hasChildren: true });
    case 'group': {
      const row = described(item.label, item.value, groupIcons[item.group], true);
      row.id = `${item.file}#${item.group}`;
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
  const selection = toRange(place, sessions.get(file)?.texts ?? new Map());
  const options: vscode.TextDocumentShowOptions = { selection };
  row.command = toCommand(vscode.l10n.t('Open'), 'vscode.open', [vscode.Uri.parse(place.file), options]);
  return row;
}

function configItem({ file, format }: Extract<ExplorerItem, { kind: 'config' }>, sessions: PlanSessions): vscode.TreeItem {
  const uri = vscode.Uri.parse(file);
  const folder = uriBaseName(vscode.Uri.joinPath(uri, '..'));
  const row = treeItem({
    label: folder === '' ? uriBaseName(uri) : `${folder}/${uriBaseName(uri)}`,
    description: itemDescription(sessions.get(file)),
    tooltip: vscode.workspace.asRelativePath(uri),
    icon: format === 'terapipe' ? 'graph' : isLauncher(format) ? 'rocket' : 'json',
    hasChildren: true,
  });
  row.id = file;
  row.contextValue = `config.${format}`;
  row.command = toCommand(vscode.l10n.t('Open'), 'vscode.open', [uri]);
  return row;
}

/** The step time of a plan, else what freezing layers gains or the totals of a launcher; empty while nothing is known. */
function itemDescription(state: SessionState | undefined): string {
  if (state === undefined) return '';
  const { plan, elastic, launcher } = state;
  if (plan !== null) return vscode.l10n.t('{0} / step', planSummary(plan).stepText);
  if (elastic !== null) return elasticText(elastic.plan, vscode.l10n.t);
  return launcher === null ? '' : (totalsText(factsOfRun(state), launcher, vscode.l10n.t) ?? '');
}

function described(label: string, value: string, icon: string, hasChildren = false): vscode.TreeItem {
  return treeItem({ label, description: value, tooltip: `${label}: ${value}`, icon, hasChildren });
}
