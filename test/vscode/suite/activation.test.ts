import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { measured } from './measurements';

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string }[];
    readonly views: Readonly<Record<string, readonly { readonly id: string }[]>>;
  };
}

describe('activation', () => {
  const extension = vscode.extensions.getExtension('terapipe.terapipe')!;
  const manifest = extension.packageJSON as Manifest;

  it('succeeds', async () => {
    const before = extension.isActive;
    const startMs = performance.now();
    await extension.activate();
    const durationMs = performance.now() - startMs;
    measured(
      before
        ? 'activated by VS Code before the suite, not timed'
        : `activation, loading and round trip included: ${durationMs.toFixed(0)} ms`,
    );
    assert.ok(extension.isActive);
  });

  it('registers exactly the commands that the manifest declares', async () => {
    const views = Object.values(manifest.contributes.views).flatMap((list) => list.map(({ id }) => `${id}.`));
    const registered = (await vscode.commands.getCommands(true))
      .filter((command) => command.startsWith('terapipe.'))
      .filter((command) => !views.some((view) => command.startsWith(view)));
    assert.deepEqual(registered.sort(), manifest.contributes.commands.map(({ command }) => command).sort());
  });
});
