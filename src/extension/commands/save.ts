import * as vscode from 'vscode';
import { CancelledError, ExpectedError } from '../../core/errors';
import type { Plan } from '../../core/planner/plan';
import type { PageMessage } from '../../protocol/page';
import { notWritten } from '../../files/system-reason';
import { writeWhole } from '../../files/write-whole';
import { uriBaseName } from '../sessions/sources';
import { setStatusBarMessage } from '../platform/ui';
import { settled, findTarget, type ConfigCommands } from './target';
import { startErrors, type Finding } from '../../core/findings';
import { elasticJson } from '../../features/elastic/json';
import { planJson } from '../../core/export/plan-json';
import { sentence } from '../../core/sentence';

type SaveMessage = Extract<PageMessage, { readonly type: 'save' }>;

/**
 * Saves the plan of a config as JSON, as `terapipe plan --json` prints it; that of a run that is planned only as an elastic one as
 * `terapipe elastic --json` does.
 * @throws ExpectedError `no-plan` while there is none.
 */
export async function exportPlanCommand(commands: ConfigCommands, argument: unknown): Promise<void> {
  const file = await findTarget(commands.shown, argument);
  const { plan, elastic, error, findings } = await settled(commands, file);
  if (plan === null && elastic !== null) {
    const text = `${JSON.stringify(elasticJson(elastic.plan, elastic.study), null, 2)}\n`;
    await saveText(vscode.Uri.parse(file), `${elastic.plan.request.title} elastic plan.json`, { JSON: ['json'] }, text);
    return;
  }
  if (plan === null)
    throw error ?? new ExpectedError('no-plan', sentence`There is no plan yet`, sentence`wait for planning to end, then export again`);
  await savePlan(file, plan, findings);
}

/**
 * Saves a plan as JSON next to its config.
 * @param findings of the config, which decide whether a launcher starts it as written; null for a plan that may be of another layout.
 */
export async function savePlan(file: string, plan: Plan, findings: readonly Finding[] | null): Promise<void> {
  const starts = findings === null ? {} : { starts: startErrors(findings).length === 0 };
  const text = `${JSON.stringify({ ...planJson(plan), ...starts }, null, 2)}\n`;
  await saveText(vscode.Uri.parse(file), `${plan.request.title} plan.json`, { JSON: ['json'] }, text);
}

/** A text, whole or in pieces, or bytes. */
type Content = string | Uint8Array | Iterable<string>;

/** How long the status bar shows that something was saved. */
const savedShownMs = 5000;

const filters: Readonly<Record<SaveMessage['mime'], Record<string, string[]>>> = {
  'image/svg+xml': { SVG: ['svg'] },
  'image/png': { PNG: ['png'] },
  'application/json': { JSON: ['json'] },
  'text/tab-separated-values': { TSV: ['tsv', 'txt'] },
  'text/csv': { CSV: ['csv'] },
  'text/markdown': { Markdown: ['md'] },
};

/** Saves what a page made (a picture, a table) where the user chooses. */
export async function savePageText(config: vscode.Uri | null, { name, mime, text }: SaveMessage): Promise<void> {
  await saveText(config, name, filters[mime], mime === 'image/png' ? Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)) : text);
}

/**
 * Saves a text where the user chooses, and returns where that is. On this machine's disk the old file stays until the new one is whole, and
 * one in pieces is never whole in memory.
 * @throws ExpectedError `export-not-saved`; CancelledError.
 */
export async function saveText(
  config: vscode.Uri | null,
  name: string,
  types: Record<string, string[]>,
  text: Content,
): Promise<vscode.Uri> {
  const safeName = name.replace(/[^\p{L}\p{N} ._-]+/gu, '-').replace(/^\.+/, '');
  const folder = config === null ? vscode.workspace.workspaceFolders?.[0]?.uri : vscode.Uri.joinPath(config, '..');
  const target = await vscode.window.showSaveDialog({
    filters: types,
    ...(folder === undefined ? {} : { defaultUri: vscode.Uri.joinPath(folder, safeName) }),
  });
  if (target === undefined) throw new CancelledError();
  await write(target, text).catch((error: unknown) => {
    throw notWritten('export-not-saved', uriBaseName(target), error);
  });
  setStatusBarMessage('check', vscode.l10n.t('Saved {0}', uriBaseName(target)), savedShownMs);
  return target;
}

async function write(target: vscode.Uri, text: Content): Promise<void> {
  if (target.scheme === 'file') await writeWhole(target.fsPath, text, { replace: true });
  else if (text instanceof Uint8Array) await vscode.workspace.fs.writeFile(target, text);
  else await vscode.workspace.fs.writeFile(target, new TextEncoder().encode(typeof text === 'string' ? text : Array.from(text).join('')));
}
