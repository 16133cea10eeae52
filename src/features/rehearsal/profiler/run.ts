import os from 'node:os';
import { CancelledError, ExpectedError } from '../../../core/errors';
import { formatBytes } from '../../../core/format';
import { lowMedian, maximum, median } from '../../../core/numbers';
import type { Plan } from '../../../core/planner/plan';
import { neededBytes, type RehearsalDesign, type Scale } from '../core/design';
import { clockFor, preparedRehearsal, type PreparedRehearsal, type RehearsalRoom } from '../core/prepare';
import type { GradientError } from '../core/gradient-error';
import { onClock } from '../core/clock';
import { medianStep, predictedStep, measuredTimeline, type Rehearsal } from '../core/result';
import { gridCells, rankedSchemes, schemesToRank, type RankedSchemes } from '../core/schemes';
import { say, sentence } from '../../../core/sentence';
import type { Schedule, Timeline } from '../../../core/schedules/schedule';
import type { Transfers } from '../../../core/schedules/simulate/transfers';
import type { ProviderName } from '../../../core/domain/profile';
import { usableShare } from '../../../profiler/memory';
import { distinctCells, runStages, measuredTransfers, type RanStep } from './running';

/** How and where to rehearse. */
interface RehearsalOptions {
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
interface Machine {
  readonly freeBytes: number;
  /** Processes that run at a time. */
  readonly cores: number;
}

/** The machine that this runs on, as it is now. */
function thisMachine(): Machine {
  return { freeBytes: Math.min(os.freemem(), process.availableMemory()), cores: os.availableParallelism() };
}

/** What a rehearsal may take of a machine. */
export function rehearsalRoom({ freeBytes, cores }: Machine = thisMachine()): RehearsalRoom {
  return { usableBytes: usableShare * freeBytes, cores };
}

/** `preparedRehearsal` for this machine. */
export function prepareRehearsal(
  plan: Plan,
  scale: Scale,
  { steps, clock }: Pick<RehearsalOptions, 'steps' | 'clock'>,
  machine?: Machine,
): PreparedRehearsal {
  return preparedRehearsal(plan, { scale, steps, clock }, rehearsalRoom(machine));
}

/** How far a rehearsal is. */
export interface RehearsalProgress {
  /** One line. */
  readonly doing: string;
  readonly fraction: number;
}

/** Times of each cell: their median makes the prediction. */
const rounds = 7;
/** The same of a grid of many cells. */
const gridRounds = 5;

/** A step whose passes waited for more than this share of their time is run again. */
const mayWait = 0.05;
/** Most steps that are run again, for each step that is asked for. */
const mostRepeats = 1;

/** What exists so far. */
interface Course {
  steps: readonly RanStep[];
  transfers: Transfers | undefined;
  repeatedSteps: number;
  workedMs: number | null;
  othersShare: number | null;
  measured: Timeline | null;
  predicted: Timeline | null;
  gradients: GradientError | null;
  lossError: number | null;
  transferMs: number | null;
  waitedShare: number | null;
  peakRssBytes: readonly number[];
  versions: Rehearsal['versions'];
  attention: string;
}

/** Shows how far something of several phases is. */
interface Progress {
  readonly begin: (phase: number, doing: string) => void;
  readonly passed: (passes: number) => void;
}

function createProgress(phases: number, passes: number, onProgress: RehearsalOptions['onProgress']): Progress {
  let [phase, doing, within] = [0, '', 0];
  const report = (): void => {
    onProgress({ doing, fraction: Math.min(1, (phase + Math.min(1, within)) / phases) });
  };
  return {
    begin(next, what) {
      [phase, doing, within] = [next, what, 0];
      report();
    },
    passed(count) {
      within = count / passes;
      report();
    },
  };
}

/**
 * Runs a plan's step on this machine: the unsliced one for its gradients, each pass by itself for the prediction, then the schedule.
 * @returns also where a process died or failed half way, with what was measured.
 * @throws CancelledError; ExpectedError `rehearsal-memory`, `rehearsal-cores`, `profiler-missing`, and what prevented the first step.
 */
export async function rehearse(design: RehearsalDesign, options: RehearsalOptions): Promise<Rehearsal> {
  const startedMs = options.now();
  const { clock, processStages } = processesFor(design, options);
  const course: Course = {
    steps: [],
    transfers: undefined,
    repeatedSteps: 0,
    workedMs: null,
    othersShare: null,
    measured: null,
    predicted: null,
    gradients: null,
    lossError: null,
    transferMs: null,
    waitedShare: null,
    peakRssBytes: [],
    versions: {},
    attention: '',
  };
  const error = await runSteps(design, options, processStages, course);
  return {
    design,
    status: error === null ? 'complete' : 'partial',
    error,
    processes: processStages.length,
    clock,
    provider: options.provider,
    ...course,
    memory: Array.from({ length: design.schedule.stages }, (_, stage) => ({
      stage,
      estimatedBytes: design.stageBytes[stage] ?? 0,
      peakRssBytes: clock === 'real' ? (course.peakRssBytes[stage] ?? null) : null,
    })),
    seconds: (options.now() - startedMs) / 1000,
  };
}

/** @returns what stopped it after something was measured, or null. */
async function runSteps(
  design: RehearsalDesign,
  options: RehearsalOptions,
  processStages: readonly (readonly number[])[],
  course: Course,
): Promise<string | null> {
  const { schedule, shape } = design;
  const progress = createProgress(3 + options.steps, schedule.kind.length, options.onProgress);
  progress.begin(0, 'loading ONNX Runtime');
  const stages = await runStages(design, processStages, largestBatch([schedule]), { ...options, onPassed: progress.passed });
  course.attention = stages.attention;
  course.versions = stages.versions;
  try {
    progress.begin(0, 'the unsliced step, for its loss and gradients');
    const reference = await stages.reference();
    progress.begin(1, 'each pass by itself, for the prediction');
    const cellTime = await stages.time(distinctCells([schedule]), rounds);
    progress.begin(2, 'a step to warm up');
    course.transfers = measuredTransfers(schedule, shape.hidden, await stages.step(schedule));
    course.predicted = predictedStep(schedule, cellTime, course.transfers);
    const most = options.steps * (1 + (processStages.length > 1 ? mostRepeats : 0));
    for (let index = 0; index < most && (index < options.steps || isDisturbed(course)); index++) {
      const again = index < options.steps ? '' : ', again: other work took the processor';
      progress.begin(3 + (index % options.steps), `step ${(index % options.steps) + 1} of ${options.steps}${again}`);
      keepStep(course, schedule, await stages.step(schedule), { expectedLoss: reference.loss, most: options.steps });
      course.peakRssBytes = stages.peakRssBytes();
    }
    return null;
  } catch (error) {
    if (course.steps.length === 0 || error instanceof CancelledError || !(error instanceof ExpectedError)) throw error;
    return `${error.message}; ${say(error.remedy)}`;
  } finally {
    await stages.close();
  }
}

function largestBatch(schedules: readonly Schedule[]): number {
  return maximum(schedules.flatMap(({ units }) => units.map(({ batch }) => batch)));
}

function isDisturbed({ waitedShare }: Course): boolean {
  return (waitedShare ?? 0) > mayWait;
}

/** Keeps a step, of more than `most` those that waited least. */
function keepStep(
  course: Course,
  schedule: Schedule,
  ran: RanStep,
  { expectedLoss, most }: { readonly expectedLoss: number; readonly most: number },
): void {
  const { gradients, transfers } = ran;
  const took = transfers.map(({ sentMs, arrivedMs }) => arrivedMs - sentMs);
  if (took.length > 0) course.transferMs = median(took);
  const all = [...course.steps, ran];
  const worst = maximum(all.map(({ waitedShare }) => waitedShare));
  const dropped = all.length > most ? all.findIndex(({ waitedShare }) => waitedShare === worst) : -1;
  if (dropped >= 0) course.repeatedSteps += 1;
  course.steps = all.filter((_, index) => index !== dropped);
  course.waitedShare = maximum(course.steps.map(({ waitedShare }) => waitedShare));
  course.othersShare = maximum(course.steps.map(({ othersShare }) => othersShare));
  course.workedMs = lowMedian(course.steps.map(({ workMs }) => onClock(schedule, workMs, course.transfers).makespanMs));
  const middle = medianStep(course.steps);
  course.measured = middle === null ? null : measuredTimeline(schedule, middle);
  course.gradients = worse(course.gradients, gradients);
  course.lossError = Math.max(course.lossError ?? 0, Math.abs(ran.loss - expectedLoss) / Math.abs(expectedLoss));
}

function worse(a: GradientError | null, b: GradientError | null): GradientError | null {
  if (a === null || b === null) return a ?? b;
  return b.error > a.error ? b : a;
}

/**
 * Runs the plan's schedule with several cuts of the sequence in turn, in the same processes: whether the fastest is the one that times of
 * single passes say. The sequence is cut at multiples of an eighth.
 * @throws as `rehearse`, also where a process ends half way; ExpectedError `rehearsal-unsliced` for schedules that run no slices.
 */
export async function rehearseSchemes(design: RehearsalDesign, options: RehearsalOptions): Promise<RankedSchemes> {
  const { processStages } = processesFor(design, options);
  const progress = createProgress(2 + options.steps, design.schedule.kind.length, options.onProgress);
  progress.begin(0, 'loading ONNX Runtime');
  const stages = await runStages(design, processStages, 1, { ...options, onPassed: progress.passed });
  try {
    progress.begin(0, 'the unsliced step, for its loss and gradients');
    await stages.reference();
    progress.begin(1, 'each pass by itself, for the predictions');
    const cellTime = await stages.time(gridCells(design), gridRounds);
    const schemes = schemesToRank(design, cellTime);
    const steps = schemes.map((): RanStep[] => []);
    for (let index = -1; index < options.steps; index++) {
      for (const [at, { name, schedule }] of schemes.entries()) {
        progress.begin(
          2 + Math.max(0, index),
          index < 0 ? `a step of ${name} to warm up` : `step ${index + 1} of ${options.steps}: ${name}`,
        );
        steps[at]?.push(await stages.step(schedule));
      }
    }
    return rankedSchemes(
      schemes.map((scheme, at) => {
        const [warmUp, ...measured] = steps[at] ?? [];
        const transfers = warmUp === undefined ? undefined : measuredTransfers(scheme.schedule, design.shape.hidden, warmUp);
        return {
          ...scheme,
          predictedMs: predictedStep(scheme.schedule, cellTime, transfers).makespanMs,
          waitedShare: maximum(measured.map(({ waitedShare }) => waitedShare)),
          stepMs: measured.map(({ makespanMs }) => makespanMs),
          workedStepMs: measured.map(({ workMs }) => onClock(scheme.schedule, workMs, transfers).makespanMs),
          gradients: measured.reduce((worst: GradientError | null, ran) => worse(worst, ran.gradients), null),
        };
      }),
    );
  } finally {
    await stages.close();
  }
}

/** Which stages run in which process. @throws ExpectedError `rehearsal-memory`, `rehearsal-cores`. */
function processesFor(
  design: RehearsalDesign,
  { machine = thisMachine(), clock: asked }: RehearsalOptions,
): { readonly clock: Rehearsal['clock']; readonly processStages: readonly (readonly number[])[] } {
  requireMemory(design, machine);
  const stages = Array.from({ length: design.schedule.stages }, (_, stage) => stage);
  const clock = clockFor(asked, stages.length, machine.cores);
  return { clock, processStages: clock === 'real' ? stages.map((stage) => [stage]) : [stages] };
}

function requireMemory(design: RehearsalDesign, { freeBytes }: Machine): void {
  const needed = neededBytes(design);
  if (needed <= usableShare * freeBytes) return;
  throw new ExpectedError(
    'rehearsal-memory',
    sentence`The rehearsal needs about ${formatBytes(needed)}, and ${formatBytes(freeBytes)} are free`,
    sentence`rehearse fewer layers, a narrower model or shorter sequences (--layers, --hidden, --sequence)`,
  );
}
