// `npm run corpus -- FOLDER --best`: for each training file of a launcher that names a model the best layout found, written into the file
// and read back, by launcher; with the function that `terapipe export --search` runs.
import { bestFile, mostDifference } from '../../src/cli/answers/export-search';
import { defaults } from '../../src/cli/common-options';
import { readConfig, type RunConfig } from '../../src/cli/read-config';
import { CancelledError, ExpectedError, type CancelSignal } from '../../src/core/errors';
import type { LauncherReader } from '../../src/core/run/facts';
import { layoutText } from '../../src/core/layout-search/labels';
import { chosenCandidate } from '../../src/core/planner/plan';
import { say } from '../../src/core/sentence';
import { unacceptable, writtenDiff } from './written-diff';

const kinds = ['written', 'refused', 'nothing fits', 'not planned', 'out of time', 'failed'] as const;

/** How writing the best layout of one file ended. */
export interface Outcome {
  readonly file: string;
  readonly format: string;
  readonly kind: (typeof kinds)[number];
  /** The step of the written file over that of the search. */
  readonly ratio: number | null;
  readonly reason: string;
  /** The change that was written as `diff -u` has it, and the lines that are not about the layout. */
  readonly diff: string;
  readonly unacceptable: readonly string[];
}

/**
 * The outcome of one file, as `terapipe export FILE --search` would have it within `limitMs` of processor time; null for one that is not a
 * training run with a model.
 */
export async function bestOf(file: string, text: string, shell: () => Promise<LauncherReader>, limitMs: number): Promise<Outcome | null> {
  const texts = new Map<string, string>();
  const reading = { sets: [], shell };
  const config = await readConfig({ file, text }, reading, texts).catch(expected);
  if (config instanceof ExpectedError || config.launcher === null || config.run === null) return null;
  if (config.launcher.isPart === true || (config.launcher.purpose ?? 'training') !== 'training') return null;
  const { format, launcher: before, reread } = config;
  const outcome = (kind: Outcome['kind'], reason: string, made: Partial<Outcome> = {}): Outcome => ({
    file,
    format,
    kind,
    reason,
    ratio: null,
    diff: '',
    unacceptable: [],
    ...made,
  });
  const watcher = { progress: () => undefined, signal: deadline(limitMs), clock: () => 0 };
  try {
    const options = { reading, defaults, free: null, to: null, choice: null };
    const { result, written, tried } = await bestFile({ ...config, run: config.run } satisfies RunConfig, options, watcher, texts);
    if (!result.best.fits) return outcome('nothing fits', say(layoutText(result.best.point)));
    if (written === null) return outcome('refused', tried.map(({ found, why }) => `${say(layoutText(found.point))}: ${say(why)}`)[0] ?? '');
    const { again, found } = written;
    const ratio = again === null ? null : chosenCandidate(again.plan).iterationMs / found.iterationMs;
    const change = { before, after: reread?.(file, written.text) ?? before };
    const made = { ratio, diff: writtenDiff(change), unacceptable: unacceptable(change) };
    return outcome('written', say(layoutText(found.point)), made);
  } catch (error) {
    if (error instanceof CancelledError) return outcome('out of time', `over ${limitMs / 1000} s of processor time`);
    if (!(error instanceof ExpectedError))
      return outcome('failed', error instanceof Error ? (error.stack ?? error.message) : String(error));
    const isRefusal = error.code.startsWith('apply-') || error.code.startsWith('export-');
    return outcome(isRefusal ? 'refused' : 'not planned', `${error.code}: ${error.message}`);
  }
}

/** A signal that aborts once this process has used an amount of processor time from now. */
function deadline(limitMs: number): CancelSignal {
  const before = process.cpuUsage();
  return {
    get aborted() {
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000 > limitMs;
    },
  };
}

function expected(error: unknown): ExpectedError {
  if (error instanceof ExpectedError) return error;
  throw error;
}

/** Prints each change and its lines that are not acceptable. @returns whether all are. */
export function printDiffs(outcomes: readonly Outcome[]): boolean {
  const written = outcomes.filter(({ kind }) => kind === 'written');
  for (const { file, diff, unacceptable: faults } of written) {
    console.log(`\n=== ${file}\n${diff === '' ? '(as it is)' : diff}`);
    for (const fault of faults) console.log(`!!! ${fault}`);
  }
  const bad = written.filter(({ unacceptable: faults }) => faults.length > 0).length;
  console.log(`\nchanges about the layout only: ${written.length - bad} of ${written.length} files`);
  return bad === 0;
}

/** Prints outcomes by launcher, and those that are not written. Whether all written ones are as found, and nothing failed. */
export function printBest(outcomes: readonly Outcome[]): boolean {
  console.log(`\nbest layouts, written and read back${kinds.map((kind) => kind.padStart(14)).join('')}     ratios`);
  for (const format of [...new Set(outcomes.map((one) => one.format))].sort()) {
    const own = outcomes.filter((one) => one.format === format);
    const counts = kinds.map((kind) => String(own.filter((one) => one.kind === kind).length).padStart(14));
    const ratios = own.flatMap(({ ratio }) => ratio ?? []);
    const range = ratios.length === 0 ? '-' : `${Math.min(...ratios).toFixed(4)} to ${Math.max(...ratios).toFixed(4)}`;
    console.log(`  ${format.padEnd(33)}${counts.join('')}     ${range}`);
  }
  for (const { file, kind, reason } of outcomes) if (kind !== 'written') console.log(`  ${kind}: ${file}: ${reason}`);
  const passed = outcomes.filter(({ kind }) => kind === 'written' || kind === 'refused').length;
  console.log(`  written as found or refused in words: ${passed} of ${outcomes.length}`);
  const isOff = outcomes.some(({ ratio }) => ratio !== null && Math.abs(ratio - 1) > mostDifference);
  return !isOff && outcomes.every(({ kind }) => kind !== 'failed');
}
