import os from 'node:os';
import { CancelledError, ExpectedError } from '../core/errors';
import { formatBytes, plural } from '../core/format';
import { median, sum } from '../core/numbers';
import { say } from '../core/sentence';
import type { Plan } from '../core/planner/plan';
import { fittingDesign, neededBytes, type RehearsalDesign, type Scale } from '../core/rehearsal/design';
import { rehearsalMs, splitsBackward, stageBytes } from '../core/rehearsal/estimate';
import { onClock } from '../core/rehearsal/clock';
import type { GradientError } from '../core/rehearsal/gradient-error';
import { medianStep, predictedStep, timelineOf, type CellTime, type Rehearsal, type StepRun } from '../core/rehearsal/result';
import { unslicedSchedule } from '../core/rehearsal/unsliced';
import { memoized } from '../core/memoized';
import type { Schedule } from '../core/schedules/schedule';
import type { Transfers } from '../core/schedules/simulate/transfers';
import type { Cell, ProviderName } from '../core/spec/profile';
import type { ProfilerJob } from '../protocol/profiler';
import type { CellTimes, RehearsalReply } from '../protocol/rehearsal';
import { usableShare } from './memory';
import { startStageProcesses, type StageProcesses } from './rehearsal/processes';

/** How and where to rehearse. */
export interface RehearsalOptions {
  /** The bundled child, `dist/profiler.js`. */
  readonly childFile: string;
  readonly provider: ProviderName;
  readonly libraryPath: readonly string[];
  /** Null: real where the machine has a core for each stage. */
  readonly clock: Rehearsal['clock'] | null;
  /** Measured steps. */
  readonly steps: number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds since some moment. */
  readonly now: () => number;
  readonly onProgress: (progress: RehearsalProgress) => void;
  /** Free memory of the machine, and how many processes it runs at a time; tests pass their own. */
  readonly machine?: Machine;
}

/** What there is to run on. */
export interface Machine {
  readonly freeBytes: number;
  /** Processes that run at a time. */
  readonly cores: number;
}

/** The machine that this runs on, as it is now. */
function thisMachine(): Machine {
  return { freeBytes: Math.min(os.freemem(), process.availableMemory()), cores: os.availableParallelism() };
}

/**
 * What a rehearsal of a plan would run here, and how long that may take: with as many of the model's layers as fit, where `scale` does not
 * say.
 * @throws ExpectedError as `designRehearsal`.
 */
export function prepareRehearsal(
  plan: Plan,
  scale: Scale,
  { steps, clock }: Pick<RehearsalOptions, 'steps' | 'clock'>,
  machine = thisMachine(),
): { readonly design: RehearsalDesign; readonly estimatedMs: number } {
  const design = fittingDesign(plan, scale, usableShare * machine.freeBytes);
  const { stages } = design.schedule;
  const beside = clockFor(clock, stages, machine.cores) === 'real' ? stages : 1;
  return { design, estimatedMs: rehearsalMs(design, steps, beside) };
}

/** How far a rehearsal is. */
export interface RehearsalProgress {
  /** One line. */
  readonly doing: string;
  readonly fraction: number;
}

/** Times of each cell: their median makes the prediction. */
const rounds = 5;
/** Longest wait for one answer. */
const limitMs = 30 * 60_000;

type Stepped = Extract<RehearsalReply, { readonly type: 'stepped' }>;

/** What is there so far. */
interface Course {
  readonly steps: StepRun[];
  measured: Rehearsal['measured'];
  predicted: Rehearsal['predicted'];
  gradients: GradientError | null;
  lossError: number | null;
  transferMs: number | null;
  peakRssBytes: readonly number[];
  versions: Rehearsal['versions'];
  attention: string;
}

/**
 * Runs a plan's step on this machine: the unsliced one for its gradients, each pass alone for the prediction, then the schedule.
 * @returns also where a process died or failed half way, with what was measured.
 * @throws CancelledError; ExpectedError `rehearsal-memory`, `rehearsal-cores`, `profiler-missing`, and what prevented the first step.
 */
export async function rehearse(design: RehearsalDesign, options: RehearsalOptions): Promise<Rehearsal> {
  const machine = options.machine ?? thisMachine();
  const { stages } = design.schedule;
  const estimated = Array.from({ length: stages }, (_, stage) => stageBytes(design, stage));
  requireMemory(design, machine);
  const clock = clockFor(options.clock, stages, machine.cores);
  const startedMs = options.now();
  const stagesOf = clock === 'real' ? estimated.map((_, stage) => [stage]) : [estimated.map((_, stage) => stage)];
  const course: Course = {
    steps: [],
    measured: null,
    predicted: null,
    gradients: null,
    lossError: null,
    transferMs: null,
    peakRssBytes: [],
    versions: {},
    attention: '',
  };
  const error = await run(design, options, stagesOf, course);
  return {
    design,
    status: error === null ? 'complete' : 'partial',
    error,
    processes: stagesOf.length,
    clock,
    provider: options.provider,
    ...course,
    memory: estimated.map((estimatedBytes, stage) => ({
      stage,
      estimatedBytes,
      peakRssBytes: clock === 'real' ? (course.peakRssBytes[stage] ?? null) : null,
    })),
    seconds: (options.now() - startedMs) / 1000,
  };
}

