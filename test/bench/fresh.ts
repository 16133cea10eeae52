import { spawnSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';

/** The bundled terminal front end, of `npm run build`. */
export const terminal = path.join(import.meta.dirname, '../../dist/cli.js');

const timed = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1';

/** Processor time of `node ARGS` in a process of its own, ms. */
export function freshMs(args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const { stderr } = spawnSync('bash', ['-c', timed, 'bash', process.execPath, ...args], { env, encoding: 'utf8' });
  const seconds = stderr.trim().split(/\s+/).slice(-2).map(Number);
  return 1000 * seconds.reduce((sum, each) => sum + each, 0);
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN;
}
