import os from 'node:os';
import { memoized } from '../../../core/records';
import { median, sum } from '../../../core/numbers';
import { onClock } from '../core/clock';
import type { RehearsalDesign } from '../core/design';
import { splitsBackward } from '../core/estimate';
import type { GradientError } from '../core/gradient-error';
import type { CellTime, StepRun } from '../core/result';
import { unslicedSchedule } from '../core/unsliced';
import type { Schedule } from '../../../core/schedules/schedule';
import type { Transfers } from '../../../core/schedules/simulate/transfers';
import type { Cell, ProviderName } from '../../../core/domain/profile';
import type { ProfilerJob } from '../../../protocol/profiler';
import type { CellTimes, RehearsalReply, Transfer } from '../protocol';
import { machineBusyMs, machineClock, processorMs } from './machine-clock';
import { startStageProcesses, type StageProcesses } from './processes';

/** How stages are run. */
interface RunningOptions {
  /** The bundled child, `dist/profiler.js`. */
  readonly childFile: string;
  readonly provider: ProviderName;
  readonly libraryPath: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** Hears how many passes have run since something was asked for, of all processes together. */
  readonly onPassed: (passes: number) => void;
  /** Only schedules without backward will be run: only layers, without the head. */
  readonly forwardOnly?: boolean;
}

/** A step that ran. */
export interface RanStep extends StepRun {
  readonly transfers: readonly Transfer[];
  /** What passes waited for the processor, which had other work, as a share of their time. */
  readonly waitedShare: number;
  /** What other programs took of all cores meanwhile, as a share. */
  readonly othersShare: number;
  /** The worst of all stages; null of the step that others are compared with. */
  readonly gradients: GradientError | null;
}

/** Stages in their processes, or in one. One call at a time; each rejects as `StageProcesses.ask`. */
interface RunningStages {
  readonly attention: string;
  readonly versions: Readonly<Record<string, string>>;
  /** One for each process, bytes, so far. */
  readonly peakRssBytes: () => readonly number[];
  /** The unsliced step, whose gradients those of every other step are compared with. */
  readonly reference: () => Promise<RanStep>;
  /** Times each cell by itself, all processes in parallel: the median of its rounds. */
  readonly time: (cells: readonly Cell[], rounds: number) => Promise<CellTime>;
  /** Runs a schedule on the chunks of the design; where all stages are in one process its clock is the schedule's. */
  readonly step: (schedule: Schedule) => Promise<RanStep>;
  /** The same of a schedule without backward. */
  readonly forward: (schedule: Schedule) => Promise<RanStep>;
  readonly close: () => Promise<void>;
}

/** Longest wait for one answer. */
const limitMs = 30 * 60_000;

type Stepped = Extract<RehearsalReply, { readonly type: 'stepped' }>;

/**
 * Starts the processes of a design's stages.
 * @param processStages stages of each process. @param largestBatch sequences of the largest unit of any schedule that will be run.
 */
export async function runStages(
  design: RehearsalDesign,
  processStages: readonly (readonly number[])[],
  largestBatch: number,
  options: RunningOptions,
): Promise<RunningStages> {
  const passed = processStages.map(() => 0);
  const processes = await startStageProcesses(processStages, {
    ...options,
    limitMs,
    onPassed: (index, passes) => {
      passed[index] = passes;
      options.onPassed(sum(passed));
    },
  });
  try {
    return await openedStages({
      design,
      processStages,
      largestBatch,
      provider: options.provider,
      processes,
      passed,
      forwardOnly: options.forwardOnly ?? false,
    });
  } catch (error) {
    await processes.close();
    throw error;
  }
}

/** Processes that were started, and what they are to run. */
interface Started {
  readonly design: RehearsalDesign;
  readonly processStages: readonly (readonly number[])[];
  readonly largestBatch: number;
  readonly provider: ProviderName;
  readonly forwardOnly: boolean;
  readonly processes: StageProcesses;
  /** Passes that each has run since something was asked for. */
  readonly passed: number[];
}

async function openedStages({
  design,
  processStages,
  largestBatch,
  provider,
  forwardOnly,
  processes,
  passed,
}: Started): Promise<RunningStages> {
  const { chunks, tokens, batch, tied, schedule } = design;
  const split = splitsBackward(schedule);
  const opened = await processes.ask(
    processStages.map((stages) => ({
      type: 'open' as const,
      provider,
      step: { job: profilerJob(design, largestBatch), chunks, tokens, batch, tied, forwardOnly },
      split,
      stages: [...stages],
      addresses: [...processes.addresses],
    })),
    'opened',
  );
  let peaks: readonly number[] = [];
  const run = async (ran: Schedule, keep: 'reference' | 'compared' | 'nothing'): Promise<RanStep> => {
    passed.fill(0);
    const others = otherWork();
    const replies = await processes.ask(
      processStages.map(() => ({ type: 'step' as const, schedule: ran, keep })),
      'stepped',
    );
    peaks = replies.map(({ peakRssBytes }) => peakRssBytes);
    return {
      ...merged(replies, processStages.length === 1 ? ran : null),
      othersShare: others(sum(replies.map((reply) => reply.processorMs))),
    };
  };
  const [first] = opened;
  return {
    attention: first?.attention ?? '',
    versions: { onnxruntime: first?.onnxruntime ?? 'unknown', node: process.version, os: `${os.type()} ${os.release()}` },
    peakRssBytes: () => peaks,
    reference: () => run(unslicedSchedule(schedule), 'reference'),
    step: (ran) => run(ran, 'compared'),
    forward: (ran) => run(ran, 'nothing'),
    close: processes.close,
    async time(cells, rounds) {
      const all = Array.from(schedule.stageOfChunk, (stage, chunk) => ({ stage, chunk }));
      const ownChunks = (own: readonly number[]) => all.filter(({ stage }) => own.includes(stage));
      const replies = await processes.ask(
        processStages.map((own) => ({ type: 'time' as const, cells: [...cells], chunks: ownChunks(own), split, rounds })),
        'timed',
      );
      return medianCellTime(replies.flatMap((reply) => reply.cells));
    },
  };
}

