import type { Terminal } from './terminal';
import { CancelledError, ExpectedError, messageOf } from '../core/errors';
import { formatDuration, formatPercent } from '../core/format';
import type { Standing } from '../core/slicing/solve';
import { applyOverrides } from '../core/formats/overrides';
import type { Run } from '../core/formats/run';
import { printable } from '../core/text';
import { runOfOnnx } from '../profiler/onnx-file/run-of-onnx';
import { errorJson, errorLine, printedPieces, type Answer } from './answer';
import { helpText, isSearchedSide, parseCommand, type Command, type CommandName } from './arguments';
import { checkAnswer } from './commands/check';
import { comparedPlansAnswer, comparedRunAnswer } from './commands/compare';
import { comparedSearchAnswer } from './commands/compare-search';
import { elasticAnswer } from './commands/elastic';
import { exportAnswer } from './commands/export';
import { inspectAnswer } from './commands/inspect';
import { launcherAnswer } from './commands/inspect-launcher';
import { scheduleAnswer } from './commands/inspect-schedule';
import { memoryAnswer } from './commands/memory';
import { planAnswer } from './commands/plan';
import { searchAnswer } from './commands/search';
import { simulateAnswer } from './commands/simulate';
import { runSolve } from './commands/solve';
import { solvedAnswer } from './commands/solve-text';
import { profilesFolder, readProfiles } from '../profiler/store';
import { comparisonAnswer, importAnswer, profileAnswer } from './commands/profile';
import type { LoadedConfig } from '../core/load/load-config';
import { planRun, readConfig, requireRun, withProfile, type Planned } from './planned';
import { readNamedFile, readReferenced, type SourceText } from './read-file';
import { measuredStepMs, readOther } from './read-measured';
import { isScheduleFile } from './walk';

/** Runs a command line and returns the exit status: 0 fine, 1 findings of severity error, 2 bad input, 3 internal error. Never throws. */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<0 | 1 | 2 | 3> {
  const texts = new Map<string, string>();
  // Also after a mistake in the other arguments, whoever asked for JSON gets JSON.
  let json = args.includes('--json');
  try {
    const command = parseCommand(args);
    if (command === 'help') {
      terminal.out(helpText);
      return 0;
    }
    json = command.json;
    const answer = await answerTo(command, texts, terminal);
    for (const piece of printedPieces(answer, json)) {
      if (piece === '') continue;
      terminal.out(piece);
      await terminal.drained?.();
    }
    return answer.exitCode;
  } catch (error) {
    if (error instanceof CancelledError) {
      if (json) terminal.out(`${JSON.stringify(errorJson(cancelled, texts))}\n`);
      terminal.err(`${errorLine(cancelled, texts)}\n`);
      return 1;
    }
    const expected = error instanceof ExpectedError;
    const shown = expected ? error : internalError(error);
    if (json) terminal.out(`${JSON.stringify(errorJson(shown, texts))}\n`);
    terminal.err(`${errorLine(shown, texts)}\n`);
    if (!expected && terminal.debug && error instanceof Error) terminal.err(`${error.stack ?? ''}\n`);
    return expected ? 2 : 3;
  }
}

async function answerTo(command: Command, texts: Map<string, string>, terminal: Terminal): Promise<Answer> {
  const { name, paths, defaults, profiling } = command;
  const sets = [...command.sets, ...(await measuredSet(command, texts, terminal.signal))];
  if (name === 'check') return checkAnswer(paths, { sets, shell: terminal.shell }, defaults, texts, terminal.status);
  if (name === 'profile' && profiling.compareWith !== null) return comparisonAnswer(paths[0] ?? '-', profiling.compareWith);
  const [path = '-'] = paths;
  if (name !== 'solve' && name !== 'simulate' && isOnnx(path))
    return answerForConfig(name, configOfRun(applyOverrides(await runOfOnnx(path, terminal.signal), sets)), command, texts, terminal);
  const source = await readInto(texts, path);
  if (name === 'simulate') return simulateAnswer(source, (from, csv) => referencedInto(texts, from, csv));
  if (name === 'inspect' && isScheduleFile(source)) return scheduleAnswer(source);
  if (name === 'solve') return solvedAnswer(runSolve(source.text, source.file, terminal.clock, standingLine(terminal), terminal.signal));
  const config = await readConfig(
    source,
    { sets, shell: terminal.shell, withProfile: name !== 'profile' && command.profile === null },
    texts,
  );
  return answerForConfig(name, config, command, texts, terminal);
}

