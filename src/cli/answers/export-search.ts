import path from 'node:path';
import { applyLayout, headedFile } from '../../core/export/apply-layout';
import { editableFile, requireWritable } from '../../core/export/launchers/edit-launcher';
import { withSource } from '../../core/export/launchers/launch-settings';
import { remarkSeverity, type Remark } from '../../core/launchers/writing/remarks';
import { requirePlannable } from '../../core/export/slices/runs';
import { slicedRun } from '../../core/export/slices/searched-run';
import { findSliceRuntime } from '../../core/slice-runtimes/registry';
import { ExpectedError } from '../../core/errors';
import { formatCount, formatDuration, formatPercent, plural } from '../../core/format';
import { isApplied, isLauncher, launchers } from '../../core/launchers/registry';
import type { JudgedChange } from '../../core/checkpoints/judge';
import { checkpointRemedy, checkpointText, foundCheckpoint } from '../../core/rules/plan/checkpoint-findings';
import { checkpointJson } from '../../core/export/checkpoint-json';
import { searchJson } from '../../core/export/search-json';
import { namesRuntime } from '../../core/layout-search/abilities';
import { layoutText } from '../../core/layout-search/labels';
import { listPlans } from '../../core/layout-search/plans';
import { toPlanRequest } from '../../core/layout-search/request-of';
import type { FoundPlan, SearchResult } from '../../core/layout-search/result';
import { searchKeys, type SearchKey } from '../../core/domain/layout-choices';
import type { Run } from '../../core/run/run';
import { makePlan } from '../../core/planner/make-plan';
import { chosenCandidate, type Candidate } from '../../core/planner/plan';
import { usedText, verdictText } from '../../core/memory-model/verdict';
import type { ResolveDefaults } from '../../core/plan-request/scenario';
import { mostAssumedNodes } from '../../core/plan-request/first-layout';
import { noMachine, type Machine } from '../../core/plan-request/machine';
import { parseSetting } from '../../core/terapipe/overrides';
import { counted, say, sentence, type Sentence } from '../../core/sentence';
import { overridden } from '../../core/domain/located';
import type { PlanRequest } from '../../core/domain/request';
import { printable } from '../../core/text';
import { findingLine, printedFinding, printedRemark, type Answer } from '../answer';
import { settingsOfLine } from '../common-options';
import type { PlanSettings } from '../../core/export/settings-of-plan';
import { exportFormatNamed } from '../export-formats';
import { planRun, type Planned, requireRun } from '../../core/export/planned-config';
import { exitCodeFor } from '../planned';
import { readConfig, type ReadingOptions, type RunConfig } from '../read-config';
import type { Terminal } from '../terminal';
import { chosenLayout, type SearchChoice } from '../search-options';
import { outFile, writeOut } from '../write-file';
import { searchLayouts } from './search';

/** Largest difference between a file that is planned again and the layout that the search found. */
export const mostDifference = 0.005;
/** Layouts that are tried in a file, best first, before it is refused. */
const mostTried = 12;

/** What a search is asked to write. */
interface BestOptions {
  readonly reading: ReadingOptions;
  readonly defaults: ResolveDefaults;
  /** Choices that are searched though FILE sets them; null: as `toSearchProblem` has it. */
  readonly free: readonly SearchKey[] | null;
  /** A launcher to write a new file for; null: the file is edited. */
  readonly to: string | null;
  /** The layout to write; null: the best that can be written. */
  readonly choice: SearchChoice | null;
}

/** A layout that a file was written for, and what the file is when it is read and planned again. */
interface WrittenBest {
  readonly found: FoundPlan;
  /** Its name in a folder. */
  readonly name: string;
  readonly text: string;
  readonly gaps: readonly Remark[];
  /** The file planned again; null for a new file that leaves its model to another. */
  readonly again: Planned | null;
  /** Whether the checkpoint that the file loads survives the new layout; null: nothing is known of one. */
  readonly checkpoint: JudgedChange | null;
  /** What the file runs in place of the layout's own schedule and slices; null: those. */
  readonly runs: Pick<Candidate, 'name' | 'iterationMs'> | null;
  /** The machine to start the file on, where it does not set one; null: it does. */
  readonly startOn: Machine | null;
}

/** A layout that was not written, and why. */
interface TriedLayout {
  readonly found: FoundPlan;
  readonly why: Sentence;
}

interface BestFile {
  readonly result: SearchResult;
  /** Null: no layout that fits could be written. */
  readonly written: WrittenBest | null;
  readonly tried: readonly TriedLayout[];
}

/**
 * The best layout that a config's file can express, written into its text (or a new file of another launcher), read back with the files it
 * names and planned again: it takes as long as the search found, within `mostDifference`, and has no error.
 * @throws ExpectedError of the search, and `apply-not-this-file` where no file of that kind is edited.
 */
