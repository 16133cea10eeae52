import { ExpectedError, placed } from '../../core/errors';
import { column, formatDuration, formatNumber, formatPercent } from '../../core/format';
import type { PassMemory, PassTimes } from '../../core/schedules/kind';
import { busyTimes } from '../../core/schedules/simulate/idle';
import { toActions, cellText } from '../../core/schedules/pytorch-csv/actions';
import { isScheduleCsv } from '../../core/schedules/pytorch-csv/cells';
import { readScheduleCsv } from '../../core/schedules/pytorch-csv/read';
import { generateSchedule, toScheduleProblem } from '../../core/schedules/registry';
import { operationKind, type Schedule, type Timeline } from '../../core/schedules/schedule';
import { simulate } from '../../core/schedules/simulate/simulate';
import type { Durations, Transfers } from '../../core/schedules/simulate/transfers';
import type { Answer } from '../answer';
import type { SourceText } from '../read-file';
import { indented, table } from '../table';
import { readSimulationProblem, type SimulationProblem } from '../problems/simulate';
import { sentence } from '../../core/sentence';

/** What `terapipe simulate --json` prints. Times in ms, memory in the unit of the problem. */
interface SimulateAnswer {
  readonly version: 1;
  readonly schedule: string;
  readonly makespanMs: number;
  /** (S - m (F + B + W)) / S with S the longest span of a stage; the mean over stages where they differ. */
  readonly bubbleRate: number;
  readonly stages: readonly {
    readonly busyMs: number;
    /** The makespan less the busy time. */
    readonly idleMs: number;
    /** From the first start to the last end. */
    readonly spanMs: number;
    /** Null when the problem has nothing on memory. */
    readonly peakMemory: number | null;
  }[];
  /**
   * Of each stage, in PyTorch's syntax: virtual stage, letter, micro-batch (counted over slices); pairs that run at the same time as one
   * entry.
   */
  readonly order: readonly (readonly string[])[];
}

/**
 * Simulates the problem in `source`, or a schedule that is a CSV itself; `read` gives the text of a CSV that a problem names.
 * @throws ExpectedError as `readSimulationProblem`; `schedule-*` when the schedule cannot run.
 */
export async function simulateAnswer(
  source: SourceText,
  read: (from: string, path: string) => Promise<SourceText>,
): Promise<Answer & { readonly json: SimulateAnswer }> {
  const isCsv = isScheduleCsv(source.text);
  const problem = isCsv ? untimedProblem(source.file) : readSimulationProblem(source.text, source.file);
  const schedule = await buildSchedule(problem, source.file, isCsv ? () => Promise.resolve(source) : read);
  const times = problem.times(schedule.stages);
  const timeline = placed(problem.place, () => simulate(schedule, chunkDurations(schedule, times), uniformTransfers(schedule, times)));
  const { busyMs, spanMs, bubbleRate } = busyTimes(timeline);
  const chunks = chunksOfStages(schedule.stageOfChunk, schedule.stages);
  const stages = Array.from(busyMs, (busy, stage) => ({
    busyMs: busy,
    idleMs: timeline.makespanMs - busy,
    spanMs: spanMs[stage] ?? 0,
    peakMemory: problem.memory === null ? null : peakMemory(timeline, stage, problem.memory, 1 / (chunks[stage] ?? 1)),
  }));
  const { makespanMs } = timeline;
  const json: SimulateAnswer = { version: 1, schedule: schedule.name, makespanMs, bubbleRate, stages, order: orderCells(schedule) };
  const note = isCsv ? ['', 'Each pass takes 1 ms, as the file has no times'] : [];
  return { json, text: [simulateText(json), ...note].join('\n'), exitCode: 0 };
}

/** A CSV by itself: a millisecond for each pass of a stage, forward, backward for the input and backward for the weights. */
function untimedProblem(csv: string): SimulationProblem {
  const times = (stages: number): PassTimes => {
    const ms = new Float64Array(stages).fill(1);
    return { forwardMs: ms, backwardInputMs: ms, backwardWeightMs: ms, sendMs: 0 };
  };
  const place = { file: csv, range: { start: 0, end: 0 } };
  const schedule = { csv, place };
  return { schedule, stages: null, microBatches: null, slices: 1, chunksPerStage: 2, groupedMicroBatches: 1, times, memory: null, place };
}