/** What `--measured` sets: the step it names, or the median of the file that it names. */
async function measuredSet({ measured }: Command, texts: Map<string, string>, signal: AbortSignal): Promise<string[]> {
  if (measured === null) return [];
  const ms = typeof measured === 'number' ? measured : await measuredStepMs(measured, texts, signal);
  return [`calibration.iterationMs=${ms}`];
}

/** A run that comes from elsewhere than a text. */
function configOfRun(run: Run): LoadedConfig {
  return { format: run.format, launcher: null, model: null, run, noRun: null, findings: [] };
}

async function answerForConfig(
  name: Exclude<CommandName, 'check' | 'solve' | 'simulate'>,
  read: LoadedConfig,
  command: Command,
  texts: Map<string, string>,
  terminal: Terminal,
): Promise<Answer> {
  const { defaults, profiling } = command;
  if (name === 'inspect') return read.launcher === null ? inspectAnswer(requireRun(read)) : launcherAnswer(read.launcher, read);
  const own = requireRun(read);
  const run = command.profile === null ? own : await withProfile(own, command.profile, texts);
  const config = { ...read, run };
  switch (name) {
    case 'memory':
      return memoryAnswer(planRun(config, defaults, [], terminal.status), texts);
    case 'plan':
      if (command.comparing !== null) return compareAnswer(config, command.comparing, command, texts, terminal);
      if (command.searching !== null) return searchAnswer(config, defaults, command.searching, terminal);
      return planAnswer(planRun(config, defaults, (await readProfiles(profilesFolder(run.file))).found, terminal.status), texts);
    case 'export': {
      const planned = planRun(config, defaults, (await readProfiles(profilesFolder(run.file))).found, terminal.status);
      return exportAnswer(planned, command.exporting, { shell: terminal.shell, err: terminal.err, texts });
    }
    case 'elastic':
      return elasticAnswer(run, defaults, texts);
    case 'profile':
      return profiling.importFrom === null
        ? profileAnswer(run, command, terminal)
        : importAnswer(run, command, await readInto(texts, profiling.importFrom), terminal.now());
  }
}

/** A plan beside another config's, planned with the same settings and defaults, or beside a measured run. */
async function compareAnswer(
  config: LoadedConfig,
  path: string,
  { sets, defaults, profile, searching }: Command,
  texts: Map<string, string>,
  terminal: Terminal,
): Promise<Answer> {
  const planOf = async (read: LoadedConfig): Promise<Planned> =>
    planRun(read, defaults, (await readProfiles(profilesFolder(requireRun(read).file))).found, terminal.status);
  if (isSearchedSide(path)) return comparedSearchAnswer(config, path, { defaults, free: searching?.free ?? [] }, terminal, texts);
  const other = await readOther(path, texts, terminal.signal);
  const planned = await planOf(config);
  if (other.kind !== 'config') return comparedRunAnswer(planned, other, path, texts);
  const read = await readConfig(other.source, { sets, shell: terminal.shell, withProfile: profile === null }, texts);
  const run = requireRun(read);
  const beside = await planOf(profile === null ? read : { ...read, run: await withProfile(run, profile, texts) });
  return comparedPlansAnswer(planned, beside, texts);
}

/** Milliseconds between two lines on how far a solution is. */
const standingEveryMs = 500;

/** Says how far a long solution is: nothing on short ones. */
function standingLine({ clock, progress }: Terminal): (standing: Standing) => void {
  let saidMs = clock();
  return ({ latencyMs, lowerBoundMs }) => {
    if (clock() - saidMs < standingEveryMs) return;
    saidMs = clock();
    progress(
      `best ${formatDuration(latencyMs)}, at least ${formatDuration(lowerBoundMs)}, gap ${formatPercent(1 - lowerBoundMs / latencyMs)}`,
    );
  };
}

/** An ONNX model: binary, and read in pieces. */
function isOnnx(path: string): boolean {
  return /\.onnx$/i.test(path);
}

async function readInto(texts: Map<string, string>, name: string): Promise<SourceText> {
  const source = await readNamedFile(name);
  texts.set(source.file, source.text);
  return source;
}

async function referencedInto(texts: Map<string, string>, from: string, name: string): Promise<SourceText> {
  const source = await readReferenced(from, name);
  texts.set(source.file, source.text);
  return source;
}

const cancelled = new ExpectedError('cancelled', 'Cancelled before there was an answer', 'run it again');

function internalError(error: unknown): ExpectedError {
  const message = messageOf(error);
  return new ExpectedError('internal', `Internal error: ${printable(message)}`, 'report it with the output of TERAPIPE_DEBUG=1');
}