export async function bestFile(
  asked: RunConfig,
  options: BestOptions,
  watcher: Parameters<typeof searchLayouts>[3],
  texts: Map<string, string>,
): Promise<BestFile> {
  if (options.to === null) await requireEditable(asked);
  const config = { ...asked, run: runFor(asked.run, options.to) };
  const result = await searchedWhereItFits(config, options, watcher);
  requireGpus(config, result);
  const tried: TriedLayout[] = [];
  const layouts = options.choice === null ? fittingLayouts(result).slice(0, mostTried) : [chosenLayout(result, options.choice)];
  for (const found of layouts)
    try {
      return { result, written: await written(config, result, found, options, texts), tried };
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      tried.push({ found, why: error.what });
    }
  return { result, written: null, tried };
}

/** A run without a named runtime, as the launcher of a new file runs it; others as they are. */
function runFor(run: Run, to: string | null): Run {
  const sliced = findSliceRuntime(to ?? '');
  if (sliced !== undefined) {
    requirePlannable(run, sliced);
    return slicedRun(run, sliced);
  }
  const format = to === null ? undefined : exportFormatNamed(to).launcher;
  if (format === undefined || namesRuntime(run)) return run;
  const { traits, capabilities } = launchers[format];
  // a search assumes Megatron-LM already, and DeepSpeed's file leaves most of a layout to a script
  if (traits.runtime === 'megatron' || capabilities.setBy.tensor !== 'file') return run;
  return { ...run, capabilities, training: { ...run.training, runtime: overridden(traits.runtime) } };
}

/** The search of a run; without a number of nodes, on the fewest, doubled, that some layout fits. @throws as `searchLayouts`. */
async function searchedWhereItFits(
  config: RunConfig,
  { defaults, free }: BestOptions,
  watcher: Parameters<typeof searchLayouts>[3],
): Promise<SearchResult> {
  const searchedOn = (on: ResolveDefaults): Promise<SearchResult> => searchLayouts(config, on, { improvements: false, free }, watcher);
  const result = await searchedOn(defaults);
  const { nodes, groups, layout } = config.run;
  if (result.best.fits || [nodes, groups, layout.data].some((given) => given !== undefined)) return result;
  for (let more = 2 * result.request.cluster.nodes; more <= mostAssumedNodes; more *= 2)
    try {
      const larger = await searchedOn({ ...defaults, nodes: more });
      if (larger.best.fits) return larger;
    } catch (error) {
      // a batch that this number of replicas does not divide
      if (!(error instanceof ExpectedError)) throw error;
    }
  return result;
}

/** @throws ExpectedError `export-too-few-gpus` for a file that starts on fewer GPUs than its sizes take, which is never planned again. */
function requireGpus({ run: { place } }: RunConfig, { gpus, request: { cluster } }: SearchResult): void {
  const { nodes, gpusPerNode, groups } = cluster;
  if (groups !== undefined || gpus <= nodes * gpusPerNode) return;
  throw new ExpectedError(
    'export-too-few-gpus',
    sentence`The sizes of this file take ${formatCount(gpus)} GPUs, and it starts on ${formatCount(nodes * gpusPerNode)}`,
    sentence`start it on ${counted(Math.ceil(gpus / gpusPerNode), 'node')}, or give it smaller sizes`,
    place,
  );
}

/** @throws ExpectedError `apply-not-this-file` for a file that layouts are not written into, before anything is searched for it. */
async function requireEditable({ run: { format, place, capabilities }, launcher, reread }: RunConfig): Promise<void> {
  const editable = launcher === null || reread === null ? null : await editableFile(launcher, reread);
  if (editable !== null) requireWritable(editable);
  if (isApplied(format)) return;
  throw new ExpectedError(
    'apply-not-this-file',
    isLauncher(format)
      ? sentence`TeraPipe reads files of ${capabilities?.name ?? 'this launcher'}, and writes no layouts into them yet`
      : sentence`A model does not define a layout`,
    sentence`give --to megatron, or another launcher`,
    place,
  );
}

/** The layouts of an answer that fit: the best, then the others, fastest first. */
function fittingLayouts(result: SearchResult): readonly FoundPlan[] {
  const fitting = listPlans(result)
    .map(({ plan }) => plan)
    .filter(({ fits }) => fits);
  return [...fitting.filter((plan) => plan === result.best), ...fitting.filter((plan) => plan !== result.best)];
}

