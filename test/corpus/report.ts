// How well the configs under a folder are read, by the verdicts of `verdicts.json`: `npm run corpus -- FOLDER [FILE...] [--plan] [--list]`.
// Prints the recognition rate, errors and warnings by rule with how many are judged true and false, and the processor time of a file;
// with `--plan` also how many runs are planned where nodes are given. `--list` names each finding without a verdict and each false one.
// `--best` writes the best layout of each training file into it, with `--diff` printing each change and failing where one is not about the
// layout; `--agree` compares check with plan on three GPUs. Files that are named under FOLDER are the only ones.
// `--facts` prints 150 facts, drawn by a fixed seed, each with its line, for a person to judge.
// `--rows` compares what became of every file with `open-list.json`, and fails where one is worse; with `--write` it writes that file.
// `--known-facts` compares the facts of `facts.json` with those that are read now. `--readers` compares `readers.json`, or writes it.
// `--round-trip` writes every model into a new file of each launcher and reads it back.
// `--sort` writes `verdicts.json` in order. Exit code 1 where an error is false, over 5 % of the warnings are, or a file takes over 2 s.
import { writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { readReferenced } from '../../src/cli/read-file';
import { ExpectedError } from '../../src/core/errors';
import { findingOfError, type Finding, type Severity } from '../../src/core/findings';
import { fileStart } from '../../src/core/languages/json/document';
import type { LauncherReader } from '../../src/core/run/facts';
import type { Run } from '../../src/core/run/run';
import { loadConfig, type LoadedConfig } from '../../src/core/config-files/load-config';
import { hasLauncherEnding, recogniseConfig } from '../../src/core/config-files/readers';
import { makePlan } from '../../src/core/planner/make-plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { assumedGpuName } from '../../src/core/plan-request/scenario';
import { runFindings } from '../../src/core/rules/run-findings';
import { isLauncher, launcherTraits } from '../../src/core/launchers/registry';
import { applyOverrides } from '../../src/core/terapipe/overrides';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { plannedModel, roundTrip, roundTrippers } from './round-trip';
import { factsWithLines, sampled, type SampledFact } from './fact-sample';
import { bestOf, printBest, printDiffs, type Outcome } from './best-layouts';
import { disagreements, printDisagreements } from './verdict-pairs';
import { isKnownReader, readerExamples, readersFile, shownReader, writtenReaders } from './shown-readers';
import { readKnownFacts, readRows, rowOf, rowsFile, rowsSummary, worseRows, writtenRows } from './open-rows';
import { judgeOf, readVerdicts, writtenVerdicts, type Judge } from './verdict-file';
import { say } from '../../src/core/sentence';

/** What one file of the corpus came to. */
interface Read {
  readonly file: string;
  /** Null: not recognised as a config. */
  readonly format: string | null;
  /** Errors and warnings. */
  readonly findings: readonly Pick<Finding, 'code' | 'severity' | 'message'>[];
  readonly cpuMs: number;
  /** Null: no run, as a script that converts, or settings for one that has its model elsewhere. Else whether it is planned, or why not. */
  readonly planned: true | string | null;
}

/** Longest that one file may take to read, in processor time. */
const slowestMs = 2000;
/** Processor time that the best layout of one file may take to be found and written. */
const limitMs = 120_000;
/** Facts that `--facts` prints, and what they are drawn by. */
const sampleSize = 150;
const sampleSeed = 42;
/** Share of false warnings that is tolerated. */
const falseWarnings = 0.05;

const [folder, ...rest] = process.argv.slice(2);
const options = rest.filter((word) => word.startsWith('--'));
const named = rest.filter((word) => !word.startsWith('--'));
if (folder === undefined) throw new Error('name a folder: npm run corpus -- FOLDER [FILE...] [--plan] [--list]');
const isPlanned = options.includes('--plan');
const isListed = options.includes('--list');
const verdicts = readVerdicts();
if (options.includes('--sort')) writeFileSync(path.join(import.meta.dirname, 'verdicts.json'), writtenVerdicts(verdicts));
process.chdir(folder);
void report();

async function report(): Promise<void> {
  const judge = judgeOf(verdicts);
  const grammar = shellReader();
  if (options.includes('--best') || options.includes('--agree')) return wrote(() => grammar);
  if (options.includes('--round-trip')) return printRoundTrips();
  if (options.includes('--facts')) return printFacts(() => grammar);
  if (options.includes('--known-facts')) return checkFacts(() => grammar);
  if (options.includes('--readers')) return showReaders(() => grammar);
  const reads: Read[] = [];
  for (const file of await filesUnder('.')) reads.push(await readOne(file, await readFile(file, 'utf8'), () => grammar));
  if (options.includes('--rows')) {
    compareRows(reads, judge);
    return;
  }
  printRecognised(reads, judge);
  const isGood = printFindings(reads, judge);
  if (isPlanned) printPlanned(reads);
  const slowest = reads.reduce((most, read) => (read.cpuMs > most.cpuMs ? read : most));
  const total = reads.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
  console.log(`\nprocessor time: ${(total / reads.length).toFixed(1)} ms a file, at most ${slowest.cpuMs.toFixed(0)} ms (${slowest.file})`);
  if (!isGood || slowest.cpuMs > slowestMs) process.exitCode = 1;
}

/** What `--best` and `--agree` ask for, of every recognised config. */
async function wrote(shell: typeof shellReader): Promise<void> {
  const outcomes: Outcome[] = [];
  const lines: string[] = [];
  let files = 0;
  for (const file of await filesUnder('.')) {
    const text = await readFile(file, 'utf8');
    if (recogniseConfig(file, text) === null) continue;
    files += 1;
    // stdout is for the report; thousands of files take a while
    console.error(file);
    if (options.includes('--best')) {
      const outcome = await bestOf(file, text, shell, limitMs);
      if (outcome !== null) outcomes.push(outcome);
      if (outcome !== null) console.error(`  ${outcome.kind} ${outcome.ratio ?? ''} ${outcome.reason}`);
    }
    if (options.includes('--agree')) {
      const found = await disagreements(file, shell);
      lines.push(...found);
      for (const line of found) console.error(`  ${line}`);
    }
  }
  const isLayout = !options.includes('--diff') || printDiffs(outcomes);
  const isBest = !options.includes('--best') || printBest(outcomes);
  const isAgreed = !options.includes('--agree') || printDisagreements(lines, files);
  if (!isBest || !isAgreed || !isLayout) process.exitCode = 1;
}

/** What `--round-trip` asks for: every model in a new file of each launcher, read back. */
async function printRoundTrips(): Promise<void> {
  const rows = (await roundTrippers()).map((tripper) => ({ tripper, same: 0, named: 0, silent: 0 }));
  for (const file of await filesUnder('.')) {
    const model = plannedModel(await readFile(file, 'utf8'));
    if (model === null) continue;
    for (const row of rows) {
      const trip = roundTrip(model, row.tripper);
      if (trip === null) continue;
      row[trip.silent.length > 0 ? 'silent' : trip.different.length > 0 ? 'named' : 'same'] += 1;
      if (trip.silent.length > 0) console.log(`${file}, ${row.tripper.id}: ${trip.silent.join(', ')}`);
    }
  }
  for (const { tripper, same, named, silent } of rows)
    console.log(`${tripper.name}: ${same} models are read back the same, ${named} as the gaps name, ${silent} silently otherwise`);
  if (rows.some(({ silent }) => silent > 0)) process.exitCode = 1;
}

/** What `--facts` asks for. */
async function printFacts(shell: typeof shellReader): Promise<void> {
  const all: SampledFact[] = [];
  for (const file of await filesUnder('.')) {
    const text = await readFile(file, 'utf8');
    if (recogniseConfig(file, text) === null) continue;
    try {
      all.push(...factsWithLines(file, await loadConfig(file, text, { read: readReferenced, shell })));
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
    }
  }
  console.log(`${sampleSize} of ${all.length} facts, seed ${sampleSeed}`);
  for (const { file, name, value, line } of sampled(all, sampleSize, sampleSeed)) console.log(`${file}\n  ${name} = ${value}\n  ${line}`);
}

/** What `--rows` asks for. */
function compareRows(reads: readonly Read[], judge: Judge): void {
  const rows = reads.map(({ file, format, planned }) => rowOf({ file, format, planned, judge }));
  if (options.includes('--write')) writeFileSync(rowsFile, writtenRows(rows));
  const worse = worseRows(readRows(), rows);
  for (const line of worse) console.log(line);
  console.log(rowsSummary(rows));
  if (worse.length > 0) process.exitCode = 1;
}

/** What `--known-facts` asks for: facts that a person read, against what is read now. */
async function checkFacts(shell: typeof shellReader): Promise<void> {
  const facts = readKnownFacts();
  let absent = 0;
  let wrong = 0;
  for (const file of new Set(facts.map((fact) => fact.file))) {
    const text = await readFile(file, 'utf8').catch(() => null);
    const own = facts.filter((fact) => fact.file === file);
    if (text === null) absent += own.length;
    if (text === null) continue;
    const read = factsWithLines(file, await loadConfig(file, text, { read: readReferenced, shell }));
    for (const fact of own) {
      const now = read.find(({ name }) => name === fact.name);
      if (now?.value === fact.value && now.number === fact.line) continue;
      wrong += 1;
      console.log(
        `${file}: ${fact.name} is ${fact.value} in line ${fact.line}, read ${now?.value ?? 'nothing'} in ${now?.number ?? 'none'}`,
      );
    }
  }
  console.log(
    `known facts: ${facts.length - absent - wrong} of ${facts.length - absent} are read as they are (${absent} in files that are not here)`,
  );
  if (wrong > 0) process.exitCode = 1;
}

/** What `--readers` asks for: the public example of every reader, planned. */
async function showReaders(shell: typeof shellReader): Promise<void> {
  const shown = [];
  for (const example of readerExamples) {
    const text = await readFile(example.file, 'utf8').catch(() => null);
    if (text === null) console.log(`not here: ${example.file}`);
    else shown.push(shownReader(example, await loadConfig(example.file, text, { read: readReferenced, shell })));
  }
  if (options.includes('--write')) writeFileSync(readersFile, writtenReaders(shown));
  const others = shown.filter((each) => !isKnownReader(each));
  for (const { file } of others) console.log(`another answer than in readers.json: ${file}`);
  console.log(`readers: ${shown.length - others.length} of ${readerExamples.length} as readers.json has them`);
  if (others.length > 0) process.exitCode = 1;
}

async function filesUnder(root: string): Promise<string[]> {
  if (named.length > 0) return named;
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && hasLauncherEnding(entry.name));
  return files.map((entry) => path.join(entry.parentPath, entry.name)).sort();
}

