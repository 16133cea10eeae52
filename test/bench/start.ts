// Prints what the start of the terminal front end costs: `npm run bench`, after `npm run build -- --production`. Processor time of fresh
// processes, and that of an empty Node.js process in the same run.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { median } from '../../src/core/numbers';
import { root } from '../harness/setup.mjs';
import { freshMs, terminal } from './fresh';

const rounds = 11;
const inspect = [terminal, 'inspect', 'meta-llama/Llama-3.1-70B'];
const starts: readonly (readonly [name: string, args: readonly string[]])[] = [
  ['an empty process', ['-e', '0']],
  ['--version', [terminal, '--version']],
  ['--help', [terminal, '--help']],
  ['inspect', inspect],
  ['check of one file', [terminal, 'check', path.join(root, 'media/samples/llama3-8b/config.json')]],
];

function main(): void {
  const cache = mkdtempSync(path.join(tmpdir(), 'terapipe-start-'));
  const kept = { ...process.env, XDG_CACHE_HOME: cache };
  const cold = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
  for (const [, args] of starts) freshMs(args, kept);
  const times = starts.map(() => ({ kept: [] as number[], cold: [] as number[] }));
  for (let round = 0; round < rounds; round++)
    for (const [index, [, args]] of starts.entries()) {
      times[index]!.kept.push(freshMs(args, kept));
      times[index]!.cold.push(freshMs(args, cold));
    }
  const emptyMs = median(times[0]!.kept);
  for (const [index, [name]] of starts.entries()) {
    const [keptMs, coldMs] = [median(times[index]!.kept), median(times[index]!.cold)];
    console.log(
      `Start, ${name}: ${keptMs.toFixed(0)} ms, ${(keptMs / emptyMs).toFixed(2)} times an empty process; without a code cache ${coldMs.toFixed(0)} ms, ${(coldMs / emptyMs).toFixed(2)} times`,
    );
  }
  rmSync(cache, { recursive: true });
}

main();
