import * as vscode from 'vscode';
import type { PlanSessions } from '../../host/sessions/plan-sessions';
import { isGone, openDocument } from './sources';
import { planDelayMs } from '../platform/settings';

/** Notifies sessions when a file that they read is edited, changes on disk, appears or vanishes. One narrow watcher a file. */
export function followFiles(sessions: PlanSessions, onError: (error: unknown) => void): vscode.Disposable {
  const watchers = new Map<string, vscode.FileSystemWatcher>();

  /** A config without its file has no session, unless it is still in an editor; others that read the file plan without it. */
  async function deleted(file: string): Promise<void> {
    if (openDocument(file) === undefined && (await isGone(file))) sessions.drop(file);
    sessions.changed(file);
  }

  function watch(file: string): vscode.FileSystemWatcher {
    const uri = vscode.Uri.parse(file);
    const name = uri.path.slice(uri.path.lastIndexOf('/') + 1);
    const literal = name.replace(/[*?[\]{}]/g, '[$&]');
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.joinPath(uri, '..'), literal));
    const changed = (): void => sessions.changed(file);
    // Sessions read open files from the editor, which reports their edits. The disk event of saving them may come seconds later.
    const changedOnDisk = (): void => {
      if (openDocument(file) === undefined) changed();
    };
    watcher.onDidCreate(changedOnDisk);
    watcher.onDidChange(changedOnDisk);
    watcher.onDidDelete(() => void deleted(file).catch(onError));
    return watcher;
  }

  function watchWhatIsRead(): void {
    const needed = new Set(sessions.all().flatMap((state) => [...sessions.reads(state.file)]));
    for (const file of needed) if (!watchers.has(file)) watchers.set(file, watch(file));
    for (const [file, watcher] of watchers) {
      if (needed.has(file)) continue;
      watcher.dispose();
      watchers.delete(file);
    }
  }

  const subscriptions = vscode.Disposable.from(
    sessions.onDidChange(watchWhatIsRead),
    sessions.onDidDrop(watchWhatIsRead),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      if (contentChanges.length > 0) sessions.changed(document.uri.toString());
    }),
    vscode.workspace.onDidSaveTextDocument(({ uri }) => {
      if (planDelayMs() !== null) return;
      const file = uri.toString();
      for (const state of sessions.all()) if (sessions.reads(state.file).has(file)) void sessions.replan(state.file).catch(onError);
    }),
  );
  return new vscode.Disposable(() => {
    subscriptions.dispose();
    for (const watcher of watchers.values()) watcher.dispose();
  });
}

/** Whether VS Code has the file as a document, whose events report its changes. */
export function isOpen(file: string): boolean {
  return vscode.workspace.textDocuments.some((document) => !document.isClosed && document.uri.toString() === file);
}