async function readOne(file: string, text: string, shell: () => Promise<LauncherReader>): Promise<Read> {
  const before = process.cpuUsage();
  const format = recogniseConfig(file, text);
  if (format === null) return { file, format, findings: [], cpuMs: 0, planned: null };
  try {
    const config = await loadConfig(file, text, { read: readReferenced, shell });
    const findings = judged(config, file).filter(({ severity }) => severity !== 'information');
    const { user, system } = process.cpuUsage(before);
    return { file, format, findings, cpuMs: (user + system) / 1000, planned: isPlanned ? plannedOf(config) : null };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    const finding = findingOfError(error, fileStart(file));
    return {
      file,
      format,
      findings: finding.severity === 'information' ? [] : [finding],
      cpuMs: 0,
      planned: `${error.code}: ${error.message}`,
    };
  }
}

/** As `terapipe check` judges a file, before anything is planned. */
function judged({ run, noRun, launcher, findings }: LoadedConfig, file: string): readonly Finding[] {
  const refused = noRun === null ? [] : [findingOfError(noRun, fileStart(file))];
  return run === null || launcher !== null ? [...refused, ...findings] : runFindings(run, null);
}

function plannedOf({ run, noRun, launcher, format }: LoadedConfig): Read['planned'] {
  // the rest of such a run is in another script, or in the program that DeepSpeed is called by
  const isPart = launcher?.isPart === true || format === 'deepspeed';
  if (run === null)
    return (launcher?.purpose ?? 'training') !== 'training' || isPart || noRun === null ? null : `${noRun.code}: ${noRun.message}`;
  try {
    makePlan(resolveRun(withNodes(run), { gpu: assumedGpuName, nodes: null, gpusPerNode: null }));
    return true;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return `${error.code}: ${error.message}`;
  }
}

