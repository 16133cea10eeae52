import * as vscode from 'vscode';
import { changeJson, type JsonChange } from '../../core/terapipe/change-json';
import type { LauncherReader } from '../../core/run/facts';
import type { WhatIfSet } from '../../core/layout-search/what-if';
import type { ControlChange } from '../../protocol/page';
import type { SessionState } from '../../host/sessions/session-state';
import type { WhatIf } from '../../host/sessions/what-ifs';
import { launcherEdits, overridesForNewFile, triedPlan, type ConfigSet } from '../../host/sessions/written-sizes';
import { requireTrustToWrite } from './apply-layout';
import { createConfigCommand } from './create-config';
import { createPageEdits, type PageEdits } from './page-edits';
import type { ConfigCommands } from './target';

/** What edits of pages need. */
export interface ChangeCommands extends ConfigCommands {
  readonly edits: PageEdits;
  readonly shell: () => Promise<LauncherReader>;
}

/**
 * Sets values in a `terapipe.json` as one edit that undo takes back, comments kept. The file stays unsaved when it is open.
 * @throws ExpectedError when the file has a JSON error or cannot be edited.
 */
export async function changeConfig(uri: vscode.Uri, changes: readonly JsonChange[], edits = createPageEdits()): Promise<void> {
  const file = uri.toString();
  const document = await vscode.workspace.openTextDocument(uri);
  const replacement = changeJson(document.getText(), changes);
  if (replacement === null) return;
  const { newText, ...range } = replacement;
  await edits.make(file, [{ place: { file, range }, newText }]);
}

/** A control of the tab's toolbar: writes into the session's `terapipe.json`, which is created first for a bare model config. */
export async function applyControl(commands: ChangeCommands, session: SessionState, { key, value }: ControlChange): Promise<void> {
  await setInConfig(commands, session, [[key, value]]);
}

/**
 * Writes sizes and settings that were tried: into the `terapipe.json` or, where it can express them, into the launcher's file; else into a
 * `terapipe.json` next to it.
 * @throws ExpectedError `what-if-outdated`, `apply-untrusted`, and as `changeConfig`.
 */
export async function writeSizes(
  commands: ChangeCommands,
  session: SessionState,
  sets: readonly WhatIfSet[],
  tried: WhatIf | null,
): Promise<void> {
  const plan = triedPlan(tried, sets);
  const edits = await launcherEdits(session, sets, plan);
  if (edits !== null) {
    requireTrustToWrite();
    await commands.edits.make(session.file, edits);
    return;
  }
  const { run, format } = session;
  await setInConfig(commands, session, run === null || format === 'terapipe' ? sets : overridesForNewFile(run, sets, plan));
}

/** Sets values in the `terapipe.json` of a session, which is created first next to another config. @throws as `changeConfig`. */
export async function setInConfig(commands: ChangeCommands, session: SessionState, sets: readonly ConfigSet[]): Promise<void> {
  const uri = session.format === 'terapipe' ? vscode.Uri.parse(session.file) : await createConfigCommand(commands, session.file);
  await changeConfig(
    uri,
    sets.map(([key, value]) => ({ path: key.split('.'), value: value ?? undefined })),
    commands.edits,
  );
}
