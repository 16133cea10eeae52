import { CancelledError, ExpectedError } from '../core/errors';
import { formatCount, formatNumber, formatPercent, plural } from '../core/format';
import { cellMs, firstCells, isSettled, nextCells, noiseWarnings, shuffled, snapped, stopReason } from '../core/measured-profile/design';
import type { Domain } from '../core/measured-profile/uncertainty';
import { fitErrors, fitPart } from '../core/measured-profile/fit';
import type { Cell, LaunchFloor, Profile, ProfilePart, Sample, SkippedCell } from '../core/domain/profile';
import type { ProfilerJob, TimedPart } from '../protocol/profiler';
import type { OpenProfiler } from './client';
import { say } from '../core/sentence';
import { append } from '../core/records';
import { maximum } from '../core/numbers';

/** What to measure. */
export interface MeasureTask {
  readonly title: string;
  readonly tensor: number;
  readonly job: ProfilerJob;
  /** Slices are multiples of this many tokens. */
  readonly unit: number;
  readonly budgetMs: number;
  /** Warnings known before measuring. */
  readonly warnings: readonly string[];
}

/** Progress of a measurement; `profile` has the samples and the fit so far. */
export interface MeasureProgress {
  readonly profile: Profile;
  /** One line: what is measured now and how sure the fit is. */
  readonly doing: string;
  readonly fraction: number;
}

/** Clock, progress and cancellation of a measurement. */
export interface MeasureHost {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: MeasureProgress) => void) | undefined;
  /** Milliseconds since some moment. */
  readonly clock: () => number;
  /** ISO 8601. */
  readonly now: () => string;
}

/** Times of one cell over the rounds so far: of its graphs, and of the graphs that only make their inputs. */
interface Entry {
  readonly part: TimedPart;
  readonly cell: Cell;
  readonly holdOut: boolean;
  /** It ran out of memory or failed: never run again. */
  skipped: boolean;
  /** Rounds it gets at least. */
  leastRounds: number;
  readonly forward: { readonly ms: number[]; readonly inputsMs: number[] };
  readonly backward: { readonly ms: number[]; readonly inputsMs: number[] };
}

/** Everything known so far. Only grows. */
interface Course {
  readonly entries: Entry[];
  readonly skipped: SkippedCell[];
  /** The reference cell, one time a round, forward and backward together. */
  readonly referenceMs: number[];
  readonly warnings: string[];
  launches: LaunchFloor | null;
  /** Of all runs: what the processor worked, and what they waited for it, ms. */
  workMs: number;
  waitedMs: number;
  readonly startedMs: number;
  readonly measuredAt: string;
}

/** Cells added at a time once all are settled: enough to keep noise from hitting only one of them. */
const cellsAtATime = 4;
/** Rounds when all cells are measured again. */
const secondPassRounds = 4;
/**
 * Passes over the whole table that a budget must hold: rounds, hold-out and context cells (about 14 whole-sequence times each of 4 rounds).
 */
const passesInBudget = 60;
const seed = 20231;

type Profiler = Pick<OpenProfiler, 'provider' | 'device' | 'attention' | 'versions' | 'tf32' | 'warnings' | 'measure' | 'placement'>;

/**
 * Measures a layer and the ends of the model: cells take turns in random order (interleaved rounds, of each cell the faster half), new
 * cells where the fit is least sure, until the mean error on the hold-out cells is under the paper's 2 % or the budget is spent. Whatever
 * stops it (a dead child, cancelling), it returns the profile with the samples so far, `partial` with the reason.
 *
 * @param startedMs when the budget began to run: opening the provider counts.
 * @throws nothing but bugs; a profile without samples is possible.
 */
