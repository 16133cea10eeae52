import { indexParts, part, operationPart, findRow, type Parts } from '../../../core/schedules/parts';
import type { OperationKind, Timeline } from '../../../core/schedules/schedule';
import { traceError } from './events';
import { lowMedian, maximum } from '../../../core/numbers';
import { warmUpSteps } from './logs/steady';
import type { MeasuredTrace } from './trace';
import { stagesOfTracks } from './trace-stages';
import { counted, sentence } from '../../../core/sentence';

/**
 * One step of a trace on the rows of a predicted timeline: the same stages, chunks and units, with measured times from the predicted start
 * of its first pass on.
 */
export interface PlacedTrace {
  /** Stages that the trace does not show have no rows. */
  readonly measured: Timeline;
  /** Number of whole steps in the trace. */
  readonly steps: number;
  /** Index of this one. */
  readonly step: number;
  /** Number of first steps left out as warm-up. */
  readonly warmUp: number;
  readonly replicas: number;
  /** Passes of that step that the predicted timeline does not have. */
  readonly foreign: number;
}

interface Placed {
  readonly pass: number;
  readonly stage: number;
  readonly chunk: number;
  readonly unit: number;
}

/**
 * Finds the step of median length after the warm-up in a trace, and places its passes on the rows of a predicted timeline, by chunk,
 * micro-batch and slice where the trace names them, else by their order on the stage.
 * @throws ExpectedError `trace-stages`, `trace-other-run`.
 */
export function placePasses(file: string, trace: MeasuredTrace, predicted: Timeline): PlacedTrace {
  const { stageByTrack, replicas } = stagesOfTracks(file, trace, predicted.stageOfChunk, predicted.stages);
  const parts = indexParts(predicted);
  const { steps, foreign } = placeSteps(trace, predicted, parts, stageByTrack);
  const most = Math.max(0, maximum(steps.map(({ length }) => length)));
  const whole = steps.flatMap((passes, index) => (passes.length === most && most > 0 ? [{ passes, index }] : []));
  const warmUp = trace.torch === null ? warmUpSteps(whole.length) : 0;
  const steady = whole.slice(warmUp);
  const lengths = steady.map(({ passes }) => passesLength(trace, passes));
  const chosen = steady[lengths.indexOf(lowMedian(lengths))];
  if (chosen === undefined)
    throw traceError(
      'trace-other-run',
      file,
      sentence`None of the ${counted(trace.track.length, 'pass', 'passes')} in the trace is one of the plan`,
      sentence`compare it with the config of the run that was recorded`,
    );
  const rows = chosen.passes.toSorted(
    (a, b) => a.stage - b.stage || (trace.startMs[a.pass] ?? 0) - (trace.startMs[b.pass] ?? 0) || a.pass - b.pass,
  );
  return {
    measured: placedTimeline(trace, predicted, parts, rows),
    steps: whole.length,
    step: whole.indexOf(chosen),
    warmUp,
    replicas,
    foreign: Math.round(foreign / Math.max(1, steps.length)),
  };
}

/** The passes of each step, and how many fit no row of the predicted timeline. */
function placeSteps(
  trace: MeasuredTrace,
  predicted: Timeline,
  parts: Parts,
  stageByTrack: Int32Array,
): { readonly steps: Placed[][]; readonly foreign: number } {
  const unitsByKey = new Map(predicted.units.map(({ microBatch, slice }, unit) => [`${microBatch}.${slice}`, unit]));
  const chunksByStage = Array.from({ length: predicted.stages }, (_, stage) =>
    [...predicted.stageOfChunk.keys()].filter((chunk) => predicted.stageOfChunk[chunk] === stage),
  );
  const rowsInOrder = rowOrders(predicted);
  const seen = new Map<string, number>();
  const count = (key: string): number => {
    const before = seen.get(key) ?? 0;
    seen.set(key, before + 1);
    return before;
  };
  const byStep = new Map<number, Placed[]>();
  let foreign = 0;
  for (let pass = 0; pass < trace.track.length; pass++) {
    const stage = stageByTrack[trace.track[pass] ?? 0] ?? -1;
    if (stage < 0) continue;
    const kind = (trace.kind[pass] ?? 0) as OperationKind;
    const [local, slice] = [trace.chunkOfStage[pass] ?? -1, trace.slice[pass] ?? -1];
    const ownChunk = chunksByStage[stage]?.length === 1 ? (chunksByStage[stage][0] ?? -1) : (chunksByStage[stage]?.[local] ?? -1);
    const chunk = (trace.chunk[pass] ?? -1) >= 0 ? (trace.chunk[pass] ?? -1) : ownChunk;
    const unit = unitsByKey.get(`${trace.microBatch[pass] ?? -1}.${Math.max(0, slice)}`) ?? -1;
    const named = (trace.microBatch[pass] ?? -1) >= 0 && chunk >= 0;
    const row = named ? findRow(predicted, parts, kind, chunk, unit) : -1;
    if (row >= 0) {
      const step = (trace.step[pass] ?? -1) >= 0 ? (trace.step[pass] ?? 0) : count(`${row}`);
      push(byStep, step, { pass, stage, chunk, unit });
      continue;
    }
    const order = named ? [] : (rowsInOrder[stage]?.[operationPart(kind)] ?? []);
    const step = trace.step[pass] ?? -1;
    const nth = count(`${stage} ${operationPart(kind)} ${step}`);
    const inOrder = order[step >= 0 ? nth : nth % Math.max(1, order.length)];
    if (inOrder === undefined) {
      foreign++;
      continue;
    }
    push(byStep, step >= 0 ? step : Math.floor(nth / order.length), {
      pass,
      stage,
      chunk: predicted.chunk[inOrder] ?? 0,
      unit: predicted.unit[inOrder] ?? 0,
    });
  }
  const steps = [...byStep.keys()].sort((a, b) => a - b).map((step) => byStep.get(step) ?? []);
  return { steps, foreign };
}

