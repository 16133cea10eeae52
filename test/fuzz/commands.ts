import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand } from '../../src/cli/run-command';
import type { LauncherReader } from '../../src/core/run/facts';
import type { Case } from './cases';
import type { Fixture } from './corpus';
import { below, pick, type Random } from './mutate';

/** Milliseconds of processor time after which a command is interrupted, and its case fails, where series are timed. */
export const mostCommandMs = 6000;

/** A small config that plans: for commands whose file is an option. */
const sample = JSON.stringify({
  model: { layers: 4, hidden: 64, heads: 4, vocab: 128 },
  cluster: { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 4 },
  training: { sequenceLength: 256, microBatch: 1, globalBatch: 8 },
  layout: { pipeline: 2 },
});

const formats = [
  'megatron',
  'torchtitan',
  'nemo',
  'deepspeed',
  'html',
  'pytorch-csv',
  'pytorch-csv-comms',
  'chrome-trace',
  'svg',
  'dp-results',
  'seq1f1b',
  'mindspeed',
];
const onConfigs: readonly (readonly string[])[] = [
  ['plan', 'FILE'],
  ['plan', 'FILE', '--json'],
  ['plan', 'FILE', '--gpus', '8', '--all'],
  ['plan', 'FILE', '--compare', 'sample.terapipe.json'],
  ['plan', 'sample.terapipe.json', '--compare', 'FILE'],
  ['plan', 'FILE', '--slow', 'stage1=1.5'],
  ['plan', 'FILE', '--without', 'node0'],
  ['plan', 'FILE', '--schedule', '1F1B'],
  ['memory', 'FILE'],
  ['memory', 'FILE', '--json'],
  ['check', '.', '--json'],
  ['inspect', 'FILE'],
  ['inspect', 'FILE', '--json'],
  ['prefill', 'FILE'],
  ['elastic', 'FILE'],
  ...formats.map((to) => ['export', 'FILE', '--to', to]),
  ['export', 'sample.terapipe.json', '--to', 'megatron', '--into', 'FILE'],
  ['export', 'FILE', '--to', 'torchrun', '--out', 'trained'],
];

/** Commands that read a fixture, by the end of its name. */
const onOthers: readonly (readonly [name: RegExp, commands: readonly (readonly string[])[]])[] = [
  [/schedules\/.*\.csv$/, [['check', 'FILE', '--json'], ['inspect', 'FILE']]], // prettier-ignore
  [/problems\/solve/, [['solve', 'FILE', '--json']]],
  [/problems\/simulate/, [['simulate', 'FILE', '--json']]],
  [/lengths\./, [['plan', 'sample.terapipe.json', '--lengths', 'FILE'], ['prefill', 'sample.terapipe.json', '--lengths', 'FILE']]], // prettier-ignore
  [/profile\.json$/, [['plan', 'sample.terapipe.json', '--profile', 'FILE'], ['inspect', 'FILE'], ['profile', 'FILE', '--compare', 'FILE']]], // prettier-ignore
  [
    /measured\//,
    [
      ['plan', 'sample.terapipe.json', '--compare', 'FILE'],
      ['plan', 'sample.terapipe.json', '--measured', 'FILE'],
      ['plan', 'sample.terapipe.json', '--slow', 'FILE'],
      ['inspect', 'FILE'],
    ],
  ],
];

/** A command on a fixture. `FILE` stands for its path. */
export function commandOn(random: Random, { file }: Fixture): readonly string[] {
  return pick(random, onOthers.find(([name]) => name.test(file))?.[1] ?? onConfigs);
}

/** Whether a case runs a command too: planning takes a hundred times as long as reading. */
export function runsCommand(random: Random, { file }: Fixture): boolean {
  return below(random, onOthers.some(([name]) => name.test(file)) ? 2 : 5) === 0;
}

/**
 * Runs a case's command on its files in a folder of its own. @returns what no text may cause, or null: an internal error, a printed NaN, or
 * more than `mostMs` of processor time.
 */
export async function commandProblem({ main, neighbour, command }: Case, shell: LauncherReader, mostMs: number): Promise<string | null> {
  const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-fuzz-'));
  try {
    const at = (name: string): string => path.join(folder, name);
    const name = path.basename(main.file);
    writeFileSync(at('sample.terapipe.json'), sample);
    if (neighbour !== null)
      for (const other of ['config.json', path.basename(neighbour.file)]) if (other !== name) writeFileSync(at(other), neighbour.text);
    mkdirSync(at('trained'));
    writeFileSync(at(name), main.text);
    const isPath = (word: string): boolean => ['.', 'trained', 'sample.terapipe.json'].includes(word);
    const args = command.map((word) => (word === 'FILE' ? at(name) : isPath(word) ? at(word) : word));
    const { exitCode, out, err, ms } = await timed(args, shell, mostMs);
    const line = command.join(' ');
    if (ms > mostMs) return `${line}: takes over ${mostMs} ms`;
    if (exitCode === 3) return `${line}: ${internalLine(err + out, folder)}\n${err.slice(0, 2000)}`;
    const odd = /NaN|undefined|\[object /.exec(out)?.[0];
    const isOurs = odd !== undefined && ![main, neighbour].some((each) => each?.text.includes(odd) === true);
    return isOurs ? `${line}: prints ${odd}\n${out.slice(Math.max(0, out.indexOf(odd) - 200)).slice(0, 400)}` : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The internal error with the first line of ours, so that one defect has one name whatever the file is called. */
function internalLine(printed: string, folder: string): string {
  const message = /Internal error: [^\n"]*/.exec(printed)?.[0].replaceAll(folder, '').replaceAll(/\d+/g, 'N').slice(0, 100) ?? 'exit 3';
  const frame = /at [^\n]*\/src\/[^\n]*/.exec(printed)?.[0].replace(/\(?\/.*\/src\//, '(src/') ?? '';
  return `${message} ${frame}`;
}

async function timed(
  args: readonly string[],
  shell: LauncherReader,
  mostMs: number,
): Promise<{ readonly exitCode: number; readonly out: string; readonly err: string; readonly ms: number }> {
  const began = process.cpuUsage();
  const spentMs = (): number => {
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1000;
  };
  let [out, err] = ['', ''];
  const exitCode = await runCommand(args, {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    clock: () => 0,
    now: () => '2026-01-01T00:00:00Z',
    progress: () => undefined,
    status: () => undefined,
    signal: budgetSignal(() => spentMs() > mostMs),
    profilerFile: '',
    torchFolder: path.resolve(import.meta.dirname, '../../src/runtime/torch'),
    shell: () => Promise.resolve(shell),
    debug: true,
  });
  return { exitCode, out, err, ms: spentMs() };
}

/** A signal that is aborted once `isSpent`, for whoever asks. */
function budgetSignal(isSpent: () => boolean): AbortSignal {
  const { signal } = new AbortController();
  Object.defineProperty(signal, 'aborted', { get: isSpent });
  return signal;
}
