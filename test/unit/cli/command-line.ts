import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import esbuild from 'esbuild';

/** How one run of the terminal face ended. */
export interface Outcome {
  readonly exitCode: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CommandLine {
  /** Runs `terapipe ARGS` as a child process in `folder`, as another user when `uid` is given (only root may). */
  readonly run: (args: readonly string[], input?: string | Buffer, uid?: number) => Promise<Outcome>;
  /** The bundled terminal face. */
  readonly bundle: string;
  /** Runs `terapipe ARGS` with its standard output on an open file or device. */
  readonly runTo: (descriptor: number, args: readonly string[]) => Promise<Omit<Outcome, 'out'>>;
  /** Runs `terapipe ARGS` for a reader that reads once and goes. */
  readonly runForOneRead: (args: readonly string[]) => Promise<Outcome>;
  /** An empty folder, the current one of every run. */
  readonly folder: string;
  readonly dispose: () => void;
}

const sources = path.join(import.meta.dirname, '../../../src');

/** Bundles the terminal face and its planner thread as `npm run build` does, into a folder of its own. */
export async function buildCommandLine(): Promise<CommandLine> {
  const home = mkdtempSync(path.join(tmpdir(), 'terapipe-cli-'));
  const bundle = path.join(home, 'cli.js');
  const folder = mkdtempSync(path.join(home, 'work-'));
  for (const open of [home, folder]) chmodSync(open, 0o755);
  await esbuild.build({
    entryPoints: {
      cli: path.join(sources, 'cli/main.ts'),
      command: path.join(sources, 'cli/command-thread.ts'),
    },
    outdir: home,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    mainFields: ['module', 'main'],
    logLevel: 'silent',
  });
  const env = { ...process.env, TERAPIPE_DEBUG: '' };
  return {
    bundle,
    folder,
    runTo: (descriptor, args) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [bundle, ...args], { cwd: folder, env, stdio: ['ignore', descriptor, 'pipe'] });
        let err = '';
        child.stderr?.on('data', (chunk: Buffer) => void (err += chunk.toString()));
        child.on('error', reject);
        child.on('close', (exitCode) => resolve({ exitCode, err }));
      }),
    runForOneRead: (args) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [bundle, ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
        let [out, err] = ['', ''];
        child.stdout.once('data', (chunk: Buffer) => {
          out = chunk.toString();
          child.stdout.destroy();
        });
        child.stderr.on('data', (chunk: Buffer) => void (err += chunk.toString()));
        child.on('error', reject);
        child.on('exit', (exitCode) => resolve({ exitCode, out, err }));
      }),
    run: (args, input = '', uid = process.getuid?.()) =>
      new Promise((resolve, reject) => {
        const child = spawn(process.execPath, [bundle, ...args], {
          cwd: folder,
          env,
          ...(uid === undefined ? {} : { uid }),
        });
        const out: Buffer[] = [];
        const err: Buffer[] = [];
        child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
        child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
        child.on('error', reject);
        child.on('close', (exitCode) => {
          resolve({ exitCode, out: Buffer.concat(out).toString(), err: Buffer.concat(err).toString() });
        });
        // A child that refuses its input early closes the pipe.
        child.stdin.on('error', () => undefined);
        child.stdin.end(input);
      }),
    dispose: () => {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
