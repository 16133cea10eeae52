// Loaded inside the extension host by test/bench/memory.ts: opens a file, edits it, opens and closes its panel, searches and profiles, and
// writes a line of figures after each round.
import childProcess, { type ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import v8 from 'node:v8';
import vm from 'node:vm';
import * as vscode from 'vscode';
import { until } from '../vscode/until';

const megabyte = 1e6;

/** What is done in one extension host. */
export interface MemoryBench {
  readonly file: string;
  /** Lines of figures, and at last `done` or `failed: why`. */
  readonly resultFile: string;
  /** Made here when the panel is open, removed by the bench when its page has drawn. */
  readonly openFile: string;
  /** Whether TeraPipe runs in the host; without it nothing is planned or opened. */
  readonly hasExtension: boolean;
  /** Rounds and what is done in each; figures are taken between them. */
  readonly rounds: number;
  readonly editsARound: number;
  readonly openingsARound: number;
  /** Each is cancelled at a random moment. */
  readonly searchesARound: number;
  readonly profilesARound: number;
  /** A config whose layer is profiled in a second. */
  readonly profiledFile: string;
}

/** A person types on before each edit is planned: of this many one is waited for. */
const plannedEvery = 10;

/** The budget is in seconds. */
const profilerSettings = [
  ['provider', 'cpu'],
  ['budget', 10],
] as const;

/** Called by VS Code. */
export async function run(): Promise<void> {
  const bench = JSON.parse(process.env['TERAPIPE_BENCH'] ?? '{}') as MemoryBench;
  const { file, resultFile, hasExtension } = bench;
  const say = (text: string): void => appendFileSync(resultFile, `${text}\n`);
  const figures = figuresOf(recordedProcesses());
  try {
    const uri = vscode.Uri.file(file);
    forgetPeak();
    say(`nothing open: ${await figures()}`);
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false });
    if (hasExtension) await openAndClose(bench);
    else await pause();
    say(`opened: ${await figures()}`);
    for (const [name, value] of hasExtension ? profilerSettings : [])
      await vscode.workspace.getConfiguration('terapipe.profiler').update(name, value, vscode.ConfigurationTarget.Global);
    for (const phase of phasesOf(bench, document)) await runPhase(phase, bench.rounds, async (line) => say(`${line}: ${await figures()}`));
    say('done');
  } catch (error) {
    say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    throw error;
  }
}

/** One thing that is done many times. */
interface Phase {
  readonly name: string;
  readonly aRound: number;
  /** @param time counts from 1. */
  readonly act: (time: number) => Promise<void>;
}

function phasesOf(bench: MemoryBench, document: vscode.TextDocument): readonly Phase[] {
  const { hasExtension, editsARound, openingsARound, searchesARound, profilesARound, profiledFile } = bench;
  const edits: Phase = {
    name: 'edits',
    aRound: editsARound,
    act: async (time) => {
      await retype(document, 64 + 8 * (time % 97));
      if (hasExtension && (time % plannedEvery === 0 || time % editsARound === 0)) await planned(document.uri);
    },
  };
  if (!hasExtension) return [edits];
  return [
    edits,
    { name: 'openings', aRound: openingsARound, act: () => openAndClose(bench) },
    { name: 'searches cancelled', aRound: searchesARound, act: (time) => searchAndCancel(document.uri, time) },
    { name: 'profiles', aRound: profilesARound, act: () => profile(vscode.Uri.file(profiledFile)) },
  ];
}

async function runPhase({ name, aRound, act }: Phase, rounds: number, report: (line: string) => Promise<void>): Promise<void> {
  if (aRound === 0) return;
  for (let time = 1; time <= rounds * aRound; time += 1) {
    await act(time);
    if (time % aRound === 0) await report(`${time} ${name}`);
  }
}

/** Longest that a search runs before it is cancelled, ms. */
const longestSearchMs = 1_000;