export async function measureProfile(profiler: Profiler, task: MeasureTask, host: MeasureHost, startedMs = host.clock()): Promise<Profile> {
  const course: Course = {
    entries: [],
    skipped: [],
    referenceMs: [],
    warnings: [...task.warnings, ...profiler.warnings],
    launches: null,
    workMs: 0,
    waitedMs: 0,
    startedMs,
    measuredAt: host.now(),
  };
  try {
    await run(profiler, task, host, course);
    return assembleProfile(profiler, task, host, course, shortage(course));
  } catch (error) {
    if (error instanceof CancelledError) return assembleProfile(profiler, task, host, course, 'cancelled');
    if (error instanceof ExpectedError) return assembleProfile(profiler, task, host, course, `${error.message}; ${say(error.remedy)}`);
    throw error;
  }
}

/** Why a measurement that was not stopped is still not enough. */
function shortage(course: Course): string | null {
  if (fitPart(layerSamples(course)) !== null) return null;
  const [first] = course.skipped;
  return first === undefined ? 'too few slices were measured in the time there was' : `no slices could be run (${first.detail})`;
}

async function run(profiler: Profiler, task: MeasureTask, host: MeasureHost, course: Course): Promise<void> {
  const { limits } = task.job;
  const domain: Domain = {
    unit: task.unit,
    sequence: limits.sequence,
    tokens: await affordableTokens(profiler, task, host, course),
    batches: batchesFor(profiler, limits.batch),
  };
  const { fit, holdOut } = firstCells(domain, seed);
  const add = (part: TimedPart, cells: readonly Cell[], kept = false): void => {
    for (const cell of cells) if (find(course, part, cell) === undefined) course.entries.push(createEntry(part, cell, kept));
  };
  // Timed once every round, to see noise and drift.
  const reference = createEntry('layer', { batch: 1, tokens: snapped(task.unit, domain.tokens / 4), context: 0 }, false);
  course.entries.push(reference);
  add('layer', fit);
  add('layer', holdOut, true);
  add('layers2', [reference.cell]);
  if (task.job.shape.vocab > 0) for (const part of ['embedding', 'head'] as const) add(part, endCells(domain));
  const placement = await profiler.placement();
  course.launches = placement.launches;
  append(course.warnings, placement.warnings);

  for (let round = 0, looks = 0; ; round++) {
    const active = course.entries.filter((entry) => needsMore(entry));
    if (active.length === 0) {
      if (stopReason(measureProgress(course, task, host)) !== null) return;
      // Every other time all cells get another chance before more are added: those that were timed while the machine was slow fall in line
      // with the rest.
      if (looks++ % 2 === 0) {
        for (const entry of course.entries) if (entry.part === 'layer') entry.leastRounds = countRounds(entry) + secondPassRounds;
        continue;
      }
      const skipped = course.skipped.filter(({ part }) => part === 'layer');
      const cells = nextCells(domain, layerSamples(course), skipped, cellsAtATime);
      if (cells.length === 0) {
        course.warnings.push(
          'Every slice that could improve the fit was measured, and the error is still over 2 %: the times of this device do not follow a smooth curve',
        );
        return;
      }
      add('layer', cells);
      continue;
    }
    for (const entry of shuffled([...new Set([...active, reference])], seed + round)) {
      if (isSpent(task, host, course)) {
        course.warnings.push(budgetWarning(course, task));
        return;
      }
      await measureOnce(profiler, entry, course);
      if (entry === reference && !entry.skipped) course.referenceMs.push(last(entry.forward.ms) + last(entry.backward.ms));
    }
    report(profiler, task, host, course, active.length);
  }
}

/** Batch sizes to measure: on a CPU, which is full with one sequence, two are enough. */
function batchesFor({ device }: Profiler, largest: number): number[] {
  const batch = device.kind === 'gpu' ? largest : Math.min(2, largest);
  return batch > 1 ? [1, batch] : [1];
}

/**
 * The longest slice whose table fits the budget: halved from the limit until `passesInBudget` passes would. Contexts stay as long as the
 * sequence, since short slices at long contexts are cheap.
 */
