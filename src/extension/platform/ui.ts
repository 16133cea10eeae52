import * as vscode from 'vscode';
import { inert } from './inert';

// All texts of notifications, progress, quick picks, prompts, the status bar, lenses and trees go through here, which makes what they quote
// inert. test/unit/extension/platform/ui.test.ts checks that nothing bypasses it. Titles of tabs and dialogs, problems and inlay hints are
// plain text in VS Code; Markdown has its own escaping.

/** A notification; resolves to the answer that was clicked, undefined when it was closed. */
export function showInformationMessage(message: string, ...answers: readonly string[]): Thenable<string | undefined> {
  return vscode.window.showInformationMessage(inert(message), ...answers);
}

/** As `showInformationMessage`, for warnings. */
export function showWarningMessage(message: string, ...answers: readonly string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(inert(message), ...answers);
}

/** As `showInformationMessage`, for bugs, and for what a person must not overlook. */
export function showErrorMessage(message: string, ...answers: readonly string[]): Thenable<string | undefined> {
  return vscode.window.showErrorMessage(inert(message), ...answers);
}

/** A dialog, for what a command waits for. Resolves to the answer, undefined when it was closed. */
export function showQuestion(message: string, detail: string, ...answers: readonly string[]): Thenable<string | undefined> {
  return vscode.window.showWarningMessage(inert(message), { modal: true, detail: inert(detail) }, ...answers);
}

interface Report {
  readonly message?: string;
  /** Per cent more than at the last report. */
  readonly increment?: number;
}

/** A notification with progress and a button to cancel; in the status bar it covers nothing, and what is on screen has the button. */
export function withProgress<T>(
  title: string,
  work: (progress: vscode.Progress<Report>, token: vscode.CancellationToken) => Thenable<T>,
  where: 'notification' | 'status bar' = 'notification',
): Thenable<T> {
  const location = where === 'notification' ? vscode.ProgressLocation.Notification : vscode.ProgressLocation.Window;
  const options = { location, title: inert(title), cancellable: true };
  return vscode.window.withProgress(options, (progress, token) =>
    work(
      {
        report: ({ message, increment }) =>
          progress.report({
            ...(message === undefined ? {} : { message: inert(message) }),
            ...(increment === undefined ? {} : { increment }),
          }),
      },
      token,
    ),
  );
}

/** The same for work that hears a signal, and reports how far it is as a fraction from 0 to 1, with what it does. */
export function withAbort<T>(
  title: string,
  work: (signal: AbortSignal, report: (fraction: number, message?: string) => void) => Promise<T>,
): Thenable<T> {
  return withProgress(title, async (progress, token) => {
    const controller = new AbortController();
    const subscription = token.onCancellationRequested(() => controller.abort());
    let reached = 0;
    try {
      return await work(controller.signal, (fraction, message) => {
        progress.report({ increment: 100 * Math.max(0, fraction - reached), ...(message === undefined ? {} : { message }) });
        reached = Math.max(reached, fraction);
      });
    } finally {
      subscription.dispose();
    }
  });
}

/** Asks for one of the items; resolves to that very item, undefined when nothing was picked. */
export async function showQuickPick<T extends vscode.QuickPickItem>(
  items: readonly T[] | Thenable<readonly T[]>,
  options: PickOptions,
): Promise<T | undefined> {
  const picked = await vscode.window.showQuickPick(shownItems(items), inertOptions(options));
  return picked?.item;
}

/** Asks for any number of the items; resolves to those very items, undefined when it was closed. */
export async function showManyPick<T extends vscode.QuickPickItem>(
  items: readonly T[],
  options: PickOptions,
): Promise<readonly T[] | undefined> {
  const picked = await vscode.window.showQuickPick(shownItems(items), { ...inertOptions(options), canPickMany: true });
  return picked?.map(({ item }) => item);
}

interface PickOptions extends vscode.QuickPickOptions {
  readonly title: string;
}

function inertOptions({ title, placeHolder, ...options }: PickOptions): vscode.QuickPickOptions {
  return { ...options, title: inert(title), ...(placeHolder === undefined ? {} : { placeHolder: inert(placeHolder) }) };
}

async function shownItems<T extends vscode.QuickPickItem>(
  items: readonly T[] | Thenable<readonly T[]>,
): Promise<(vscode.QuickPickItem & { readonly item: T })[]> {
  return (await items).map((item) => ({
    ...item,
    label: inert(item.label),
    ...(item.description === undefined ? {} : { description: inert(item.description) }),
    ...(item.detail === undefined ? {} : { detail: inert(item.detail) }),
    item,
  }));
}

/** Asks for a line of text. */
export function showInputBox({ title, prompt, validateInput, ...options }: InputOptions): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    ...options,
    title: inert(title),
    ...(prompt === undefined ? {} : { prompt: inert(prompt) }),
    ...(validateInput === undefined
      ? {}
      : {
          validateInput: (text) => {
            const problem = validateInput(text);
            return problem === null ? null : inert(problem);
          },
        }),
  });
}

interface InputOptions extends Pick<vscode.InputBoxOptions, 'value' | 'ignoreFocusOut' | 'placeHolder'> {
  readonly title: string;
  readonly prompt?: string;
  /** What is wrong with a text; null: nothing. */
  readonly validateInput?: (text: string) => string | null;
}

/** Our item of the status bar. */
interface StatusItem {
  readonly show: (state: {
    /** Name of a codicon, with its modifier: `sync~spin`. */
    readonly icon: string;
    readonly text: string;
    readonly tooltip: vscode.MarkdownString;
    readonly command: vscode.Command;
    /** Of the background. */
    readonly color: vscode.ThemeColor | undefined;
    readonly textColor: vscode.ThemeColor | undefined;
  }) => void;
  readonly hide: () => void;
  readonly dispose: () => void;
}

/** Makes the item, hidden at first. */
export function createStatusItem(id: string, name: string): StatusItem {
  const item = vscode.window.createStatusBarItem(id, vscode.StatusBarAlignment.Left, 0);
  item.name = name;
  return {
    show: ({ icon, text, tooltip, command, color, textColor }) => {
      item.text = `$(${icon}) ${inert(text)}`;
      item.tooltip = tooltip;
      item.command = command;
      item.backgroundColor = color;
      item.color = textColor;
      item.show();
    },
    hide: () => item.hide(),
    dispose: () => item.dispose(),
  };
}

/** Shows a message in the status bar for a while. @param icon name of a codicon. */
export function setStatusBarMessage(icon: string, text: string, shownMs: number): void {
  vscode.window.setStatusBarMessage(`$(${icon}) ${inert(text)}`, shownMs);
}

/** What a lens, a row or the status bar runs when it is clicked, and its title. */
export function toCommand(title: string, command: string, args: readonly unknown[] = [], tooltip?: string): vscode.Command {
  return { title: inert(title), command, arguments: [...args], ...(tooltip === undefined ? {} : { tooltip: inert(tooltip) }) };
}

/** A row of a tree. @param row.icon name of a codicon. */
export function treeItem(row: {
  readonly label: string;
  readonly description?: string;
  readonly tooltip?: string;
  readonly icon: string;
  readonly hasChildren?: boolean;
}): vscode.TreeItem {
  const { None, Collapsed } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(inert(row.label), row.hasChildren === true ? Collapsed : None);
  item.iconPath = new vscode.ThemeIcon(row.icon);
  if (row.description !== undefined) item.description = inert(row.description);
  if (row.tooltip !== undefined) item.tooltip = inert(row.tooltip);
  return item;
}
