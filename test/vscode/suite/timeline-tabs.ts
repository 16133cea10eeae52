import * as vscode from 'vscode';

/** The open tabs that show a timeline. */
export function timelineTabs(): readonly vscode.Tab[] {
  return vscode.window.tabGroups.all
    .flatMap(({ tabs }) => tabs)
    .filter(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith('terapipe.timeline'));
}
