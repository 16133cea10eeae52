import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { own } from '../../core/records';
import { sentence } from '../../core/sentence';
import { isDesktop } from '../platform/desktop';
import type { Commands } from './commands';
import { runCommand } from './run-command';

/** What measures or runs: in processes, with the libraries of a machine. */
const desktopCommands = new Set(['terapipe.profile', 'terapipe.importProfile', 'terapipe.rehearse', 'terapipe.runHere']);

/** Registers the commands of the manifest, each with the one way of failing. What they do is loaded when the first of them is run. */
export function registerCommands(
  extension: vscode.Extension<unknown>,
  load: () => Promise<Commands>,
  log: vscode.LogOutputChannel,
): vscode.Disposable {
  let loaded: Promise<Commands> | undefined;
  const { contributes } = extension.packageJSON as { readonly contributes: { readonly commands: readonly { readonly command: string }[] } };
  const registered = contributes.commands.map(({ command }) =>
    vscode.commands.registerCommand(command, (...given: unknown[]) =>
      runCommand(log, command, async () => {
        if (!isDesktop() && desktopCommands.has(command)) throw notHere();
        const actions = (await (loaded ??= load())) as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>;
        return own(actions, command)?.(...given);
      }),
    ),
  );
  return vscode.Disposable.from(...registered);
}

function notHere(): ExpectedError {
  return new ExpectedError(
    'desktop-needed',
    sentence`This starts processes, which VS Code in a browser does not`,
    sentence`open the folder in VS Code on a desktop`,
  );
}
