import path from 'node:path';
import * as vscode from 'vscode';
import { gpuPresetNames } from '../../core/cluster/presets';
import { assumedGpuName, type ResolveDefaults } from '../../core/plan-request/scenario';
import { providerNames, type ProviderName } from '../../core/domain/profile';
import { runtimes } from '../../core/domain/runtime';
import { namedSchedules } from '../../core/domain/schedule-names';
import type { TrainingCost } from '../../protocol/page';

const section = 'terapipe';

/** The cluster to plan for when no file of the config at `uri` names one. A bad value counts as not set and is logged. */
export function planDefaults(uri: vscode.Uri | undefined, log: vscode.LogOutputChannel): ResolveDefaults {
  const settings = vscode.workspace.getConfiguration(section, uri);
  const gpu = settings.get<unknown>('defaultGpu');
  const known = gpuPresetNames.find((name) => name === gpu);
  if (known === undefined) log.warn(`terapipe.defaultGpu is not a preset, ${assumedGpuName} is used instead: ${JSON.stringify(gpu)}`);
  const count = (key: string, maximum: number): number | null => {
    const value = settings.get<unknown>(key);
    if (value === null || value === undefined) return null;
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= maximum) return value;
    log.warn(`terapipe.${key} is not a number from 1 to ${maximum}, it is chosen instead: ${JSON.stringify(value)}`);
    return null;
  };
  const runtime = runtimes.find((name) => name === settings.get<unknown>('defaultRuntime'));
  const names = settings.get<unknown>('search.schedules');
  const listed: readonly unknown[] = Array.isArray(names) ? names : [];
  const schedules = listed.includes('all') ? 'all' : namedSchedules.filter((name) => listed.includes(name));
  return {
    gpu: known ?? assumedGpuName,
    nodes: count('defaultNodes', 100_000),
    gpusPerNode: count('defaultGpusPerNode', 1024),
    ...(schedules.length === 0 ? {} : { schedules }),
    ...(runtime === undefined ? {} : { runtime }),
  };
}

/** Pause after an edit before planning, ms; null when planning on edits is off. */
export function planDelayMs(): number | null {
  const settings = vscode.workspace.getConfiguration(section);
  if (settings.get<unknown>('planOnType') === false) return null;
  const delayMs = settings.get<unknown>('planDelay');
  return typeof delayMs === 'number' && delayMs >= 0 && delayMs <= 10_000 ? delayMs : 250;
}

/** Whether `terapipe mcp` is offered to agents that take no other tools. */
export function offersMcpServer(): boolean {
  return vscode.workspace.getConfiguration(section).get<unknown>('mcpServer') === true;
}

/** Calls when that may have changed. */
export function onMcpServerSetting(listener: () => void): vscode.Disposable {
  return vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`${section}.mcpServer`)) listener();
  });
}

/** How a layer is measured on this machine. Machine settings: a workspace must not choose which libraries are loaded. */
export function profilerSettings(uri: vscode.Uri): {
  readonly provider: ProviderName | null;
  readonly budgetMs: number;
  readonly threads: number;
  readonly libraryPath: readonly string[];
} {
  const settings = vscode.workspace.getConfiguration(`${section}.profiler`, uri);
  const provider = settings.get<unknown>('provider');
  const seconds = settings.get<unknown>('budget');
  const threads = settings.get<unknown>('threads');
  const folders = settings.get<unknown>('libraryPath');
  return {
    provider: providerNames.find((name) => name === provider) ?? null,
    budgetMs: 1000 * (typeof seconds === 'number' && seconds >= 1 && seconds <= 86_400 ? seconds : 300),
    threads: typeof threads === 'number' && Number.isSafeInteger(threads) && threads >= 1 ? threads : 1,
    libraryPath: Array.isArray(folders) ? folders.filter((folder): folder is string => typeof folder === 'string' && folder !== '') : [],
  };
}

/**
 * The interpreter that trains a plan: that of the setting, else what the Python extension has for a file, else the system's.
 * @returns a path, or a program's name.
 */
export async function chosenPython(file: vscode.Uri): Promise<string> {
  const own = vscode.workspace.getConfiguration(section, file).get<unknown>('python');
  if (typeof own === 'string' && own.trim() !== '') return resolvedProgram(own.trim(), file);
  return (await pythonOfExtension(file)) ?? (process.platform === 'win32' ? 'python' : 'python3');
}

