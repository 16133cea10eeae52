import * as vscode from 'vscode';
import { ExpectedError } from '../../core/errors';
import { own } from '../../core/records';
import { sentence, type Sentence } from '../../core/sentence';
import { isDesktop } from '../platform/desktop';
import type { Commands } from './commands';
import { runCommand } from './run-command';

const startsProcesses = sentence`This starts processes, which VS Code in a browser does not`;

/** What measures or runs, and what it needs that browsers have not. */
const desktopCommands = new Map([
  ['terapipe.profile', startsProcesses],
  ['terapipe.importProfile', sentence`Profiles are kept on a disk, which VS Code in a browser does not have`],
  ['terapipe.rehearse', startsProcesses],
  ['terapipe.runHere', startsProcesses],
]);

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
        const missing = isDesktop() ? undefined : desktopCommands.get(command);
        if (missing !== undefined) throw notHere(missing);
        const actions = (await (loaded ??= load())) as unknown as Readonly<Record<string, (...given: unknown[]) => unknown>>;
        return own(actions, command)?.(...given);
      }),
    ),
  );
  return vscode.Disposable.from(...registered);
}

function notHere(missing: Sentence): ExpectedError {
  return new ExpectedError('desktop-needed', missing, sentence`open the folder in VS Code on a desktop`);
}
