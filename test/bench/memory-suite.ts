// Loaded inside the extension host by test/bench/memory.ts: opens a file, edits it, opens and closes its panel, and writes a line of
// figures after each round.
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
}

/** A person types on before each edit is planned: of this many one is waited for. */
const plannedEvery = 10;

/** Called by VS Code. */
export async function run(): Promise<void> {
  const bench = JSON.parse(process.env['TERAPIPE_BENCH'] ?? '{}') as MemoryBench;
  const { file, resultFile, hasExtension, rounds, editsARound, openingsARound } = bench;
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
    if (editsARound > 0)
      for (let round = 1; round <= rounds; round += 1) {
        for (let edit = 1; edit <= editsARound; edit += 1) {
          const edits = (round - 1) * editsARound + edit;
          await retype(document, 64 + 8 * (edits % 97));
          if (hasExtension && (edits % plannedEvery === 0 || edit === editsARound)) await planned(uri);
        }
        say(`${round * editsARound} edits: ${await figures()}`);
      }
    if (hasExtension && openingsARound > 0)
      for (let round = 1; round <= rounds; round += 1) {
        for (let opening = 0; opening < openingsARound; opening += 1) await openAndClose(bench);
        say(`${round * openingsARound} openings: ${await figures()}`);
      }
    say('done');
  } catch (error) {
    say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    throw error;
  }
}

interface Recorded {
  /** Those that run. */
  readonly running: Set<ChildProcess>;
  started: number;
}

/** The processes that are started from now on: the extension's planners. */
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

/** A line of what the host takes now, garbage collected, and took at most since the line before; the same of the planners' processes. */
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
      `${recorded.started} planners started, now ${planned.join(' + ') || 'none'}`,
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
