import { ExpectedError } from '../errors';
import type { Runtime } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { chunksPerRound, type Scheme } from '../domain/scheme';
import type { Emit, PassMemory, PassTimes, Placement, ScheduleKind, ScheduleProblem } from './kind';
import { scheduleDescriptions } from './descriptions';
import { bpipe } from './kinds/bpipe';
import { dualPipeV } from './kinds/dualpipe-v';
import { gis } from './kinds/gis';
import { gpipe } from './kinds/gpipe';
import { interleaved1F1B } from './kinds/interleaved-1f1b';
import { interleavedZeroBubble } from './kinds/interleaved-zero-bubble';
import { kForwardKBackward } from './kinds/k-f-k-b';
import { loopedBFS } from './kinds/looped-bfs';
import { oneForwardOneBackward } from './kinds/one-forward-one-backward';
import { pipeOffloadFull, pipeOffloadHalf } from './kinds/pipe-offload';
import { seq1f1b } from './kinds/seq1f1b';
import { seq1f1bInterleaved } from './kinds/seq1f1b-interleaved';
import { seq1f1bZb } from './kinds/seq1f1b-zb';
import { seq1f1bZbInterleaved } from './kinds/seq1f1b-zb-interleaved';
import { slimPipe } from './kinds/slimpipe';
import { slimPipeInterleaved } from './kinds/slimpipe-interleaved';
import { terapipe } from './kinds/terapipe';
import { vHalf } from './kinds/v-half';
import { vMin } from './kinds/v-min';
import { zbH1 } from './kinds/zb-h1';
import { zbH2 } from './kinds/zb-h2';
import { zbvZeroBubble } from './kinds/zbv-zero-bubble';
import { zeroBubble } from './kinds/zero-bubble';
import { zeroBubbleV } from './kinds/zero-bubble-v';
import { schemeUnits, type Schedule } from './schedule';
import { sentence, type Sentence } from '../sentence';

/** Every schedule there is, one line each. */
export const scheduleKinds: readonly ScheduleKind[] = [
  gpipe,
  oneForwardOneBackward,
  interleaved1F1B,
  loopedBFS,
  interleavedZeroBubble,
  zbvZeroBubble,
  vHalf,
  vMin,
  dualPipeV,
  zbH1,
  zbH2,
  zeroBubble,
  zeroBubbleV,
  terapipe,
  seq1f1b,
  seq1f1bInterleaved,
  seq1f1bZb,
  seq1f1bZbInterleaved,
  slimPipe,
  slimPipeInterleaved,
  kForwardKBackward,
  bpipe,
  gis,
  pipeOffloadHalf,
  pipeOffloadFull,
];

const kindsByName: ReadonlyMap<string, ScheduleKind> = new Map(scheduleKinds.map((kind) => [kind.name, kind]));
const interleavings: ReadonlyMap<ScheduleName, ScheduleKind> = new Map(
  scheduleKinds.flatMap((kind) => (kind.interleaves === undefined ? [] : [[kind.interleaves, kind]])),
);
export const scheduleNames: readonly string[] = scheduleKinds.map(({ name }) => name);

/**
 * The schedule of that name.
 * @throws ExpectedError `schedule-unknown`.
 */
export function scheduleKind(name: string): ScheduleKind {
  const kind = kindsByName.get(name);
  if (kind === undefined)
    throw new ExpectedError('schedule-unknown', sentence`There is no schedule "${name}"`, sentence`use one of ${scheduleNames.join(', ')}`);
  return kind;
}

/** The kind that runs a schedule on several virtual stages of each stage; undefined where its own does, or none. */
export function interleavedKind(schedule: ScheduleName): ScheduleKind | undefined {
  return interleavings.get(schedule);
}

/** The schedules that a runtime's launchers ask for by name: interleaved 1F1B is 1F1B on virtual stages. */
export function runtimeSchedules(runtime: Runtime): readonly ScheduleName[] {
  return scheduleKinds
    .filter(({ name, interleaves }) => interleaves === undefined && scheduleDescriptions[name].runtimes.includes(runtime))
    .map(({ name }) => name);
}

/** Stage of each chunk. */
export function placeChunks(placement: Placement, stages: number, chunksPerStage: number): Uint32Array {
  return Uint32Array.from({ length: stages * chunksPerStage }, (_, chunk) =>
    placement === 'v' && chunk >= stages ? 2 * stages - 1 - chunk : chunk % stages,
  );
}

/**
 * What to make a schedule for: `scheme` on `stages` stages of `chunksPerStage` chunks. Without times every pass takes 1 ms and no send any;
 * without memory there is no limit.
 */
