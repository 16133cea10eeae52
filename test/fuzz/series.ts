import type { LauncherReader } from '../../src/core/run/facts';
import type { Case } from './cases';
import { mostCommandMs } from './commands';
import { judge } from './judge';

/** Milliseconds of CPU that one case may take. */
export const maximumCaseMs = 2000;

/** Trials that a shrinking may take. */
const maximumTrials = { read: 1500, run: 100 };

/** One defect that a series found. */
export interface Failure {
  readonly index: number;
  readonly problem: string;
  readonly smallest: Case;
}

export interface SeriesResult {
  readonly cases: number;
  readonly answered: number;
  readonly findings: number;
  readonly fixed: number;
  readonly slowest: { readonly index: number; readonly ms: number };
  /** One of each kind, shrunk. */
  readonly failures: readonly Failure[];
}

export interface SeriesOptions {
  /** A case by its number. */
  readonly caseAt: (index: number) => Case;
  readonly first: number;
  readonly cases: number;
  /** Whether a case fails that takes too long: not in `npm test`, which no clock decides. */
  readonly isTimed?: boolean;
  /** Kinds of failure that are left out. */
  readonly known?: readonly string[];
  /** Called before each case with its number. */
  readonly starting?: (index: number) => void;
}

/** Runs the cases from `first` on. */
export async function runSeries(
  shell: LauncherReader,
  { caseAt, first, cases, isTimed = false, known = [], starting }: SeriesOptions,
): Promise<SeriesResult> {
  const failures = new Map<string, Failure>();
  const mostMs = isTimed ? mostCommandMs : Infinity;
  let [answered, findings, fixed] = [0, 0, 0];
  let slowest = { index: first, ms: 0 };
  for (let index = first; index < first + cases; index += 1) {
    starting?.(index);
    const given = caseAt(index);
    const began = performance.now();
    const verdict = await judge(given, shell, mostMs);
    const ms = performance.now() - began;
    if (ms > slowest.ms) slowest = { index, ms };
    answered += verdict.answered ? 1 : 0;
    findings += verdict.findings;
    fixed += verdict.fixed ? 1 : 0;
    const problem =
      verdict.problem ?? (isTimed && given.command.length === 0 && ms > maximumCaseMs ? await slowProblem(given, shell) : null);
    const kind = problem?.split('\n')[0];
    if (problem === null || kind === undefined || failures.has(kind) || known.includes(kind)) continue;
    const same = async (candidate: Case) => (await judge(candidate, shell, mostMs)).problem?.split('\n')[0] === kind;
    failures.set(kind, {
      index,
      problem,
      smallest: verdict.problem === null || kind.includes('takes over') ? given : await shrunk(given, same),
    });
  }
  return { cases, answered, findings, fixed, slowest, failures: [...failures.values()] };
}

/** A second look by the CPU's clock, which other programs do not move. */
async function slowProblem(given: Case, shell: LauncherReader): Promise<string | null> {
  const before = process.cpuUsage();
  await judge(given, shell);
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  return ms > maximumCaseMs ? `took over ${maximumCaseMs} ms\n${ms.toFixed(0)} ms` : null;
}

/** A failure for people: how to see it again, what it is, the smallest text. */
export function describeFailure({ index, problem, smallest }: Failure, series: string): string {
  const { main, neighbour, command } = smallest;
  const lines = [
    `case ${index} of ${series}: ${problem}`,
    `  in ${main.file}${command.length === 0 ? '' : `, ${command.join(' ')}`}: ${JSON.stringify(main.text.slice(0, 2000))}`,
  ];
  if (neighbour !== null) lines.push(`  next to ${neighbour.file}: ${JSON.stringify(neighbour.text.slice(0, 2000))}`);
  return lines.join('\n');
}

/**
 * A smaller case that still fails: first without its neighbour, then with pieces of its text cut out, halves before characters.
 * @param fails whether a case shows the same defect.
 */
async function shrunk(given: Case, fails: (candidate: Case) => Promise<boolean>): Promise<Case> {
  const withoutNeighbour = { ...given, neighbour: null };
  const start = given.neighbour !== null && (await fails(withoutNeighbour)) ? withoutNeighbour : given;
  const of = (text: string): Case => ({ ...start, main: { ...start.main, text } });
  const trials = given.command.length === 0 ? maximumTrials.read : maximumTrials.run;
  return of(await smaller(start.main.text, trials, (text) => fails(of(text))));
}

async function smaller(text: string, most: number, fails: (text: string) => Promise<boolean>): Promise<string> {
  let best = text;
  let trials = 0;
  for (let size = Math.ceil(text.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    let at = 0;
    while (at < best.length && trials < most) {
      trials += 1;
      const candidate = best.slice(0, at) + best.slice(at + size);
      if (await fails(candidate)) best = candidate;
      else at += size;
    }
  }
  return best;
}
