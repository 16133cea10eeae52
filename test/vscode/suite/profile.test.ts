import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import * as vscode from 'vscode';
import type { Profile } from '../../../src/core/domain/profile';
import { until } from '../until';
import { measured } from './measurements';

const folder = vscode.workspace.workspaceFolders![0]!.uri;
const profiles = vscode.Uri.joinPath(folder, 'profiled', '.terapipe', 'profiles');
/** Small enough for all its slices to be measured in a second of processor time. */
const small = { model_type: 'gpt2', n_layer: 4, n_embd: 64, n_head: 2, n_positions: 128, vocab_size: 300 };
/** Large enough to be measured for a minute. Its precision is one that the CPU computes: no child has to find out that it does not. */
const large = {
  model: { layers: 4, hidden: 256, heads: 2, ffn: 1024, vocab: 300, positions: 'learned', norm: 'layernorm' },
  cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 2 },
  training: { sequenceLength: 2048, microBatch: 1, globalBatch: 4, precision: 'fp32' },
  layout: { tensor: 1, pipeline: 2, data: 1 },
};

async function set(name: string, value: unknown): Promise<void> {
  await vscode.workspace.getConfiguration('terapipe.profiler').update(name, value, vscode.ConfigurationTarget.Global);
}

async function openConfig(name: string, config: object): Promise<vscode.Uri> {
  const target = vscode.Uri.joinPath(folder, 'profiled');
  await vscode.workspace.fs.createDirectory(vscode.Uri.joinPath(target, '.terapipe'));
  const uri = vscode.Uri.joinPath(target, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(JSON.stringify(config)));
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return uri;
}

async function saved(): Promise<{ readonly profile: Profile; readonly changed: number } | undefined> {
  const names = await Promise.resolve(vscode.workspace.fs.readDirectory(profiles)).catch(() => []);
  const [name] = names.map(([entry]) => entry).filter((entry) => entry.endsWith('.json'));
  if (name === undefined) return undefined;
  const uri = vscode.Uri.joinPath(profiles, name);
  const text = Buffer.from(await vscode.workspace.fs.readFile(uri)).toString();
  return { profile: JSON.parse(text) as Profile, changed: (await vscode.workspace.fs.stat(uri)).mtime };
}

/** Process numbers of children of this extension host that measure. */
function children(): number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).split('\n');
  return lines.flatMap((line) => {
    const [, pid, parent, command] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return Number(parent) === process.pid && command?.includes('profiler.js') === true ? [Number(pid)] : [];
  });
}

/** Processor time of a process, s; 0 when it is gone. */
function workedSeconds(pid: number): number {
  const { stdout } = spawnSync('ps', ['-o', 'time=', '-p', String(pid)], { encoding: 'utf8' });
  return stdout
    .trim()
    .split(/[:-]/)
    .reduce((sum, part) => 60 * sum + Number(part), 0);
}

/**
 * Profiles `large`, ends that by `stop` once the child has worked for two seconds, and returns what was saved. How soon the first slice is
 * measured depends on the machine: where none was by then, it is done again with more time.
 */
async function interrupted(uri: vscode.Uri, stop: (child: number) => Promise<void> | void): Promise<Profile> {
  for (let seconds = 4; seconds < 300; seconds *= 2) {
    let over = false;
    const command = Promise.resolve(vscode.commands.executeCommand('terapipe.profile', uri)).finally(() => {
      over = true;
    });
    const child = await until(
      `child process that has worked for ${seconds} s`,
      () => (over ? null : children().find((pid) => workedSeconds(pid) >= seconds)),
      600_000,
    );
    if (child !== null) await stop(child);
    await command;
    const done = await saved();
    if (done !== undefined) return done.profile;
  }
  throw new Error('no slice was measured before the child was ended, however long it worked');
}

describe('profiling', () => {
  before(async () => {
    await set('provider', 'cpu');
    await set('budget', 20);
  });
  afterEach(async () => {
    await vscode.workspace.fs.delete(profiles, { recursive: true, useTrash: false });
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
  });

  it('measures the layer of a config and saves a profile next to it', async () => {
    const uri = await openConfig('config.json', small);
    await vscode.commands.executeCommand('terapipe.profile', uri);
    const done = await saved();
    assert.equal(done?.profile.status, 'complete');
    assert.equal(done.profile.provider, 'cpu');
    assert.ok(done.profile.samples.layer.length >= 10, `${done.profile.samples.layer.length} samples`);
    assert.notEqual(done.profile.fit, null);
    assert.equal(children().length, 0);
  });

  it('survives the death of the child and keeps the samples', async () => {
    const uri = await openConfig('terapipe.json', large);
    await set('budget', 600);
    const profile = await interrupted(uri, (child) => void process.kill(child, 'SIGKILL'));
    assert.equal(profile.status, 'partial');
    assert.match(profile.error ?? '', /SIGKILL/);
    assert.ok(profile.samples.layer.length > 0);
    await until('answer of the extension', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
      return lenses.length > 0 || undefined;
    });
  });

  it('ends the child when it is cancelled and keeps the samples', async () => {
    const uri = await openConfig('terapipe.json', large);
    await set('budget', 600);
    const profile = await interrupted(uri, async () => {
      const startMs = performance.now();
      await vscode.commands.executeCommand('terapipe.cancelProfile');
      await until('end of the child', () => (children().length === 0 ? true : undefined));
      const durationMs = performance.now() - startMs;
      measured(`profiling cancelled: child gone after ${durationMs.toFixed(0)} ms, looked at every 100 ms`);
    });
    assert.deepEqual([profile.status, profile.error], ['partial', 'cancelled']);
  });
});
