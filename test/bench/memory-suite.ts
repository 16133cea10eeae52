// Loaded inside the extension host by test/bench/memory.ts: edits a config, opens and closes its panel, and writes a line of figures after each round.
import { appendFileSync } from 'node:fs';
import v8 from 'node:v8';
import vm from 'node:vm';
import workerThreads, { type Worker } from 'node:worker_threads';
import * as vscode from 'vscode';
import { until } from '../vscode/until';

const mib = 2 ** 20;

/** Rounds and what is done in each; figures are taken between them. */
export interface MemoryBench {
  readonly file: string;
  readonly resultFile: string;
  readonly rounds: number;
  readonly editsARound: number;
  readonly openingsARound: number;
}

/** A person types on before each edit is planned: of so many one is waited for. */
const plannedEvery = 10;

/** Called by VS Code. */
export async function run(): Promise<void> {
  const { file, resultFile, rounds, editsARound, openingsARound } = JSON.parse(process.env['TERAPIPE_BENCH'] ?? '{}') as MemoryBench;
  const say = (text: string): void => appendFileSync(resultFile, `${text}\n`);
  const workers = recordedWorkers();
  const collect = garbageCollector();
  const figures = async (what: string): Promise<void> => {
    collect();
    const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
    const heaps = await Promise.all(workers.map(heapOf));
    const parts = [rss, heapUsed, arrayBuffers, ...heaps].map((bytes) => (bytes === null ? '-' : (bytes / mib).toFixed(0)));
    say(`${what}: process ${parts[0]} MiB; host heap ${parts[1]}, array buffers ${parts[2]}; worker heaps ${parts.slice(3).join(', ')}`);
  };
  try {
    const uri = vscode.Uri.file(file);
    await figures('nothing open');
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false });
    await planned(uri);
    await figures('first plan');
    let edits = 0;
    for (let round = 1; round <= rounds; round += 1) {
      for (let edit = 0; edit < editsARound; edit += 1) {
        edits += 1;
        await retype(document, 64 + 8 * (edits % 97));
        if (edits % plannedEvery === 0) await planned(uri);
      }
      await planned(uri);
      await figures(`${edits} edits`);
    }
    for (let round = 1; round <= rounds; round += 1) {
      for (let opening = 0; opening < openingsARound; opening += 1) await openAndClose(uri);
      await figures(`${round * openingsARound} openings`);
    }
    say('done');
  } catch (error) {
    say(`failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    throw error;
  }
}

/** The workers that are started from now on: the extension's planners. */
function recordedWorkers(): readonly Worker[] {
  const workers: Worker[] = [];
  const { Worker: Real } = workerThreads;
  workerThreads.Worker = class extends Real {
    constructor(...args: ConstructorParameters<typeof Real>) {
      super(...args);
      workers.push(this);
      this.once('exit', () => workers.splice(workers.indexOf(this), 1));
    }
  };
  return workers;
}

/** Bytes of a worker's heap; null where this Node.js does not tell. */
async function heapOf(
  worker: Worker & { readonly getHeapStatistics?: () => Promise<{ readonly used_heap_size: number }> },
): Promise<number | null> {
  const statistics = await worker.getHeapStatistics?.();
  return statistics?.used_heap_size ?? null;
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

const shownMs = 300;

async function openAndClose(uri: vscode.Uri): Promise<void> {
  await vscode.commands.executeCommand('terapipe.openTimeline', uri);
  const tab = await until('tab of the panel', () =>
    vscode.window.tabGroups.all
      .flatMap(({ tabs }) => tabs)
      .find(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith('terapipe.timeline')),
  );
  // The page draws the plan that it is sent.
  await new Promise((resolve) => setTimeout(resolve, shownMs));
  await vscode.window.tabGroups.close(tab);
}
