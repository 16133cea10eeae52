import * as vscode from 'vscode';
import { CancelledError } from '../../../core/errors';
import type { ToolCalls } from './call-tool';

/** A tool of `contributes.languageModelTools`. */
interface ContributedTool {
  readonly name: string;
  readonly displayName: string;
}

/**
 * Registers the tools for the agents of VS Code. All at once: a tool that is declared and not registered leaves its caller waiting. What
 * answers them is loaded with the first call.
 */
export function registerLanguageModelTools(extension: vscode.Extension<unknown>, calls: ToolCalls): vscode.Disposable {
  const { contributes } = extension.packageJSON as { readonly contributes: { readonly languageModelTools: readonly ContributedTool[] } };
  return vscode.Disposable.from(
    ...contributes.languageModelTools.map(({ name, displayName }) =>
      vscode.lm.registerTool<unknown>(name, {
        // They only read, so nothing is to be confirmed.
        prepareInvocation: () => ({ invocationMessage: `TeraPipe: ${displayName}` }),
        invoke: ({ input }, token) => invoke(calls, name, input, token),
      }),
    ),
  );
}

async function invoke(
  calls: ToolCalls,
  name: string,
  input: unknown,
  token: vscode.CancellationToken,
): Promise<vscode.LanguageModelToolResult> {
  const { callTool } = await import('./call-tool');
  const controller = new AbortController();
  const listening = token.onCancellationRequested(() => controller.abort());
  if (token.isCancellationRequested) controller.abort();
  try {
    const { text, data } = await callTool(calls, name, input, controller.signal);
    return new vscode.LanguageModelToolResult([
      new vscode.LanguageModelTextPart(text),
      new vscode.LanguageModelTextPart(JSON.stringify(data)),
    ]);
  } catch (error) {
    throw error instanceof CancelledError ? new vscode.CancellationError() : error;
  } finally {
    listening.dispose();
  }
}
