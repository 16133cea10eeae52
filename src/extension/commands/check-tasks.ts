import process from 'node:process';
import * as vscode from 'vscode';

const type = 'terapipe';

/**
 * Tasks that run the terminal program of this extension: a check of the workspace, and what tasks.json defines with `"type": "terapipe"`.
 * Their output goes to the problems.
 */
export function registerTasks(context: vscode.ExtensionContext): vscode.Disposable {
  const task = (definition: vscode.TaskDefinition, command: string, args: readonly string[], scope: vscode.Task['scope']): vscode.Task => {
    const execution = new vscode.ProcessExecution(process.execPath, [context.asAbsolutePath('dist/cli.js'), command, ...args], {
      env: { ELECTRON_RUN_AS_NODE: '1' },
    });
    return new vscode.Task(definition, scope ?? vscode.TaskScope.Workspace, [command, ...args].join(' '), type, execution, '$terapipe');
  };
  return vscode.tasks.registerTaskProvider(type, {
    provideTasks: () => [task({ type, command: 'check', args: ['.'] }, 'check', ['.'], vscode.TaskScope.Workspace)],
    resolveTask: ({ definition, scope }) => {
      const { command, args = [] } = definition as { readonly command?: unknown; readonly args?: unknown } & vscode.TaskDefinition;
      const isText = (value: unknown): value is string => typeof value === 'string';
      return isText(command) && Array.isArray(args) && args.every(isText) ? task(definition, command, args, scope) : undefined;
    },
  });
}