async function written(
  config: RunConfig,
  result: SearchResult,
  found: FoundPlan,
  options: BestOptions,
  texts: Map<string, string>,
): Promise<WrittenBest> {
  const { reading, to } = options;
  if (to !== null) return newFile(config, result, found, to, reading);
  const { run, launcher, reread } = config;
  const editable = launcher === null || reread === null ? null : await editableFile(launcher, reread);
  const applied = applyLayout({ run, editable }, result, found, result.launched, { startedElsewhere: true });
  const text = headedFile(run.format, applied.text, applied.remarks);
  const checkpoint = foundCheckpoint(config, run, toPlanRequest(result.request, found));
  return {
    found,
    name: path.basename(run.file),
    text,
    gaps: applied.remarks,
    checkpoint,
    runs: null,
    ...(await plannedAgain(config, result, { found, text }, options, texts)),
  };
}

/** Read back by the writer, with the plan's model where the launcher leaves it to its code. */
async function newFile(
  { launcher }: RunConfig,
  result: SearchResult,
  found: FoundPlan,
  to: string,
  { shell }: ReadingOptions,
): Promise<WrittenBest> {
  const plan = withSource(makePlan(toPlanRequest(result.request, found)), launcher);
  const { pieces, gaps, runs, fileName = to } = await exportFormatNamed(to).create(plan, [], shell);
  if (runs !== undefined && runs.schedule !== found.point.schedule)
    throw new ExpectedError('export-unsound', sentence`${to} does not run ${found.point.schedule}`, sentence`pick another layout`);
  return { found, name: fileName, text: [...pieces].join(''), gaps, again: null, checkpoint: null, runs: runs ?? null, startOn: null };
}

/**
 * The edited file, planned as it would be if it had been opened, with the profile and the measured step of the command line; on the GPUs
 * that were searched where it does not give how many.
 * @throws ExpectedError `export-unsound` for an error in it, and for another step than was found.
 */
async function plannedAgain(
  { run }: RunConfig,
  result: SearchResult,
  { found, text }: { readonly found: FoundPlan; readonly text: string },
  { reading, defaults }: BestOptions,
  texts: Map<string, string>,
): Promise<Pick<WrittenBest, 'again' | 'startOn'>> {
  const { nodes, gpusPerNode, groups } = result.request.cluster;
  const machine = reading.machine ?? noMachine;
  const asked = { ...machine, gpus: null, nodes, gpusPerNode };
  const sets = reading.sets.filter(isOfMachine);
  const planOn = async (on: Machine): Promise<Planned> => {
    const config = await readConfig({ file: run.file, text }, { ...reading, machine: on, sets }, texts);
    const again = { ...requireRun(config), ...(run.profile && { profile: run.profile }) };
    return planRun({ ...config, run: withRequestConstants(again, result.request) }, defaults);
  };
  const plain = await planOn(machine).catch((error: unknown) => {
    if (error instanceof ExpectedError && groups === undefined) return null;
    throw error;
  });
  if (plain !== null && describeDifference(plain, found) === null) return { again: plain, startOn: null };
  // only the file sets groups of nodes
  const again = plain !== null && groups !== undefined ? plain : await planOn(asked);
  const difference = describeDifference(again, found);
  if (difference !== null) throw new ExpectedError('export-unsound', difference, sentence`pick another layout`);
  return { again, startOn: asked };
}

/** A run on the machine of a request, where a measured step has corrected its constants. */
function withRequestConstants(run: Run, { calibration, cluster, constants }: PlanRequest): Run {
  if (calibration === undefined || cluster.groups !== undefined) return run;
  return {
    ...run,
    gpu: overridden(cluster.gpu),
    links: overridden(cluster.links),
    constants: Object.fromEntries(Object.entries(constants).map(([key, value]) => [key, overridden(value)])),
  };
}

/** Why a file that is planned again is not the layout that was found; null: it is. */
function describeDifference({ plan, findings }: Planned, found: FoundPlan): Sentence | null {
  const error = findings.find(({ severity }) => severity === 'error');
  if (error !== undefined) return sentence`the written file has an error: ${error.message} [${error.code}]`;
  const { iterationMs } = chosenCandidate(plan);
  const ratio = iterationMs / found.iterationMs;
  if (Math.abs(ratio - 1) <= mostDifference) return null;
  return sentence`the written file takes ${formatDuration(iterationMs)} a step, not ${formatDuration(found.iterationMs)} as found (${formatPercent(Math.abs(ratio - 1))} apart)`;
}

/**
 * Settings of what a launcher's file never sets: the machine and its constants. What the search decides is in the file, and a measured step
 * is of the layout before.
 */
function isOfMachine(set: string): boolean {
  const [section = '', name = ''] = parseSetting(set)?.key.split('.') ?? [];
  if (['calibration', 'layout', 'schedule', 'schedules', 'slicing'].includes(section)) return false;
  return section !== 'training' || !(searchKeys as readonly string[]).includes(name);
}