async function affordableTokens(profiler: Profiler, task: MeasureTask, host: MeasureHost, course: Course): Promise<number> {
  const { tokens } = task.job.limits;
  const probe = createEntry('layer', { batch: 1, tokens: Math.min(tokens, snapped(task.unit, 64)), context: 0 }, false);
  report(profiler, task, host, course, 1);
  for (let times = 0; times < 2 && !isSpent(task, host, course); times++) await measureOnce(profiler, probe, course);
  if (probe.skipped || countRounds(probe) === 0) return tokens;
  const msPerToken = totalMs(probe) / probe.cell.tokens;
  let longest = tokens;
  while (longest > 4 * task.unit && longest * msPerToken * passesInBudget > task.budgetMs) longest = snapped(task.unit, longest / 2);
  if (longest < tokens)
    course.warnings.push(
      `Slices longer than ${formatCount(longest)} tokens were not measured, to stay in ${formatNumber(task.budgetMs / 1000)} s; they are extrapolated`,
    );
  return longest;
}

function isSpent(task: MeasureTask, host: MeasureHost, course: Course): boolean {
  return host.clock() - course.startedMs > task.budgetMs;
}

async function measureOnce(profiler: Profiler, entry: Entry, course: Course): Promise<void> {
  if (entry.skipped) return;
  const answer = await profiler.measure(entry.part, entry.cell);
  if (answer.type === 'skipped') {
    const { reason, detail } = answer;
    entry.skipped = true;
    if (entry.part !== 'layers2') course.skipped.push({ ...entry.cell, part: entry.part, reason, detail });
    return;
  }
  course.workMs += answer.workMs;
  course.waitedMs += answer.waitedMs;
  entry.forward.ms.push(answer.forwardMs);
  entry.forward.inputsMs.push(answer.forwardInputsMs);
  entry.backward.ms.push(answer.backwardMs);
  entry.backward.inputsMs.push(answer.backwardInputsMs);
}

/**
 * Time of the graph less that of making its inputs. Each by itself: a burst of noise on the inputs of one round must not make the slice
 * look fast. Never below a tenth.
 */
function sliceMs({ ms, inputsMs }: Entry['forward']): number {
  const whole = cellMs(ms);
  return Math.max(whole - cellMs(inputsMs), whole / 10);
}

/** Cells that the fit sees and cells it does not get rounds by the same rule: more for one kind would bend its minima down. */
function needsMore(entry: Entry): boolean {
  if (entry.skipped) return false;
  if (countRounds(entry) < entry.leastRounds) return true;
  return !isSettled(entry.forward.ms) || !isSettled(entry.backward.ms);
}

/**
 * Lengths at which the embedding and the head are timed: few, since their cost has no context, is near to linear, and a head costs as much
 * as several layers.
 */
function endCells({ unit, tokens }: Domain): Cell[] {
  const lengths = [unit, tokens / 16, tokens / 4].map((length) => snapped(unit, length));
  return [...new Set(lengths)].map((length) => ({ batch: 1, tokens: length, context: 0 }));
}

function budgetWarning(course: Course, task: MeasureTask): string {
  const open = course.entries.filter((entry) => needsMore(entry)).length;
  return `Stopped after ${formatNumber(task.budgetMs / 1000)} s with ${plural(open, 'cell')} not measured often enough; a larger budget makes it surer`;
}

function report(profiler: Profiler, task: MeasureTask, host: MeasureHost, course: Course, active: number): void {
  if (host.onProgress === undefined) return;
  const profile = assembleProfile(profiler, task, host, course, null);
  const spent = (host.clock() - course.startedMs) / task.budgetMs;
  const errors =
    profile.errors === null
      ? ''
      : `, error ${formatNumber(profile.errors.forward.meanPercent)} % forward, ${formatNumber(profile.errors.backward.meanPercent)} % backward`;
  host.onProgress({
    profile,
    doing: `${plural(profile.samples.layer.length, 'slice')} measured, ${formatCount(active)} in this round${errors}`,
    fraction: Math.min(1, spent),
  });
}

function measureProgress(course: Course, task: MeasureTask, host: MeasureHost) {
  const samples = layerSamples(course);
  const fit = fitPart(samples);
  return { errors: fit === null ? null : fitErrors(fit, samples), samples, spent: (host.clock() - course.startedMs) / task.budgetMs };
}

