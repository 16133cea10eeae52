import * as vscode from 'vscode';
import { own } from '../../core/records';
import type { Commands } from './commands';
import { runCommand } from './run-command';

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
        const actions = (await (loaded ??= load())) as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>;
        return own(actions, command)?.(...given);
      }),
    ),
  );
  return vscode.Disposable.from(...registered);
}