function profilerJob({ shape, keepsProbabilities, tokens }: RehearsalDesign, batch: number): ProfilerJob {
  return {
    shape,
    precision: 'fp32',
    gradAccumulationFp32: true,
    attention: keepsProbabilities ? 'plain' : 'fused',
    threads: 1,
    limits: { batch, tokens, sequence: tokens },
  };
}

function medianCellTime(cells: readonly CellTimes[]): CellTime {
  const times = new Map(cells.map((each) => [`${each.chunk} ${cellKey(each.cell)}`, each]));
  return (chunk, cell, kind) => {
    const ms = times.get(`${chunk} ${cellKey(cell)}`)?.ms[kind] ?? [];
    return ms.length === 0 ? null : median(ms);
  };
}

function cellKey({ batch, tokens, context }: Cell): string {
  return `${batch},${tokens},${context}`;
}

/** Different cells of some schedules. */
export function distinctCells(schedules: readonly Schedule[]): Cell[] {
  const cells = schedules.flatMap(({ units }) => units.map(({ batch, tokens, context }) => ({ batch, tokens, context })));
  return [...new Map(cells.map((cell) => [cellKey(cell), cell])).values()];
}

/** Begins to watch the machine. @returns takes the processor time of our processes, ms; gives the share of all cores that others took. */
function otherWork(): (ownMs: number) => number {
  const [fromMs, busyMs, parentMs] = [machineClock(), machineBusyMs(), processorMs()];
  return (ownMs) => {
    const othersMs = machineBusyMs() - busyMs - (processorMs() - parentMs) - ownMs;
    return Math.min(1, Math.max(0, othersMs) / ((machineClock() - fromMs) * os.cpus().length));
  };
}

/** What all processes ran together, from the first start on. @param inTurn the schedule, where its stages ran one after the other. */
function merged(replies: readonly Stepped[], inTurn: Schedule | null): Omit<RanStep, 'othersShare'> {
  const [first] = replies;
  if (first === undefined) throw new Error('no process answered');
  const mergedColumn = (key: 'startMs' | 'endMs' | 'workMs'): Float64Array =>
    first[key].map((_, row) => replies.map((reply) => reply[key][row] ?? NaN).find((ms) => !Number.isNaN(ms)) ?? NaN);
  const [startMs, endMs, workMs] = [mergedColumn('startMs'), mergedColumn('endMs'), mergedColumn('workMs')];
  const fromMs = startMs.reduce((least, ms) => Math.min(least, ms), Infinity);
  const shifted = { startMs: startMs.map((ms) => ms - fromMs), endMs: endMs.map((ms) => ms - fromMs) };
  const lastMs = shifted.endMs.reduce((most, ms) => Math.max(most, ms), 0);
  const wallMs = sum([...endMs].map((ms, row) => ms - (startMs[row] ?? 0)));
  // In parallel a pass takes wall-clock time; one after the other it counts processor time.
  const { startMs: starts, endMs: ends, makespanMs } = inTurn === null ? { ...shifted, makespanMs: lastMs } : onClock(inTurn, workMs);
  const errors = replies.flatMap(({ error }) => (error === null ? [] : [error]));
  return {
    startMs: starts,
    endMs: ends,
    workMs,
    makespanMs,
    loss: sum(replies.map(({ loss }) => loss)),
    transfers: replies.flatMap(({ transfers }) => transfers),
    waitedShare: Math.max(0, 1 - sum([...workMs]) / wallMs),
    gradients: errors.length === 0 ? null : errors.reduce((a, b) => (b.error > a.error ? b : a)),
  };
}

/** What handing on a unit takes between processes: the median of what as many bytes took in a step that counts for nothing else. */
export function measuredTransfers({ units }: Schedule, hidden: number, { transfers }: RanStep): Transfers {
  const bySize = new Map<number, number[]>();
  for (const { bytes, sentMs, arrivedMs } of transfers) memoized(bySize, bytes, () => []).push(arrivedMs - sentMs);
  const ms = Float64Array.from(units, ({ batch, tokens }) => {
    const took = bySize.get(Float32Array.BYTES_PER_ELEMENT * batch * tokens * hidden) ?? [];
    return took.length === 0 ? 0 : median(took);
  });
  return { forwardMs: ms, backwardMs: ms, mode: 'edge' };
}