async function buildSchedule(
  { schedule, stages, microBatches, slices, chunksPerStage, groupedMicroBatches, times, memory, place }: SimulationProblem,
  file: string,
  read: (from: string, path: string) => Promise<SourceText>,
): Promise<Schedule> {
  if ('csv' in schedule) {
    const source = await read(file, schedule.csv);
    const { schedule: found, problems } = readScheduleCsv(source.text, schedule.csv, { ranks: stages, microBatches, slices });
    const [first] = problems;
    if (found !== null) return found;
    throw new ExpectedError('schedule-csv', first?.message ?? sentence`The schedule cannot run`, first?.remedy ?? sentence`fix the file`, {
      file: source.file,
      range: first?.range ?? { start: 0, end: 0 },
    });
  }
  const scheme = Array.from({ length: microBatches ?? 1 }, () => ({ batch: 1, tokens: Array.from({ length: slices }, () => 1) }));
  const stageCount = stages ?? 1;
  const problem = { ...toScheduleProblem(scheme, stageCount, chunksPerStage, times(stageCount), memory ?? undefined), groupedMicroBatches };
  return placed(place, () => generateSchedule(schedule.name, problem));
}

/** A chunk takes its share of what a pass takes on its whole stage. */
function chunkDurations({ stageOfChunk, units }: Schedule, times: PassTimes): Durations {
  const chunks = chunksOfStages(stageOfChunk, times.forwardMs.length);
  const spread = (ms: Float64Array): Float64Array => {
    const all = new Float64Array(stageOfChunk.length * units.length);
    stageOfChunk.forEach((stage, chunk) =>
      all.fill((ms[stage] ?? 0) / (chunks[stage] ?? 1), chunk * units.length, (chunk + 1) * units.length),
    );
    return all;
  };
  return {
    forwardMs: spread(times.forwardMs),
    backwardInputMs: spread(times.backwardInputMs),
    backwardWeightMs: spread(times.backwardWeightMs),
  };
}

function chunksOfStages(stageOfChunk: Uint32Array, stages: number): Uint32Array {
  const chunks = new Uint32Array(stages);
  for (const stage of stageOfChunk) chunks[stage] = (chunks[stage] ?? 0) + 1;
  return chunks;
}

function uniformTransfers({ units }: Schedule, { sendMs }: PassTimes): Transfers {
  const ms = new Float64Array(units.length).fill(sendMs);
  return { forwardMs: ms, backwardMs: ms, mode: 'edge' };
}

/** Most memory of a stage at once: passes take theirs when they start and give back when they end; a chunk takes its share. */
function peakMemory({ rowStart, kind }: Timeline, stage: number, memory: PassMemory, share: number): number {
  const backward = memory.backwardInput + memory.backwardWeight;
  let live = 0;
  let most = 0;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const change =
      kind[row] === operationKind.forward
        ? memory.forward
        : kind[row] === operationKind.backward
          ? backward
          : kind[row] === operationKind.backwardInput
            ? memory.backwardInput
            : memory.backwardWeight;
    most = Math.max(most, live + Math.max(0, change) * share);
    live += change * share;
  }
  return most;
}

function orderCells(schedule: Schedule): string[][] {
  const actions = toActions(schedule);
  return Array.from({ length: schedule.stages }, (_, stage) => {
    const cells: string[] = [];
    for (let row = schedule.rowStart[stage] ?? 0; row < (schedule.rowStart[stage + 1] ?? 0); row++) {
      cells.push(cellText(actions, row));
      if (actions.overlapsNext[row] === 1) row++;
    }
    return cells;
  });
}

/** Stages shown in words. */
const shownStages = 64;

function simulateText({ schedule, makespanMs, bubbleRate, stages }: SimulateAnswer): string {
  const rows = stages
    .slice(0, shownStages)
    .map(({ busyMs, idleMs, peakMemory: peak }, stage) => [
      `stage ${stage}`,
      column.duration(busyMs),
      column.duration(idleMs),
      ...(peak === null ? [] : [column.number(peak)]),
    ]);
  const more = stages.length > shownStages ? [`  and ${formatNumber(stages.length - shownStages)} more`] : [];
  const header = ['', 'busy', 'idle', ...(typeof stages[0]?.peakMemory !== 'number' ? [] : ['peak'])];
  return [
    `${schedule}: ${formatDuration(makespanMs)}, bubble ${formatPercent(bubbleRate)}`,
    '',
    indented(table([header, ...rows], [1, 2, 3])),
    ...more,
  ].join('\n');
}
