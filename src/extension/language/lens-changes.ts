import * as vscode from 'vscode';

const againAfterMs = 1000;

/** Notifies VS Code that lenses changed. */
interface LensChanges {
  readonly event: vscode.Event<void>;
  readonly fire: () => void;
  readonly dispose: () => void;
}

/**
 * Announces each change of the lenses twice. VS Code waits at least 250 ms before it asks for lenses again, and gives that up when the
 * editor loses the focus meanwhile, as it does when a tab or a notification takes it; it asks again only when the editor gets the focus
 * back or is notified of another change (`CodeLensContribution` in codelensController.ts: `onDidBlurEditorText` cancels the scheduler).
 * Without the second time, a lens next to a tab that just opened would show what was true before. On a slow machine a tab takes the focus
 * after the second time too, so the lenses are also announced once a tab without text is in front.
 */
export function makeLensChanges(): LensChanges {
  const changed = new vscode.EventEmitter<void>();
  let second: ReturnType<typeof setTimeout> | undefined;
  const fire = (): void => {
    changed.fire();
    clearTimeout(second);
    second = setTimeout(() => changed.fire(), againAfterMs);
  };
  const focus = vscode.window.onDidChangeActiveTextEditor((editor) => {
    if (editor === undefined) fire();
  });
  return {
    event: changed.event,
    fire,
    dispose: () => {
      clearTimeout(second);
      focus.dispose();
      changed.dispose();
    },
  };
}

/**
 * Which session a file's lenses are of, as last found. It is looked for again each time, with a notification where it is another one.
 * Lenses must not wait for it: VS Code counts how long they take to answer, and asks the less often the longer that is
 * (`CodeLensContribution` waits as long as the last answers took on average).
 * @param find the session's file; null where the file has none
 */
export function makeLensOwners(
  find: (uri: vscode.Uri) => Promise<string | null>,
  changed: LensChanges,
  onError: (error: unknown) => void,
): { readonly findOwner: (uri: vscode.Uri) => string | null; readonly dispose: () => void } {
  const owners = new Map<string, string>();
  const refresh = async (uri: vscode.Uri): Promise<void> => {
    const key = uri.toString();
    const owner = await find(uri);
    if (owner === (owners.get(key) ?? null)) return;
    if (owner === null) owners.delete(key);
    else owners.set(key, owner);
    changed.fire();
  };
  const closed = vscode.workspace.onDidCloseTextDocument(({ uri }) => owners.delete(uri.toString()));
  return {
    findOwner: (uri) => {
      void refresh(uri).catch(onError);
      return owners.get(uri.toString()) ?? null;
    },
    dispose: () => void closed.dispose(),
  };
}
