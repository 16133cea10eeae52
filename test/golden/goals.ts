import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
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
  throughput: 0.12,
  throughputOfExperts: 0.15,
  elastic: 0.1,
} as const;

/** The same of step times of published runs, by their source. */
export const wildBounds = {
  'MPT H100': 0.06,
  'MPT A100': 0.06,
  'MPT H100 FP8': 0.1,
  TorchTitan: 0.1,
  NeMo: 0.06,
  BLOOM: 0.07,
  'zero bubble': 0.05,
  Seq1F1B: 0.1,
} as const;

/** One line of what was promised: the result, and what was asked for. `met` null: a figure that no promise is made of. */
export interface Goal {
  readonly name: string;
  readonly found: string;
  readonly goal: string;
  readonly met: boolean | null;
  /** An aim that is not promised: missing it does not fail the report. */
  readonly isAim?: true;
}

/** Tests whose titles match are promises, at least this many of them. */
export interface PromisedTests {
  /** From the repository's root, without what follows the name: `.test.ts`, or `.slow.test.ts`. */
  readonly file: string;
  readonly title: RegExp;
  /** What is promised; $1 stands for the first group of the title. */
  readonly name: string;
  readonly goal: string;
  readonly least: number;
}

const root = path.join(import.meta.dirname, '../..');

/** The file of promised tests, slow or not. */
function fileOf({ file }: PromisedTests): string {
  const [found] = ['.slow.test.ts', '.test.ts'].map((ending) => path.join(root, `${file}${ending}`)).filter((name) => existsSync(name));
  if (found === undefined) throw new Error(`${file} has neither .slow.test.ts nor .test.ts`);
  return found;
}

/** A goal for a mean error. */
export function errorGoal(name: string, error: { readonly mean: number; readonly worst: number }, bound: number): Goal {
  const percent = (fraction: number): string => `${(100 * fraction).toFixed(2)} %`;
  const goal = `mean under ${(100 * bound).toFixed(1)} %`;
  return { name, found: `mean ${percent(error.mean)}, worst ${percent(error.worst)}`, goal, met: error.mean < bound };
}

/** A reporter that prints nothing: what the tests print themselves stays. */
function quiet(): void {
  // the runner's events are listened to instead
}

/** Leaves out the tests of a suite and of those in it that are not wanted. */
function keepTests(suite: Mocha.Suite, isWanted: (test: Mocha.Test) => boolean): void {
  suite.tests = suite.tests.filter(isWanted);
  for (const inner of suite.suites) keepTests(inner, isWanted);
}

/** Runs the files and reports of each promised test whether it passed; too few of them is a promise not met. */
export async function testGoals(promised: readonly PromisedTests[]): Promise<Goal[]> {
  const mocha = new Mocha({ timeout: 0, reporter: quiet as unknown as Mocha.ReporterConstructor });
  for (const file of new Set(promised.map(fileOf))) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const promiseOf = ({ title, file }: Mocha.Runnable): PromisedTests | undefined =>
    promised.find((tests) => file === fileOf(tests) && tests.title.test(title));
  keepTests(mocha.suite, (test) => promiseOf(test) !== undefined);
  const goals: Goal[] = [];
  const seen = new Map<PromisedTests, number>();
  const add = (test: Mocha.Test | Mocha.Hook, found: string, met: boolean): void => {
    const tests = promiseOf(test);
    const { name, goal } = tests ?? { name: test.title, goal: 'runs' };
    if (tests !== undefined) seen.set(tests, (seen.get(tests) ?? 0) + 1);
    goals.push({ name: tests === undefined ? name : test.title.replace(tests.title, name), goal, found, met });
  };
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => {
      resolve();
    });
    runner.on('pass', (test) => {
      add(test, 'passed', true);
    });
    runner.on('fail', (test, error: Error) => {
      add(test, `failed: ${error.message.split('\n')[0] ?? ''}`, false);
    });
    runner.on('pending', (test) => {
      add(test, 'skipped', false);
    });
  });
  for (const tests of promised) {
    const count = seen.get(tests) ?? 0;
    if (count < tests.least)
      goals.push({
        name: `Tests ${tests.title.source} in ${tests.file}`,
        goal: `${tests.least} or more`,
        found: String(count),
        met: false,
      });
  }
  return goals;
}

/**
 * What the search of test/bench takes in a process of its own: cold, as a person would start it. No promise is made of times: machines
 * differ.
 */
export function searchTimings(): Goal[] {
  const printed = execFileSync(process.execPath, ['--import', 'tsx', path.join(root, 'test/bench/search.ts')], {
    cwd: root,
    encoding: 'utf8',
  });
  const lines = printed.split('\n');
  const timings = lines.flatMap((line, index) => {
    const found = /TeraPipe in (\d+) ms, goal (\d+) ms; all schedules in (\d+) ms.*\((\d+) ms of processor\)/.exec(line);
    if (found === null) return [];
    const [, ms = '', goalMs = '', allMs = '', processorMs = ''] = found;
    const name = `Search, first phase (1F1B, GPipe, TeraPipe): ${(lines[index - 1] ?? '').split(':')[0] ?? ''}`;
    return [{ name, found: `${ms} ms; all schedules ${allMs} ms (${processorMs} ms of processor)`, goal: `about ${goalMs} ms`, met: null }];
  });
  if (timings.length === 0) throw new Error(`test/bench/search.ts prints other lines:\n${printed}`);
  return timings;
}
