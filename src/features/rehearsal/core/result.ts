import { lowMedian } from '../../../core/numbers';
import { operationKind, type OperationKind, type Schedule, type Timeline } from '../../../core/schedules/schedule';
import type { Transfers } from '../../../core/schedules/simulate/transfers';
import type { Cell, ProviderName } from '../../../core/domain/profile';
import { onClock } from './clock';
import type { RehearsalDesign } from './design';
import type { GradientError } from './gradient-error';

/** One step as it ran. */
export interface StepRun {
  /** By row of the schedule, ms from the first start on. */
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  /** By row, without what it waited for the processor. */
  readonly workMs: Float64Array;
  readonly makespanMs: number;
  readonly loss: number;
}

/** Of the process of a stage, bytes; several stages in one process share a peak. */
interface StageMemory {
  readonly stage: number;
  readonly estimatedBytes: number;
  readonly peakRssBytes: number | null;
}

/** What a rehearsal found. Plain data with typed arrays. Times in ms. */
export interface Rehearsal {
  readonly design: RehearsalDesign;
  /** `partial`: something stopped it; `error` is the reason, and what was measured until then is kept. */
  readonly status: 'complete' | 'partial';
  readonly error: string | null;
  readonly processes: number;
  /** `real`: stages ran in parallel; `virtual`: one after the other, and their times were put on the schedule's clock. */
  readonly clock: 'real' | 'virtual';
  readonly provider: ProviderName;
  readonly versions: Readonly<Record<string, string>>;
  /** Operator that ran the attention. */
  readonly attention: string;
  readonly steps: readonly StepRun[];
  /** The step of the median length, and the one that the profile predicts; null where it was stopped before. */
  readonly measured: Timeline | null;
  readonly predicted: Timeline | null;
  readonly gradients: GradientError | null;
  /** Difference of the losses over that of the unsliced step. */
  readonly lossError: number | null;
  /** Measured one way between processes, median, ms; null where there is one process. */
  readonly transferMs: number | null;
  /** What passes waited for the processor, which had other work, as a share of their time: the most of all steps. */
  readonly waitedShare: number | null;
  /** What other programs took of all cores meanwhile, as a share: the most of all steps. */
  readonly othersShare: number | null;
  /** Steps that were run again because other work took the processor, and do not count. */
  readonly repeatedSteps: number;
  /** What the step would take had its passes not waited for the processor: their own work on the schedule's clock, median. */
  readonly workedMs: number | null;
  readonly memory: readonly StageMemory[];
  readonly seconds: number;
}

/** A pass, measured and predicted, ms. */
interface RehearsedOperation {
  readonly stage: number;
  readonly chunk: number;
  readonly kind: OperationKind;
  readonly microBatch: number;
  readonly slice: number;
  readonly tokens: number;
  readonly context: number;
  readonly startMs: number;
  readonly endMs: number;
  /** Without what it waited for the processor. */
  readonly workMs: number;
  readonly predictedStartMs: number;
  readonly predictedEndMs: number;
}

/** Passes of a stage, measured and predicted together. */
interface RehearsedStage {
  readonly stage: number;
  readonly passes: number;
  readonly busyMs: number;
  /** Without what they waited for the processor. */
  readonly workMs: number;
  readonly predictedBusyMs: number;
}

/** Where the prediction of a step is off: shares, 0.1 is 10 % longer than predicted. */
interface RehearsalErrors {
  /** Of the step. */
  readonly step: number;
  /** Of the step, had its passes not waited for the processor. */
  readonly worked: number | null;
  /** Of what the stages compute, together: the profile's. */
  readonly profile: number;
  /** What is left where the measured passes are put on the schedule's clock; null on a virtual clock, which puts them there. */
  readonly schedule: number | null;
}

/** Measured and predicted, where both exist. */
export interface RehearsalComparison {
  readonly measured: Timeline;
  readonly predicted: Timeline;
  readonly operations: readonly RehearsedOperation[];
  readonly stages: readonly RehearsedStage[];
  readonly errors: RehearsalErrors;
}

/** The step of the median length. */
export function medianStep(steps: readonly StepRun[]): StepRun | null {
  const median = lowMedian(steps.map(({ makespanMs }) => makespanMs));
  return steps.find(({ makespanMs }) => makespanMs === median) ?? null;
}

