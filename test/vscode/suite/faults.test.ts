import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { until } from '../until';

const folder = vscode.Uri.joinPath(vscode.workspace.workspaceFolders![0]!.uri, 'faults');
const model = JSON.stringify({ model_type: 'gpt2', n_layer: 12, n_embd: 256, n_head: 4, n_positions: 256, vocab_size: 1000 });
const config = vscode.Uri.joinPath(folder, 'terapipe.json');

/** Each has another step time, since it has another batch. */
const runWith = (globalBatch: number): string => `{
  "model": "config.json",
  "cluster": { "gpu": "A100-40GB", "nodes": 1, "gpusPerNode": 4 },
  "training": { "sequenceLength": 256, "globalBatch": ${globalBatch} },
  "layout": { "tensor": 1, "pipeline": 4, "data": 1 }
}
`;

/** Process numbers of planners of this extension host. */
function planners(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return Number(parent) === process.pid && command?.includes('dist/worker.js') === true ? [Number(pid)] : [];
  });
}

/** One that has ended since it was listed is passed over. */
function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
}

async function openRun(): Promise<vscode.TextDocument> {
  mkdirSync(folder.fsPath, { recursive: true });
  writeFileSync(vscode.Uri.joinPath(folder, 'config.json').fsPath, model);
  writeFileSync(config.fsPath, runWith(8));
  const document = await vscode.workspace.openTextDocument(config);
  await vscode.window.showTextDocument(document, { preview: false });
  await batchPlanned(document, 8);
  return document;
}

async function lensTitles(uri: vscode.Uri): Promise<string[]> {
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
  return lenses.flatMap(({ command }) => (command?.command.startsWith('terapipe.') === true ? [command.title] : []));
}

/** Types another batch, as a person does; nothing is saved. */
async function retype(document: vscode.TextDocument, globalBatch: number): Promise<void> {
  const edit = new vscode.WorkspaceEdit();
  const end = document.lineAt(document.lineCount - 1).range.end;
  edit.replace(document.uri, new vscode.Range(new vscode.Position(0, 0), end), runWith(globalBatch));
  assert.ok(await vscode.workspace.applyEdit(edit));
}

/** Until the lenses are of the plan of this batch, and of nothing older. */
async function batchPlanned(document: vscode.TextDocument, globalBatch: number): Promise<void> {
  await until(`plan of batch ${globalBatch}`, async () => {
    const titles = await lensTitles(document.uri);
    const isCurrent = titles.some((title) => title.includes('/ step')) && !titles.some((title) => /before/i.test(title));
    return (isCurrent && titles.some((title) => title.includes(`batch ${globalBatch}`))) || undefined;
  });
}

describe('a planner in trouble', () => {
  let document: vscode.TextDocument;
  before(async () => {
    document = await openRun();
  });
  after(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  it('that is killed at rest is replaced by the next edit', async () => {
    const before = planners();
    assert.ok(before.length > 0);
    signalAll(before, 'SIGKILL');
    await retype(document, 16);
    await batchPlanned(document, 16);
  });

  it('that is stopped and answers nothing is replaced, and the edit is planned', async () => {
    const before = planners();
    signalAll(before, 'SIGSTOP');
    await retype(document, 24);
    await batchPlanned(document, 24);
    await until('end of the stopped planner', () => (planners().some((pid) => !before.includes(pid)) ? true : undefined));
    signalAll(
      planners().filter((pid) => before.includes(pid)),
      'SIGCONT',
    );
  });

  it('that is slow is waited for', async () => {
    const before = planners();
    signalAll(before, 'SIGSTOP');
    const turns = setInterval(() => {
      const living = planners().filter((pid) => before.includes(pid));
      signalAll(living, 'SIGCONT');
      setTimeout(() => signalAll(living, 'SIGSTOP'), 200);
    }, 1000);
    try {
      await retype(document, 32);
      await batchPlanned(document, 32);
    } finally {
      clearInterval(turns);
      await new Promise((resolve) => setTimeout(resolve, 400));
      signalAll(
        planners().filter((pid) => before.includes(pid)),
        'SIGCONT',
      );
    }
    assert.ok(
      planners().some((pid) => before.includes(pid)),
      'the planner was replaced',
    );
  });

  it('plans edits when the clock is set back', async () => {
    const Real = Date;
    const backMs = 86_400_000;
    class Back extends Real {
      constructor(...given: [] | [number | string]) {
        if (given.length === 0) super(Real.now() - backMs);
        else super(given[0]);
      }
      static override now(): number {
        return Real.now() - backMs;
      }
    }
    globalThis.Date = Back as DateConstructor;
    try {
      await retype(document, 40);
      await batchPlanned(document, 40);
    } finally {
      globalThis.Date = Real;
    }
    await retype(document, 48);
    await batchPlanned(document, 48);
  });
});

describe('a folder in trouble', () => {
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  it('that vanishes leaves the last plan and a problem in words, and is planned again when it is back', async () => {
    const document = await openRun();
    rmSync(folder.fsPath, { recursive: true });
    await retype(document, 56);
    const problem = await until('problem', () =>
      vscode.languages.getDiagnostics(document.uri).find(({ source, message }) => source === 'terapipe' && message.includes('no file')),
    );
    assert.match(problem.message, /config\.json/);
    assert.ok(
      (await lensTitles(document.uri)).some((title) => title.includes('/ step')),
      'the last plan stays',
    );
    mkdirSync(folder.fsPath, { recursive: true });
    writeFileSync(vscode.Uri.joinPath(folder, 'config.json').fsPath, model);
    await retype(document, 64);
    await batchPlanned(document, 64);
  });

  it('that is read-only is planned, and refuses a new file without an internal error', async () => {
    const provider = readOnlyFolder({ 'config.json': model });
    try {
      const uri = vscode.Uri.parse('terapipe-read-only:/model/config.json');
      await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
      await until('plan', async () => ((await lensTitles(uri)).some((title) => title.includes('/ step')) ? true : undefined));
      assert.equal(await vscode.commands.executeCommand('terapipe.createConfig', uri), undefined);
      await until('plan', async () => ((await lensTitles(uri)).some((title) => title.includes('/ step')) ? true : undefined));
    } finally {
      provider.dispose();
    }
  });
});

/** A folder of files that cannot be written, for whatever user: root may write in any folder of a disk. */
function readOnlyFolder(texts: Readonly<Record<string, string>>): vscode.Disposable {
  const nothing = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  const bytesOf = (uri: vscode.Uri): Buffer => {
    const text = texts[uri.path.split('/').at(-1) ?? ''];
    if (text === undefined) throw vscode.FileSystemError.FileNotFound(uri);
    return Buffer.from(text);
  };
  const refuse = (uri: vscode.Uri): never => {
    throw vscode.FileSystemError.NoPermissions(uri);
  };
  return vscode.workspace.registerFileSystemProvider(
    'terapipe-read-only',
    {
      onDidChangeFile: nothing.event,
      watch: () => new vscode.Disposable(() => undefined),
      stat: (uri) => ({ type: vscode.FileType.File, ctime: 0, mtime: 0, size: bytesOf(uri).length }),
      readFile: bytesOf,
      readDirectory: () => Object.keys(texts).map((name) => [name, vscode.FileType.File]),
      createDirectory: refuse,
      writeFile: refuse,
      delete: refuse,
      rename: refuse,
    },
    { isReadonly: true },
  );
}
