import { spawnSync } from 'node:child_process';
import path from 'node:path';
import process from 'node:process';
import { sum } from '../../src/core/numbers';

/** The bundled terminal front end, of `npm run build`. */
export const terminal = path.join(import.meta.dirname, '../../dist/cli.js');

const timed = 'TIMEFORMAT="%U %S"; time "$@" >/dev/null 2>&1';

/**
 * Processor time of `node ARGS` in a process of its own, ms.
 * @param most the highest exit status of an answer. @throws where it fails: its time would be that of an error.
 */
export function freshMs(args: readonly string[], env: NodeJS.ProcessEnv = process.env, most = 0): number {
  const { stderr, status } = spawnSync('bash', ['-c', timed, 'bash', process.execPath, ...args], { env, encoding: 'utf8' });
  if (status === null || status > most) throw new Error(`node ${args.join(' ')} ended with ${String(status)}`);
  return 1000 * sum(stderr.trim().split(/\s+/).slice(-2).map(Number));
}