/** The rows of a schedule at the times of a step. */
export function measuredTimeline(schedule: Schedule, { startMs, endMs, makespanMs }: StepRun): Timeline {
  return { ...schedule, startMs, endMs, arrivalMs: null, makespanMs };
}

/** Pairs measured with predicted; null where one is missing. */
export function comparedRehearsal({ measured, predicted, clock, steps, workedMs }: Rehearsal): RehearsalComparison | null {
  if (measured === null || predicted === null) return null;
  const operations = rehearsedOperations(measured, predicted, medianStep(steps));
  const stages = rehearsedStages(measured.stages, operations);
  const busy = (key: 'busyMs' | 'predictedBusyMs'): number => stages.reduce((sum, stage) => sum + stage[key], 0);
  const onSchedule = onClock(
    measured,
    measured.endMs.map((ms, row) => ms - (measured.startMs[row] ?? 0)),
  );
  return {
    measured,
    predicted,
    operations,
    stages,
    errors: {
      step: measured.makespanMs / predicted.makespanMs - 1,
      worked: workedMs === null ? null : workedMs / predicted.makespanMs - 1,
      profile: busy('busyMs') / busy('predictedBusyMs') - 1,
      schedule: clock === 'virtual' ? null : measured.makespanMs / onSchedule.makespanMs - 1,
    },
  };
}

/** Rows of both timelines are those of one schedule. */
function rehearsedOperations(measured: Timeline, predicted: Timeline, step: StepRun | null): RehearsedOperation[] {
  const { kind, chunk, unit, units, stageOfChunk } = measured;
  return Array.from(kind, (what, row) => {
    const { microBatch = 0, slice = 0, tokens = 0, context = 0 } = units[unit[row] ?? 0] ?? {};
    return {
      stage: stageOfChunk[chunk[row] ?? 0] ?? 0,
      chunk: chunk[row] ?? 0,
      kind: what as OperationKind,
      microBatch,
      slice,
      tokens,
      context,
      startMs: measured.startMs[row] ?? 0,
      endMs: measured.endMs[row] ?? 0,
      workMs: step?.workMs[row] ?? 0,
      predictedStartMs: predicted.startMs[row] ?? 0,
      predictedEndMs: predicted.endMs[row] ?? 0,
    };
  });
}

function rehearsedStages(stages: number, operations: readonly RehearsedOperation[]): RehearsedStage[] {
  return Array.from({ length: stages }, (_, stage) => {
    const own = operations.filter((operation) => operation.stage === stage);
    return {
      stage,
      passes: own.length,
      busyMs: own.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0),
      workMs: own.reduce((sum, { workMs }) => sum + workMs, 0),
      predictedBusyMs: own.reduce((sum, { predictedStartMs, predictedEndMs }) => sum + predictedEndMs - predictedStartMs, 0),
    };
  });
}

/** Times of a kind of pass of a cell on a chunk, ms; null where it was not timed. */
export type CellTime = (chunk: number, cell: Cell, kind: OperationKind) => number | null;

/** The step by the times of its cells. @throws ExpectedError `schedule-stuck`; Error where a cell was not timed. */
export function predictedStep(schedule: Schedule, cellTime: CellTime, transfers?: Transfers): Timeline {
  const { kind, chunk, unit, units } = schedule;
  const rowMs = Float64Array.from(kind, (what, row) => {
    const cell = units[unit[row] ?? 0];
    const ms = cell === undefined ? null : cellTime(chunk[row] ?? 0, cell, what as OperationKind);
    if (ms === null) throw new Error(`row ${row} has no time`);
    return ms;
  });
  return onClock(schedule, rowMs, transfers);
}

/** Kinds of passes of a schedule in words. */
export const kindWords: Readonly<Record<OperationKind, string>> = {
  [operationKind.forward]: 'forward',
  [operationKind.backward]: 'backward',
  [operationKind.backwardInput]: 'backward input',
  [operationKind.backwardWeight]: 'backward weight',
};

/** Above this share of waiting, times do not measure the work. */
const idleEnough = 0.05;

/** Whether other work on the machine took the processor from passes that ran in parallel, so that times mean little. */
export function isDisturbed({ waitedShare, clock }: Pick<Rehearsal, 'waitedShare' | 'clock'>): boolean {
  return clock === 'real' && (waitedShare ?? 0) > idleEnough;
}