/** A relative path is of the folder of the workspace that the file is in. */
function resolvedProgram(program: string, file: vscode.Uri): string {
  const folder = vscode.workspace.getWorkspaceFolder(file)?.uri.fsPath ?? '';
  return /[/\\]/.test(program) && !path.isAbsolute(program) ? path.join(folder, program) : program;
}

/** What is used of ms-python.python's interface. */
interface PythonExtension {
  readonly environments?: {
    readonly getActiveEnvironmentPath: (file?: vscode.Uri) => { readonly path: string };
    readonly resolveEnvironment: (environment: {
      readonly path: string;
    }) => Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
  };
}

async function pythonOfExtension(file: vscode.Uri): Promise<string | null> {
  const extension = vscode.extensions.getExtension<PythonExtension | undefined>('ms-python.python');
  const { environments } = (await extension?.activate()) ?? {};
  if (environments === undefined) return null;
  const chosen = environments.getActiveEnvironmentPath(file);
  return (await environments.resolveEnvironment(chosen))?.executable.uri?.fsPath ?? null;
}

/** Whether an editor feature is on for the file at `uri`. All are on by default but inlay hints. */
export function isEnabled(feature: 'codeLens' | 'hover' | 'inlayHints' | 'statusBar', uri?: vscode.Uri): boolean {
  const value = vscode.workspace.getConfiguration(section, uri).get<unknown>(`${feature}.enabled`);
  return feature === 'inlayHints' ? value === true : value !== false;
}

/** Whether to search layouts of a launcher's file in the background. */
export function searchesLayouts(file: string): boolean {
  return vscode.workspace.getConfiguration(section, vscode.Uri.parse(file)).get<unknown>('search.automatic') !== false;
}

/** Codes of findings that are not shown of a file. */
export function switchedOff(file: string): ReadonlySet<string> {
  const codes = vscode.workspace.getConfiguration(section, vscode.Uri.parse(file)).get<unknown>('findings.ignore');
  return new Set(Array.isArray(codes) ? codes.filter((code): code is string => typeof code === 'string') : []);
}

/** Whether a change of settings can change a plan or its findings. */
export function affectsPlans(event: vscode.ConfigurationChangeEvent): boolean {
  return ['defaultGpu', 'defaultNodes', 'defaultGpusPerNode', 'defaultRuntime', 'search.schedules', 'findings.ignore'].some((key) =>
    event.affectsConfiguration(`${section}.${key}`),
  );
}

/** What training costs: settings that change no plan. */
export function trainingCost(uri: vscode.Uri | undefined): TrainingCost {
  const settings = vscode.workspace.getConfiguration(section, uri);
  const positive = (key: string): number | null => {
    const value = settings.get<unknown>(key);
    return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : null;
  };
  const currency = settings.get<unknown>('cost.currency');
  return {
    tokens: positive('cost.tokens'),
    gpuHourPrice: positive('cost.gpuHour'),
    currency: typeof currency === 'string' && currency.trim() !== '' ? currency.trim().slice(0, 12) : 'USD',
  };
}

/** Prices of an hour that a person set, by GPU (of one) or machine type (of a node); unchecked. */
export function machinePrices(uri: vscode.Uri): readonly (readonly [name: string, price: unknown])[] {
  const prices = vscode.workspace.getConfiguration(section, uri).get<unknown>('cost.prices');
  return typeof prices === 'object' && prices !== null ? Object.entries(prices) : [];
}

/** Whether a change of settings can change what training costs. */
export function affectsTrainingCost(event: vscode.ConfigurationChangeEvent): boolean {
  return event.affectsConfiguration(`${section}.cost`);
}

/** Writes the defaults where they are set already, else into the workspace, else (no folder open) into the user's settings. */
export async function writePlanDefaults({ gpu, nodes, gpusPerNode }: ResolveDefaults): Promise<void> {
  const settings = vscode.workspace.getConfiguration(section);
  const values = { defaultGpu: gpu, defaultNodes: nodes, defaultGpusPerNode: gpusPerNode };
  for (const [key, value] of Object.entries(values)) {
    const setIn = settings.inspect(key);
    const target =
      setIn?.workspaceValue !== undefined || (setIn?.globalValue === undefined && vscode.workspace.workspaceFolders !== undefined)
        ? vscode.ConfigurationTarget.Workspace
        : vscode.ConfigurationTarget.Global;
    await settings.update(key, value, target);
  }
}
