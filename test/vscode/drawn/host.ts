// In the extension host, after its tests: a tab of the extension on the plan of TERAPIPE_TEST_CONFIG with every candidate that can be.
import { existsSync } from 'node:fs';
import * as vscode from 'vscode';
import { attachPage, type PageServices } from '../../../src/extension/views/page-host';
import type { LayoutSearches } from '../../../src/host/sessions/layout-searches';
import { createPlanSessions } from '../../../src/host/sessions/plan-sessions';
import { readText, resolvePath } from '../../../src/extension/sessions/sources';
import { until } from '../until';
import { planOfFile, withAllCandidates } from './plans';

/** Waits for the config to be there, opens the tab and keeps it open: ends with the window. */
export async function showCandidates(): Promise<void> {
  const path = process.env['TERAPIPE_TEST_CONFIG'] ?? '';
  await until('config to show', () => existsSync(path) || undefined, Infinity);
  const plan = withAllCandidates(await planOfFile(path));
  const file = vscode.Uri.file(path).toString();
  const sessions = createPlanSessions({
    readText,
    resolvePath,
    resolve: () => Promise.resolve(plan.request),
    remedies: () => Promise.resolve([]),
    plan: () => Promise.resolve(plan),
    profiles: () => Promise.resolve([]),
    defaults: () => ({ gpu: 'H100-80GB', nodes: null, gpusPerNode: null }),
    switchedOff: () => new Set(),
    delayMs: () => null,
    reportBug: (error) => console.error(error),
    shell: notAsked,
    planElastic: notAsked,
    readSchedule: notAsked,
  });
  const extensionUri = vscode.extensions.getExtension('terapipe.terapipe')!.extensionUri;
  const panel = vscode.window.createWebviewPanel('terapipe.timeline', 'Candidates', vscode.ViewColumn.One);
  const session = await sessions.ensure(file, 'terapipe');
  const focus = { note: () => undefined, left: () => undefined, act: () => undefined };
  attachPage(
    panel.webview,
    { ...quiet, sessions, extensionUri, log: vscode.window.createOutputChannel('Candidates', { log: true }), act: () => undefined, focus },
    { page: 'tab', title: 'Candidates', session: () => session, isVisible: () => panel.visible },
  );
  await new Promise(() => undefined);
}

function notAsked(): Promise<never> {
  return Promise.reject(new Error('nobody asks for this'));
}

/** No profiles, no searches, no comparisons. */
const quiet: Omit<PageServices, 'sessions' | 'extensionUri' | 'log' | 'act' | 'focus'> = {
  displayPath: (file) => file,
  isWorkspaceTrusted: () => true,
  trainingCost: () => ({ tokens: null, gpuHourPrice: null, currency: 'USD' }),
  parts: {} as PageServices['parts'],
  layouts: { state: () => null, onDidChange: () => ({ dispose: () => undefined }), findings: () => [] } as unknown as LayoutSearches,
};
