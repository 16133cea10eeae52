// Writes schedules in PyTorch's CSV, passes only and with communication for either version, and lets the PyTorch at hand load and run them:
// `PYTHON=.../python node --import tsx test/witness/schedules.ts`. Prints a table; exit code 1 where a file fails that this PyTorch should
// run.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { writeScheduleCsv } from '../../src/core/schedules/pytorch-csv/write';
import { scheduleOf } from '../unit/core/schedules/pytorch-csv/schedules';

interface Answer {
  readonly file: string;
  readonly ok: boolean;
  readonly why: string;
}

/** Name, stages, micro-batches, chunks a stage. */
const witnessed: readonly (readonly [name: string, stages: number, microBatches: number, chunks: number])[] = [
  ['GPipe', 2, 4, 1],
  ['GPipe', 4, 4, 1],
  ['1F1B', 2, 4, 1],
  ['1F1B', 4, 8, 1],
  ['Interleaved1F1B', 2, 4, 2],
  ['Interleaved1F1B', 4, 8, 2],
  ['LoopedBFS', 2, 4, 2],
  ['InterleavedZeroBubble', 2, 4, 2],
  ['InterleavedZeroBubble', 4, 8, 2],
  ['ZBVZeroBubble', 2, 4, 2],
  ['ZBVZeroBubble', 4, 8, 2],
  ['DualPipeV', 2, 4, 2],
  ['DualPipeV', 4, 10, 2],
  ['ZB-H1', 4, 8, 1],
  ['ZB-H2', 4, 8, 1],
  ['V-Half', 4, 8, 2],
  ['V-Min', 4, 8, 2],
];

const python = process.env['PYTHON'] ?? 'python3';
const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-schedules-'));
for (const [name, stages, microBatches, chunks] of witnessed) {
  const schedule = scheduleOf(name, stages, microBatches, chunks);
  const at = `${name}_pp${stages}_v${chunks}_m${microBatches}`;
  writeFileSync(path.join(folder, `${at}.csv`), writeScheduleCsv(schedule, 'compute_only'));
  for (const version of ['2.14', '2.15'] as const)
    writeFileSync(path.join(folder, `${at}.${version}.comms.csv`), writeScheduleCsv(schedule, 'compute_comms', version));
}
const { stdout, stderr } = spawnSync(python, [path.join(import.meta.dirname, 'pytorch_schedules.py'), folder], { encoding: 'utf8' });
const answers = stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Answer] : []));
const version = /^torch (\d+)\.(\d+)/m.exec(stderr);
if (version === null) throw new Error(`${python} runs no PyTorch: ${stderr}`);
const own = Number(version[2]) >= 15 || Number(version[1]) > 2 ? '2.15' : '2.14';
const isWanted = ({ file }: Answer): boolean => !file.endsWith('.comms.csv') || file.includes(`.${own}.`);
for (const answer of answers) console.log(`${answer.ok ? 'runs' : isWanted(answer) ? 'FAILS' : 'refused'}\t${answer.file}\t${answer.why}`);
const failed = answers.filter((answer) => isWanted(answer) && !answer.ok);
console.log(
  `${version[0]}: ${answers.filter(isWanted).length - failed.length} of ${answers.filter(isWanted).length} run with equal gradients`,
);
rmSync(folder, { recursive: true });
process.exitCode = failed.length === 0 && answers.length === 3 * witnessed.length ? 0 : 1;