/** The nodes of eight GPUs that whole replicas take, where a launcher's file sets none, and a GPU for what trains on something else. */
function withNodes(given: Run): Run {
  const isElsewhere = launcherTraits(given.format).accelerator !== undefined;
  const run = isElsewhere ? applyOverrides(given, [`cluster.gpu=${assumedGpuName}`]) : given;
  if (!isLauncher(run.format) || run.nodes !== undefined || run.groups !== undefined) return run;
  const perNode = run.gpusPerNode?.value ?? 8;
  const { tensor, pipeline, context, data } = run.layout;
  const gpus = (tensor?.value ?? 1) * (pipeline?.value ?? 1) * (context?.value ?? 1) * (data?.value ?? 1);
  let nodes = 1;
  while ((nodes * perNode) % gpus !== 0 && nodes < gpus) nodes += 1;
  return { ...run, nodes: { value: nodes, source: { kind: 'override' } } };
}

function printRecognised(reads: readonly Read[], judge: Judge): void {
  const formats = new Map<string, number>();
  for (const { format } of reads) if (format !== null) formats.set(format, (formats.get(format) ?? 0) + 1);
  const unknown = reads.filter(({ format, file }) => format === null && judge(file, 'recognised')?.verdict !== false);
  const configs = reads.length - reads.filter(({ file }) => judge(file, 'recognised')?.verdict === false).length;
  const known = configs - unknown.length;
  console.log(`recognised: ${known} of ${configs} configs (${percent(known, configs)}) among ${reads.length} files`);
  for (const [format, count] of [...formats].sort((a, b) => b[1] - a[1])) console.log(`  ${String(count).padStart(5)} ${format}`);
  if (isListed) for (const { file } of unknown) console.log(`  not recognised: ${file}`);
}

