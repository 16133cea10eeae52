import type { Finding } from '../../findings';
import type { IdleTimes } from '../simulate/gaps';
import { busyTimes, idleTimes } from '../simulate/idle';
import { operationKind, type Schedule, type Timeline } from '../schedule';
import { noTransfers, simulate } from '../simulate/simulate';
import { toCsvFinding } from './problems';
import { readScheduleCsv, type CsvFormat } from './read';
import type { CsvVersion } from './actions';

/**
 * A schedule without times of its own, drawn in steps: a forward, an input gradient and a weight gradient take one, a full backward two,
 * and what they send is ready at once. What its timeline and idle times call ms are steps.
 */
export interface SteppedSchedule {
  readonly format: CsvFormat;
  /** The PyTorch that it is written for; null: any. */
  readonly version: CsvVersion | null;
  readonly timeline: Timeline;
  readonly bubbleRate: number;
  readonly idle: IdleTimes;
  /** Of each stage: most micro-batches of a chunk whose forward has run and whose backward has not ended, at once. */
  readonly inFlight: Uint32Array;
}

/** A schedule file of the user's: what is wrong with it, and what it does, null when it cannot run. */
export interface ScheduleFile {
  readonly findings: readonly Finding[];
  readonly drawn: SteppedSchedule | null;
}

/**
 * Reads, checks and draws a schedule in PyTorch's CSV. Problems are errors at their cells under `schedule-csv-` and the problem's code,
 * warnings when the schedule runs all the same. Never throws.
 * @param file its identity, in the places of findings.
 * @param name of the schedule: the file's for the eye.
 */
export function readScheduleFile(text: string, file: string, name: string): ScheduleFile {
  const { format, version, problems, schedule } = readScheduleCsv(text, name);
  const findings = problems.map((problem) => toCsvFinding(problem, file));
  return { findings, drawn: schedule === null ? null : { format, version, ...inSteps(schedule) } };
}

function inSteps(schedule: Schedule): Omit<SteppedSchedule, 'format' | 'version'> {
  const one = new Float64Array(schedule.stageOfChunk.length * schedule.units.length).fill(1);
  const durations = { forwardMs: one, backwardInputMs: one, backwardWeightMs: one };
  const transfers = noTransfers(schedule.units.length);
  const timeline = simulate(schedule, durations, transfers);
  const idle = idleTimes(timeline, durations, transfers);
  return { timeline, bubbleRate: busyTimes(timeline).bubbleRate, idle, inFlight: mostInFlight(schedule) };
}

function mostInFlight({ stages, rowStart, kind }: Schedule): Uint32Array {
  return Uint32Array.from({ length: stages }, (_, stage) => {
    let held = 0;
    let most = 0;
    for (const what of kind.subarray(rowStart[stage], rowStart[stage + 1])) {
      if (what === operationKind.forward) most = Math.max(most, ++held);
      else if (what !== operationKind.backwardInput) held -= 1;
    }
    return most;
  });
}