function assembleProfile(profiler: Profiler, task: MeasureTask, host: MeasureHost, course: Course, error: string | null): Profile {
  const samples = { layer: layerSamples(course), embedding: partSamples(course, 'embedding'), head: partSamples(course, 'head') };
  const layer = fitPart(samples.layer);
  const { job } = task;
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: error === null ? 'complete' : 'partial',
    error,
    measuredAt: course.measuredAt,
    source: 'onnxruntime',
    device: profiler.device,
    provider: profiler.provider,
    versions: profiler.versions,
    title: task.title,
    tensor: task.tensor,
    shape: job.shape,
    precision: job.precision,
    tf32: profiler.tf32,
    launches: course.launches,
    sequenceLength: Math.max(0, maximum(samples.layer.map(({ tokens, context }) => tokens + context))),
    largestBatch: Math.max(1, maximum(samples.layer.map(({ batch }) => batch))),
    attention: profiler.attention,
    threads: job.threads,
    samples,
    skipped: course.skipped,
    twoLayerRatio: twoLayerRatio(course),
    fit: layer === null ? null : { layer, embedding: fitPart(samples.embedding), head: fitPart(samples.head) },
    errors: layer === null ? null : fitErrors(layer, samples.layer),
    seconds: (host.clock() - course.startedMs) / 1000,
    warnings: [...course.warnings, ...waitWarnings(course), ...noiseWarnings(course.referenceMs), ...layerWarnings(twoLayerRatio(course))],
  };
}

/** Above this share of waiting, what others do to the caches shows in times of the processor, too. */
const mayWait = 0.05;

function waitWarnings({ workMs, waitedMs }: Course): string[] {
  const share = waitedMs / (workMs + waitedMs);
  if (!(share > mayWait)) return [];
  return [
    `Other work took the processor for ${formatPercent(share)} of the time: slices count their own processor time, but others used its caches meanwhile; measure again on an idle machine`,
  ];
}

/** A stage is planned as its layers times one: a warning when two layers, whose weights share the caches, take a tenth more or less. */
function layerWarnings(ratio: number | null): string[] {
  if (ratio === null || Math.abs(ratio / 2 - 1) <= 0.1) return [];
  return [`Two layers take ${formatNumber(ratio)} times as long as one, not twice: a stage of many layers will be off by as much`];
}

function twoLayerRatio(course: Course): number | null {
  const two = course.entries.find((entry) => entry.part === 'layers2' && countRounds(entry) > 0);
  const one = two === undefined ? undefined : find(course, 'layer', two.cell);
  if (two === undefined || one === undefined || countRounds(one) === 0) return null;
  return totalMs(two) / totalMs(one);
}

function totalMs({ forward, backward }: Entry): number {
  return sliceMs(forward) + sliceMs(backward);
}

function countRounds({ forward }: Entry): number {
  return forward.ms.length;
}

function layerSamples(course: Course): Sample[] {
  return partSamples(course, 'layer');
}

function partSamples({ entries }: Course, part: ProfilePart): Sample[] {
  return entries.filter((entry) => entry.part === part && countRounds(entry) > 0).map(toSample);
}

function toSample(entry: Entry): Sample {
  const { cell, holdOut, forward, backward } = entry;
  return { ...cell, forwardMs: sliceMs(forward), backwardMs: sliceMs(backward), rounds: countRounds(entry), holdOut };
}

function createEntry(part: TimedPart, cell: Cell, holdOut: boolean): Entry {
  return { part, cell, holdOut, skipped: false, leastRounds: 0, forward: { ms: [], inputsMs: [] }, backward: { ms: [], inputsMs: [] } };
}

function find({ entries }: Course, part: TimedPart, cell: Cell): Entry | undefined {
  return entries.find((entry) => entry.part === part && sameCell(entry.cell, cell));
}

function sameCell(a: Cell, b: Cell): boolean {
  return a.batch === b.batch && a.tokens === b.tokens && a.context === b.context;
}

function last(values: readonly number[]): number {
  return values.at(-1) ?? 0;
}