export function toScheduleProblem(
  scheme: Scheme,
  stages: number,
  chunksPerStage = 1,
  times: PassTimes = equalTimes(stages),
  memory: PassMemory = { forward: 1, backwardInput: 0, backwardWeight: -1, limit: Infinity },
): ScheduleProblem {
  const firstUnit = new Uint32Array(scheme.length + 1);
  scheme.forEach(({ tokens }, microBatch) => {
    firstUnit[microBatch + 1] = (firstUnit[microBatch] ?? 0) + tokens.length;
  });
  return {
    stages,
    units: schemeUnits(scheme),
    microBatches: scheme.length,
    firstUnit,
    rounds: chunksPerRound(scheme),
    chunksPerStage,
    times,
    memory,
  };
}

function equalTimes(stages: number): PassTimes {
  const oneMs = new Float64Array(stages).fill(1);
  return { forwardMs: oneMs, backwardInputMs: oneMs, backwardWeightMs: oneMs, sendMs: 0 };
}

/**
 * The order of operations of a schedule for a problem.
 * @throws ExpectedError `schedule-unknown`; `schedule-unmet` when the schedule cannot run on this many stages, chunks, micro-batches or
 * slices, with what to change; CancelledError by those that plan.
 */
export function generateSchedule(name: string, problem: ScheduleProblem): Schedule {
  const kind = scheduleKind(name);
  requireMet(kind, problem);
  const { stages, units, chunksPerStage } = problem;
  const cells = stages * chunksPerStage * units.length;
  const rows = makeRows(cells * (kind.splitsBackward ? 3 : 2));
  const order = kind.order(problem);
  const rowStart = new Uint32Array(stages + 1);
  for (let stage = 0; stage < stages; stage++) {
    order(stage, rows.emit);
    rowStart[stage + 1] = rows.count();
  }
  const stageOfChunk = placeChunks(kind.placement, stages, chunksPerStage);
  const schedule = { name, stages, stageOfChunk, units, rowStart, ...rows.columns() };
  return kind.copies === undefined ? schedule : { ...schedule, copies: kind.copies(schedule) };
}

function requireMet(kind: ScheduleKind, problem: ScheduleProblem): void {
  const unmet = (message: Sentence, remedy: Sentence): never => {
    throw new ExpectedError('schedule-unmet', message, remedy);
  };
  const { stages, units, microBatches, chunksPerStage } = problem;
  const { name } = kind;
  if (!(Number.isInteger(stages) && stages >= 1)) unmet(sentence`${name} cannot run on ${stages} stages`, sentence`use one stage or more`);
  if (units.length === 0) unmet(sentence`${name} has no micro-batch to run`, sentence`use one micro-batch or more`);
  if (kind.chunksPerStage === 'several' ? chunksPerStage < 2 : chunksPerStage !== kind.chunksPerStage) {
    const wanted = kind.chunksPerStage === 'several' ? sentence`two or more` : String(kind.chunksPerStage);
    unmet(
      sentence`${name} has ${wanted} virtual stages on each stage, not ${chunksPerStage}`,
      sentence`use ${wanted}, or another schedule`,
    );
  }
  if (!kind.slices && units.length > microBatches)
    unmet(sentence`${name} runs whole sequences, not token slices`, sentence`use one slice for each micro-batch, or TeraPipe or Seq1F1B`);
  const own = kind.unmet(problem);
  if (own !== null) unmet(own.message, own.remedy);
}

/** Columns that fill row by row. */
function makeRows(capacity: number): {
  readonly emit: Emit;
  readonly count: () => number;
  readonly columns: () => Pick<Schedule, 'kind' | 'chunk' | 'unit' | 'overlapsNext'>;
} {
  const kinds = new Uint8Array(capacity);
  const chunks = new Uint32Array(capacity);
  const units = new Uint32Array(capacity);
  let overlaps: Uint8Array | null = null;
  let row = 0;
  const emit: Emit = (kind, chunk, unit, overlapsNext) => {
    if (row === capacity) throw new RangeError('a schedule has more operations than its problem');
    kinds[row] = kind;
    chunks[row] = chunk;
    units[row] = unit;
    if (overlapsNext === true) (overlaps ??= new Uint8Array(capacity))[row] = 1;
    row++;
  };
  const cut = <T extends Uint8Array | Uint32Array>(column: T): T => (row === capacity ? column : (column.slice(0, row) as T));
  return {
    emit,
    count: () => row,
    columns: () => ({
      kind: cut(kinds),
      chunk: cut(chunks),
      unit: cut(units),
      overlapsNext: overlaps === null ? null : cut(overlaps),
    }),
  };
}
