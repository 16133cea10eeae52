import * as vscode from 'vscode';

const againAfterMs = 1000;

/** Tells VS Code that lenses say something else. */
export interface LensChanges {
  readonly event: vscode.Event<void>;
  readonly fire: () => void;
  readonly dispose: () => void;
}

/**
 * Changes of lenses, each told twice. VS Code waits at least 250 ms before it asks for lenses again, and gives that up when the editor loses the focus meanwhile, as it does when a tab or a notification takes it; it asks again only
 * when the editor gets the focus back or is told of another change (`CodeLensContribution` in codelensController.ts: `onDidBlurEditorText` cancels the scheduler). Without the second time, a lens beside a tab that just opened
 * would say what was true before.
 */
export function makeLensChanges(): LensChanges {
  const changed = new vscode.EventEmitter<void>();
  let second: ReturnType<typeof setTimeout> | undefined;
  return {
    event: changed.event,
    fire: () => {
      changed.fire();
      clearTimeout(second);
      second = setTimeout(() => changed.fire(), againAfterMs);
    },
    dispose: () => {
      clearTimeout(second);
      changed.dispose();
    },
  };
}