/** Rows of each stage by part, in the order they run. */
function rowOrders({ stages, rowStart, kind }: Timeline): number[][][] {
  return Array.from({ length: stages }, (_, stage) => {
    const orders: number[][] = Object.values(part).map(() => []);
    for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) orders[operationPart(kind[row])]?.push(row);
    return orders;
  });
}

function push(byStep: Map<number, Placed[]>, step: number, placed: Placed): void {
  const passes = byStep.get(step);
  if (passes === undefined) byStep.set(step, [placed]);
  else passes.push(placed);
}

function passesLength({ startMs, endMs }: MeasuredTrace, passes: readonly Placed[]): number {
  let [first, last] = [Infinity, -Infinity];
  for (const { pass } of passes) {
    first = Math.min(first, startMs[pass] ?? 0);
    last = Math.max(last, endMs[pass] ?? 0);
  }
  return last - first;
}

/** The timeline of passes in order of stage and time. A pass that begins before the one before it on its stage ends is cut there. */
function placedTimeline(trace: MeasuredTrace, predicted: Timeline, parts: Parts, rows: readonly Placed[]): Timeline {
  const offsetMs = traceOffset(trace, predicted, parts, rows);
  const count = rows.length;
  const [startMs, endMs] = [new Float64Array(count), new Float64Array(count)];
  const rowStart = new Uint32Array(predicted.stages + 1);
  let makespanMs = 0;
  rows.forEach(({ pass, stage }, row) => {
    rowStart[stage + 1] = row + 1;
    const before = row > 0 && rows[row - 1]?.stage === stage ? (endMs[row - 1] ?? 0) : -Infinity;
    startMs[row] = Math.max(before, (trace.startMs[pass] ?? 0) - offsetMs);
    endMs[row] = Math.max(startMs[row] ?? 0, (trace.endMs[pass] ?? 0) - offsetMs);
    makespanMs = Math.max(makespanMs, endMs[row] ?? 0);
  });
  for (let stage = 1; stage <= predicted.stages; stage++) rowStart[stage] = Math.max(rowStart[stage] ?? 0, rowStart[stage - 1] ?? 0);
  return {
    name: predicted.name,
    stages: predicted.stages,
    stageOfChunk: predicted.stageOfChunk,
    units: predicted.units,
    rowStart,
    kind: Uint8Array.from(rows, ({ pass }) => trace.kind[pass] ?? 0),
    chunk: Uint32Array.from(rows, ({ chunk }) => chunk),
    unit: Uint32Array.from(rows, ({ unit }) => unit),
    overlapsNext: null,
    startMs,
    endMs,
    makespanMs,
    arrivalMs: null,
  };
}

/** What makes the first measured pass begin when it is predicted to. */
function traceOffset(trace: MeasuredTrace, predicted: Timeline, parts: Parts, rows: readonly Placed[]): number {
  const first = rows.reduce((a, b) => ((trace.startMs[b.pass] ?? 0) < (trace.startMs[a.pass] ?? 0) ? b : a));
  const row = findRow(predicted, parts, (trace.kind[first.pass] ?? 0) as OperationKind, first.chunk, first.unit);
  return (trace.startMs[first.pass] ?? 0) - (predicted.startMs[row] ?? 0);
}
