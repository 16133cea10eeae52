import { execFileSync } from 'node:child_process';
import path from 'node:path';
import Mocha from 'mocha';

/** Largest errors that are allowed, as fractions, mean over the rows. */
export const bounds = {
  memoryOfDense: 0.005,
  memoryOfExperts: 0.01,
  b200Time: 0.045,
  vtrain: 0.055,
  ptdp: 0.04,
  recompute: 0.08,
} as const;

/** One line of what was promised: what came out, beside what was asked for. `met` null: its reference data are not here. */
export interface Goal {
  readonly name: string;
  readonly found: string;
  readonly goal: string;
  readonly met: boolean | null;
}

const root = path.join(import.meta.dirname, '../..');

/** A goal for a mean error; `rows` null where the reference data are absent. */
export function errorGoal(name: string, error: { readonly mean: number; readonly worst: number } | null, bound: number): Goal {
  const percent = (fraction: number): string => `${(100 * fraction).toFixed(2)} %`;
  const goal = `mean under ${(100 * bound).toFixed(1)} %`;
  if (error === null) return { name, found: 'skipped, reference file not found', goal, met: null };
  return { name, found: `mean ${percent(error.mean)}, worst ${percent(error.worst)}`, goal, met: error.mean < bound };
}

/** A reporter that prints nothing: what the tests print themselves stays. */
function quiet(): void {
  // the runner's events are listened to instead
}

/** Runs unit or property tests and says of each whether it passed. */
export async function testGoals(
  files: readonly string[],
  nameOf: (title: string) => { name: string; goal: string } | null,
): Promise<Goal[]> {
  const mocha = new Mocha({ timeout: 300_000, reporter: quiet as unknown as Mocha.ReporterConstructor });
  for (const file of files) mocha.addFile(path.join(root, file));
  await mocha.loadFilesAsync();
  const goals: Goal[] = [];
  const add = (title: string, found: string, met: boolean | null): void => {
    const named = nameOf(title);
    if (named !== null) goals.push({ ...named, found, met });
  };
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => {
      resolve();
    });
    runner.on('pass', ({ title }) => {
      add(title, 'passed', true);
    });
    runner.on('fail', ({ title }, error: Error) => {
      add(title, `failed: ${error.message.split('\n')[0] ?? ''}`, false);
    });
    runner.on('pending', ({ title }) => {
      add(title, 'skipped', null);
    });
  });
  return goals;
}

/** The search of test/bench in a process of its own: cold, as a person would start it. The goal is of the phase after which an answer of the usual schedules stands; others improve on it. */
export function searchTimingGoals(): Goal[] {
  const printed = execFileSync(process.execPath, ['--import', 'tsx', path.join(root, 'test/bench/search.ts')], {
    cwd: root,
    encoding: 'utf8',
  });
  const lines = printed.split('\n');
  return lines.flatMap((line, index) => {
    const found = /TeraPipe in (\d+) ms, goal (\d+) ms; all schedules in (\d+) ms.*\((\d+) ms of processor\)/.exec(line);
    if (found === null) return [];
    const [, ms = '', goalMs = '', allMs = '', processorMs = ''] = found;
    const name = `Search, first phase (1F1B, GPipe, TeraPipe): ${(lines[index - 1] ?? '').split(':')[0] ?? ''}`;
    const took = `${ms} ms; all schedules ${allMs} ms (${processorMs} ms of processor)`;
    return [{ name, found: took, goal: `under ${goalMs} ms`, met: Number(ms) < Number(goalMs) }];
  });
}