/** Whether no error is known to be false, and few enough warnings. */
function printFindings(reads: readonly Read[], judge: Judge): boolean {
  const all = reads.flatMap(({ file, findings }) =>
    findings.map((finding) => ({ file, ...finding, verdict: judge(file, finding.code)?.verdict })),
  );
  console.log('\nfindings                                   all files  true false unjudged');
  const none = { all: 0, false: 0 };
  const counts: Record<Severity, typeof none> = { error: { ...none }, warning: { ...none }, information: { ...none } };
  for (const rule of [...new Set(all.map(({ severity, code }) => `${severity} ${code}`))].sort()) {
    const own = all.filter(({ severity, code }) => `${severity} ${code}` === rule);
    const right = own.filter(({ verdict }) => verdict === true).length;
    const wrong = own.filter(({ verdict }) => verdict === false).length;
    const files = new Set(own.map(({ file }) => file)).size;
    const columns = [own.length, files, right, wrong, own.length - right - wrong];
    console.log(`  ${rule.padEnd(40)}${columns.map((count) => String(count).padStart(6)).join('')}`);
    const { severity } = own[0] ?? { severity: 'information' as const };
    counts[severity].all += own.length;
    counts[severity].false += wrong;
  }
  const { error, warning } = counts;
  console.log(`  errors: ${error.all}, false ${error.false}`);
  console.log(`  warnings: ${warning.all}, false ${warning.false} (${percent(warning.false, warning.all)})`);
  if (isListed)
    for (const { file, code, severity, message, verdict } of all)
      if (verdict !== true) console.log(`  ${verdict === false ? 'false' : 'unjudged'} ${severity} ${code} ${file}: ${say(message)}`);
  return error.false === 0 && warning.false <= falseWarnings * warning.all;
}

function printPlanned(reads: readonly Read[]): void {
  const runs = reads.filter(({ planned }) => planned !== null);
  const planned = runs.filter(({ planned }) => planned === true).length;
  console.log(`\nplanned with nodes given: ${planned} of ${runs.length} runs (${percent(planned, runs.length)})`);
  const others = reads.filter(({ format, planned }) => format !== null && planned === null).length;
  console.log(`  in addition ${others} files that train nothing, or are settings of a run whose model is elsewhere`);
  const reasons = new Map<string, string[]>();
  for (const { file, planned: reason } of runs) if (typeof reason === 'string') reasons.set(reason, [...(reasons.get(reason) ?? []), file]);
  for (const [reason, files] of [...reasons].sort((a, b) => b[1].length - a[1].length).slice(0, 20))
    console.log(`  ${String(files.length).padStart(5)} ${reason} (${(isListed ? files : files.slice(0, 1)).join(', ')})`);
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`;
}