/** @returns what stopped it after something was measured, or null. */
async function run(
  design: RehearsalDesign,
  options: RehearsalOptions,
  stagesOf: readonly (readonly number[])[],
  course: Course,
): Promise<string | null> {
  const { schedule } = design;
  const total = 3 + options.steps;
  let [phase, doing] = [0, ''];
  const passed = stagesOf.map(() => 0);
  const report = (): void => {
    const within = sum(passed) / schedule.kind.length;
    options.onProgress({ doing, fraction: Math.min(1, (phase + Math.min(1, within)) / total) });
  };
  const begin = (at: number, what: string): void => {
    [phase, doing] = [at, what];
    passed.fill(0);
    report();
  };
  const processes = await startStageProcesses(stagesOf, {
    ...options,
    limitMs,
    onPassed: (index, passes) => {
      passed[index] = passes;
      report();
    },
  });
  try {
    begin(0, 'loading ONNX Runtime');
    await open(design, options.provider, stagesOf, processes, course);
    begin(0, 'the unsliced step, for its loss and gradients');
    const reference = merged(await step(processes, stagesOf, unslicedSchedule(schedule), 'reference', course));
    begin(1, 'each pass alone, for the prediction');
    const timeOf = await timed(design, stagesOf, processes, course);
    for (let index = -1; index < options.steps; index++) {
      begin(3 + index, index < 0 ? 'a step to warm up' : `step ${index + 1} of ${options.steps}`);
      const replies = await step(processes, stagesOf, schedule, 'compared', course);
      if (index < 0) course.predicted = predictedStep(schedule, timeOf, transfersOf(design, replies));
      else keepStep(course, schedule, replies, stagesOf.length === 1, reference.loss);
    }
    return null;
  } catch (error) {
    if (course.steps.length === 0 || error instanceof CancelledError || !(error instanceof ExpectedError)) throw error;
    return `${error.message}; ${say(error.remedy)}`;
  } finally {
    await processes.close();
  }
}

async function open(
  design: RehearsalDesign,
  provider: ProviderName,
  stagesOf: readonly (readonly number[])[],
  processes: StageProcesses,
  course: Course,
): Promise<void> {
  const { chunks, tokens, batch, tied, schedule } = design;
  const split = splitsBackward(schedule);
  const replies = await processes.ask(
    stagesOf.map((stages) => ({
      type: 'open' as const,
      provider,
      step: { job: jobOf(design), chunks, tokens, batch, tied },
      split,
      stages: [...stages],
      addresses: [...processes.addresses],
    })),
    'opened',
  );
  const [first] = replies;
  course.attention = first?.attention ?? '';
  course.versions = { onnxruntime: first?.onnxruntime ?? 'unknown', node: process.version, os: `${os.type()} ${os.release()}` };
}

function jobOf({ shape, keepsProbabilities, schedule, tokens }: RehearsalDesign): ProfilerJob {
  return {
    shape,
    precision: 'fp32',
    gradAccumulationFp32: true,
    attention: keepsProbabilities ? 'plain' : 'fused',
    threads: 1,
    limits: { batch: Math.max(...schedule.units.map(({ batch }) => batch)), tokens, sequence: tokens },
  };
}

/** Each pass of the schedule alone, all processes at work beside each other: the median of its rounds. */
async function timed(
  { schedule }: RehearsalDesign,
  stagesOf: readonly (readonly number[])[],
  processes: StageProcesses,
  course: Course,
): Promise<CellTime> {
  const cells = [
    ...new Map(
      schedule.units.map(({ batch, tokens, context }) => [keyOf({ batch, tokens, context }), { batch, tokens, context }]),
    ).values(),
  ];
  const chunks = Array.from(schedule.stageOfChunk, (stage, chunk) => ({ stage, chunk }));
  const split = splitsBackward(schedule);
  const replies = await processes.ask(
    stagesOf.map((own) => ({ type: 'time' as const, cells, chunks: chunks.filter(({ stage }) => own.includes(stage)), split, rounds })),
    'timed',
  );
  course.peakRssBytes = replies.map(({ peakRssBytes }) => peakRssBytes);
  const times = new Map<string, CellTimes>(
    replies.flatMap(({ cells: all }) => all.map((each) => [`${each.chunk} ${keyOf(each.cell)}`, each])),
  );
  return (chunk, cell, kind) => {
    const ms = times.get(`${chunk} ${keyOf(cell)}`)?.ms[kind] ?? [];
    return ms.length === 0 ? null : median(ms);
  };
}