/** @param seed the moment of cancelling is drawn by it, so that each run does the same. */
async function searchAndCancel(uri: vscode.Uri, seed: number): Promise<void> {
  const search = vscode.commands.executeCommand('terapipe.searchLayout', uri);
  const drawn = ((seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  await new Promise((resolve) => setTimeout(resolve, drawn * longestSearchMs));
  await vscode.commands.executeCommand('terapipe.cancelSearch', uri);
  await search;
}

/** Profiles the layer of a config, and removes the profile. @throws Error where none was written. */
async function profile(config: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand('terapipe.profile', config);
  const folder = vscode.Uri.joinPath(config, '../.terapipe/profiles');
  const [written] = await vscode.workspace.fs.readDirectory(folder);
  if (written === undefined) throw new Error('no profile was written');
  await vscode.workspace.fs.delete(vscode.Uri.joinPath(folder, written[0]), { useTrash: false });
}

interface Recorded {
  /** Those that run. */
  readonly running: Set<ChildProcess>;
  started: number;
}

/** The processes that are started from now on: the extension's planners and profilers. */
function recordedProcesses(): Recorded {
  const recorded: Recorded = { running: new Set(), started: 0 };
  const { fork } = childProcess;
  const recording = (...args: Parameters<typeof fork>): ChildProcess => {
    const child = fork(...args);
    recorded.started += 1;
    recorded.running.add(child);
    child.once('exit', () => recorded.running.delete(child));
    return child;
  };
  Object.assign(childProcess, { fork: recording });
  return recorded;
}

/** A line of what the host takes now, garbage collected, and took at most since the line before; the same of the extension's processes. */
function figuresOf(recorded: Recorded): () => Promise<string> {
  const collect = garbageCollector();
  return async () => {
    const { peak } = residentBytes();
    collect();
    // Freed memory is given back by threads of their own.
    await pause();
    const { now, anonymous } = residentBytes();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    const planners = [...recorded.running].flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
    const planned = planners.map((pid) => residentBytes(pid)).map((each) => `${inMegabytes(each.now)} (peak ${inMegabytes(each.peak)})`);
    for (const pid of ['self' as const, ...planners]) forgetPeak(pid);
    return [
      `host ${inMegabytes(now)} MB (peak ${inMegabytes(peak)}, without files mapped ${inMegabytes(anonymous)})`,
      `its heap ${inMegabytes(heapUsed)}, external ${inMegabytes(external)}, of it array buffers ${inMegabytes(arrayBuffers)}`,
      `${recorded.started} processes started, now ${planned.join(' + ') || 'none'}`,
    ].join('; ');
  };
}

function inMegabytes(bytes: number | null): string {
  return bytes === null ? '-' : (bytes / megabyte).toFixed(0);
}

interface Resident {
  readonly now: number | null;
  /** Since `forgetPeak`; null where the system does not report it. */
  readonly peak: number | null;
  /** Without the program itself and other mapped files, which processes share. */
  readonly anonymous: number | null;
}

function residentBytes(pid: number | 'self' = 'self'): Resident {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return { now: pid === 'self' ? process.memoryUsage().rss : null, peak: null, anonymous: null };
  const status = readFileSync(file, 'utf8');
  const bytes = (name: string): number => 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  return { now: bytes('VmRSS'), peak: bytes('VmHWM'), anonymous: bytes('RssAnon') };
}

/** From now on the peak is that of what follows: Linux takes this for its own processes. */
function forgetPeak(pid: number | 'self' = 'self'): void {
  const file = `/proc/${pid}/clear_refs`;
  if (existsSync(file)) writeFileSync(file, '5');
}

function garbageCollector(): () => void {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc') as () => void;
}

/** Plans the text as it is, in place of the plan that the edit began, and waits for the answer. */
async function planned(uri: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand('terapipe.plan', uri);
}

async function retype(document: vscode.TextDocument, globalBatch: number): Promise<void> {
  const found = /"globalBatch": (\d+)/.exec(document.getText());
  if (found === null) throw new Error('the config has no globalBatch');
  const end = found.index + found[0].length;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(
    document.uri,
    new vscode.Range(document.positionAt(end - (found[1]?.length ?? 0)), document.positionAt(end)),
    String(globalBatch),
  );
  await vscode.workspace.applyEdit(edit);
}

/** Opens the panel, waits until its page has drawn the plan or explains why there is none, and closes it. */
async function openAndClose({ file, openFile }: MemoryBench): Promise<void> {
  await vscode.commands.executeCommand('terapipe.openTimeline', vscode.Uri.file(file));
  const tab = await until('tab of the panel', () =>
    vscode.window.tabGroups.all
      .flatMap(({ tabs }) => tabs)
      .find(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith('terapipe.timeline')),
  );
  writeFileSync(openFile, '');
  await until('plan on the page', () => !existsSync(openFile) || undefined);
  await vscode.window.tabGroups.close(tab);
}

async function pause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 500));
}
