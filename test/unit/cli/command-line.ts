import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import type { Readable } from 'node:stream';
import esbuild from 'esbuild';
import { terminalBuilds } from '../../../esbuild.mjs';
import { runCommand } from '../../../src/cli/run-command';
import { shellReader } from '../core/launchers/shell/shell-reader';

/** How one run of the terminal face ended. */
export interface Outcome {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CommandLine {
  /**
   * Runs `terapipe ARGS` in `folder`: in this process, which spares the start of another, unless it reads `input` on standard input (`-`)
   * or runs as another user (`uid`, which only root may).
   */
  readonly run: (args: readonly string[], input?: string | Buffer, uid?: number) => Promise<Outcome>;
  /** The bundled terminal face, which no test may change. */
  readonly bundle: () => Promise<string>;
  /** Runs `terapipe ARGS` in a child process with its standard output on an open file or device. */
  readonly runTo: (descriptor: number, args: readonly string[]) => Promise<Omit<Outcome, 'out'>>;
  /** Runs `terapipe ARGS` in a child process for a reader that reads once and goes. */
  readonly runForOneRead: (args: readonly string[]) => Promise<Outcome>;
  /** An empty folder, the current one of every run. */
  readonly folder: string;
  readonly dispose: () => void;
}

const sources = path.join(import.meta.dirname, '../../../src');

/** The terminal face on an empty folder. */
export function openCommandLine(): CommandLine {
  const home = mkdtempSync(path.join(tmpdir(), 'terapipe-cli-'));
  const folder = mkdtempSync(path.join(home, 'work-'));
  for (const open of [home, folder]) chmodSync(open, 0o755);
  const env = { ...process.env, TERAPIPE_DEBUG: '', XDG_CACHE_HOME: home };
  const start = async (args: readonly string[], options: SpawnOptions): Promise<ChildProcess> =>
    spawn(process.execPath, [await bundle(), ...args], { cwd: folder, env, ...options });
  return {
    bundle,
    folder,
    runTo: async (descriptor, args) => {
      const child = await start(args, { stdio: ['ignore', descriptor, 'pipe'] });
      const err = textOf(child.stderr);
      return { exitCode: await ended(child, 'close'), err: err() };
    },
    runForOneRead: async (args) => {
      const child = await start(args, { stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '';
      child.stdout?.once('data', (chunk: Buffer) => {
        out = chunk.toString();
        child.stdout?.destroy();
      });
      const err = textOf(child.stderr);
      return { exitCode: await ended(child, 'exit'), out, err: err() };
    },
    run: async (args, input = '', uid) => {
      if (uid === undefined && !args.includes('-')) return runHere(args, folder);
      const child = await start(args, uid === undefined ? {} : { uid });
      const [out, err] = [textOf(child.stdout), textOf(child.stderr)];
      // A child that refuses its input early closes the pipe.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
      return { exitCode: await ended(child, 'close'), out: out(), err: err() };
    },
    dispose: () => {
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** The terminal face, bundled as `npm run build` does, when the first child process of any test in this process needs it. */
let bundled: Promise<string> | undefined;

function bundle(): Promise<string> {
  return (bundled ??= bundleInto(mkdtempSync(path.join(tmpdir(), 'terapipe-bundle-'))));
}

async function bundleInto(folder: string): Promise<string> {
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true });
  });
  chmodSync(folder, 0o755);
  await Promise.all(terminalBuilds(folder).map((options) => esbuild.build({ ...options, logLevel: 'silent' })));
  return path.join(folder, 'cli.js');
}

/** What `terapipe ARGS` prints, without the process around its command. */
async function runHere(args: readonly string[], folder: string): Promise<Outcome> {
  const [out, err]: [string[], string[]] = [[], []];
  const before = process.cwd();
  process.chdir(folder);
  try {
    const exitCode = await runCommand(args, {
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      progress: (text) => void err.push(`${text}\n`),
      status: () => undefined,
      clock: () => 0,
      now: () => new Date().toISOString(),
      signal: new AbortController().signal,
      profilerFile: path.join(sources, '../profiler.js'),
      torchFolder: path.join(sources, 'runtime/torch'),
      docsFolder: path.join(sources, '../docs'),
      shell: shellReader,
      debug: false,
    });
    return { exitCode, out: out.join(''), err: err.join('') };
  } finally {
    process.chdir(before);
  }
}

function textOf(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

function ended(child: ChildProcess, event: 'close' | 'exit'): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on(event, resolve);
  });
}