function keyOf({ batch, tokens, context }: Cell): string {
  return `${batch},${tokens},${context}`;
}

async function step(
  processes: StageProcesses,
  stagesOf: readonly (readonly number[])[],
  schedule: Schedule,
  keep: 'reference' | 'compared',
  course: Course,
): Promise<readonly Stepped[]> {
  const replies = await processes.ask(
    stagesOf.map(() => ({ type: 'step' as const, schedule, keep })),
    'stepped',
  );
  course.peakRssBytes = replies.map(({ peakRssBytes }) => peakRssBytes);
  return replies;
}

/** Times of all processes together, from the first start on. */
function merged(replies: readonly Stepped[]): StepRun {
  const [first] = replies;
  if (first === undefined) throw new Error('no process answered');
  const columnOf = (key: 'startMs' | 'endMs'): Float64Array =>
    first[key].map((_, row) => replies.map((reply) => reply[key][row] ?? NaN).find((ms) => !Number.isNaN(ms)) ?? NaN);
  const [startMs, endMs] = [columnOf('startMs'), columnOf('endMs')];
  const fromMs = startMs.reduce((least, ms) => Math.min(least, ms), Infinity);
  const shifted = (ms: number): number => ms - fromMs;
  const ends = endMs.map(shifted);
  return {
    startMs: startMs.map(shifted),
    endMs: ends,
    makespanMs: ends.reduce((most, ms) => Math.max(most, ms), 0),
    loss: sum(replies.map(({ loss }) => loss)),
  };
}

function keepStep(course: Course, schedule: Schedule, replies: readonly Stepped[], inTurn: boolean, expectedLoss: number): void {
  keepTransfers(course, replies);
  const ran = merged(replies);
  const timeline = inTurn
    ? onClock(
        schedule,
        ran.endMs.map((ms, row) => ms - (ran.startMs[row] ?? 0)),
      )
    : null;
  course.steps.push(timeline === null ? ran : { ...timeline, loss: ran.loss });
  const median = medianStep(course.steps);
  course.measured = median === null ? null : timelineOf(schedule, median);
  for (const { error } of replies) {
    if (error === null) continue;
    if (course.gradients === null || error.error > course.gradients.error) course.gradients = error;
  }
  course.lossError = Math.max(course.lossError ?? 0, Math.abs(ran.loss - expectedLoss) / Math.abs(expectedLoss));
}

/** What handing on a unit takes between processes: the median of what as many bytes took, from a step that counts for nothing else. */
function transfersOf({ schedule, shape }: RehearsalDesign, replies: readonly Stepped[]): Transfers {
  const bySize = new Map<number, number[]>();
  for (const { bytes, sentMs, arrivedMs } of replies.flatMap(({ transfers }) => transfers))
    memoized(bySize, bytes, () => []).push(arrivedMs - sentMs);
  const ms = Float64Array.from(schedule.units, ({ batch, tokens }) => {
    const took = bySize.get(Float32Array.BYTES_PER_ELEMENT * batch * tokens * shape.hidden) ?? [];
    return took.length === 0 ? 0 : median(took);
  });
  return { forwardMs: ms, backwardMs: ms, mode: 'edge' };
}

/** Of all that came from other processes. */
function keepTransfers(course: Course, replies: readonly Stepped[]): void {
  const all = replies.flatMap(({ transfers }) => transfers.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs));
  if (all.length > 0) course.transferMs = median(all);
}

function requireMemory(design: RehearsalDesign, { freeBytes }: Machine): void {
  const needed = neededBytes(design);
  if (needed <= usableShare * freeBytes) return;
  throw new ExpectedError(
    'rehearsal-memory',
    `The rehearsal needs about ${formatBytes(needed)}, and ${formatBytes(freeBytes)} are free`,
    'rehearse fewer layers, a narrower model or shorter sequences (--layers, --hidden, --sequence)',
  );
}

function clockFor(asked: Rehearsal['clock'] | null, stages: number, cores: number): Rehearsal['clock'] {
  if (asked === 'real' && stages > cores)
    throw new ExpectedError(
      'rehearsal-cores',
      `${plural(stages, 'stage')} cannot run beside each other on ${plural(cores, 'core')}`,
      'rehearse on the virtual clock (--clock virtual), or fewer stages (--stages)',
    );
  return asked ?? (stages > 1 && stages <= cores ? 'real' : 'virtual');
}