/** How `export --search` writes its file. */
interface BestTarget {
  /** A file or a folder. */
  readonly out: string;
  /** Replace a file that exists. */
  readonly write: boolean;
}

/** `terapipe export FILE --search --out PATH`. @throws ExpectedError as `bestFile`, `outFile` and `writeOut`. */
export async function exportBestAnswer(
  config: RunConfig,
  options: BestOptions,
  target: BestTarget,
  terminal: Terminal,
  texts: Map<string, string>,
): Promise<Answer> {
  const own = settingsOfLine({ sets: options.reading.sets, machine: options.reading.machine ?? noMachine });
  const best = await bestFile(config, options, terminal, texts);
  const { result, written: file, tried } = best;
  const passed = triedLines(tried);
  if (file === null) {
    for (const line of passed) terminal.err(`${line}\n`);
    return { json: { version: 1, written: null, ...bestJson(best, own) }, text: nothingWritten(result, options), exitCode: 1 };
  }
  const out = await outFile(target.out, file.name);
  await writeOut(out, file.text, target.write);
  for (const line of [...passed, ...remarksOn(config, file, out)]) terminal.err(`${line}\n`);
  for (const finding of file.again?.findings ?? []) terminal.err(`${findingLine(printedFinding(finding, texts))}\n`);
  const { found, checkpoint, runs } = file;
  if (checkpoint !== null)
    terminal.err(`${printable(`checkpoint: ${say(checkpointText(checkpoint))}; ${say(checkpointRemedy(checkpoint))}`)}\n`);
  const { name, iterationMs } = runs ?? found;
  const memory = `${usedText(found.verdict)}, ${say(verdictText(found.verdict))}`;
  const text = `Wrote ${printable(out)}: ${say(layoutText(found.point))}, ${say(name)}, ${formatDuration(iterationMs)} a step, ${memory}`;
  const exitCode = exitCodeFor(file.gaps.map((gap) => ({ severity: remarkSeverity(gap) })));
  return { json: { version: 1, written: out, ...bestJson(best, own) }, text, exitCode };
}

/** Layouts that were not written: each with the reason, or how many where all have the same. */
function triedLines(tried: readonly TriedLayout[]): readonly string[] {
  const reasons = new Set(tried.map(({ why }) => say(why)));
  const [only] = reasons;
  if (tried.length > 1 && reasons.size === 1 && only !== undefined)
    return [printable(`not written: ${plural(tried.length, 'layout')}: ${only}`)];
  return tried.map(({ found, why }) => printable(`not written: ${say(layoutText(found.point))}: ${say(why)}`));
}

/** Why no file is written. */
function nothingWritten({ best, gpus, request }: SearchResult, { choice }: BestOptions): string {
  if (!best.fits)
    return `No layout fits ${formatCount(gpus)} ${request.cluster.gpu.name}: ${say(layoutText(best.point))}, which needs the least memory, takes ${usedText(best.verdict)}`;
  return choice === null ? 'No layout that fits can be written into this file' : 'This layout cannot be written into this file';
}

/** What the written file leaves to whoever starts it. */
function remarksOn({ run }: RunConfig, { gaps, startOn }: WrittenBest, out: string): string[] {
  const isElsewhere = run.files.length > 1 && path.resolve(path.dirname(out)) !== path.resolve(path.dirname(run.file));
  return [
    ...gaps.map(printedRemark),
    ...(startOn === null
      ? []
      : [
          `warning: not written: the machine: start it on ${startOn.nodes} nodes of ${startOn.gpusPerNode} GPUs, and plan it with --nodes ${startOn.nodes}`,
        ]),
    ...(isElsewhere ? [`${out} names other files by paths from ${path.dirname(run.file)}: keep it there`] : []),
  ].map(printable);
}

function bestJson({ result, written: file, tried }: BestFile, own: PlanSettings): object {
  const planned = file?.again ?? null;
  const again = planned === null ? null : chosenCandidate(planned.plan);
  return {
    ...searchJson(result, own),
    export:
      file === null
        ? null
        : {
            layout: file.found.point.layout,
            schedule: file.found.point.schedule,
            iterationMs: (file.runs ?? file.found).iterationMs,
            plannedAgainMs: again?.iterationMs ?? null,
            nodes: file.startOn?.nodes ?? null,
            gaps: file.gaps.map((gap) => ({ what: say(gap.what), reason: say(gap.reason), severity: remarkSeverity(gap) })),
            ...checkpointJson(file.checkpoint),
          },
    refused: tried.map(({ found, why }) => ({ layout: say(layoutText(found.point)), iterationMs: found.iterationMs, why: say(why) })),
  };
}
