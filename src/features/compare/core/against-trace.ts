import { ExpectedError } from '../../../core/errors';
import { chosenCandidate, type Candidate, type Plan } from '../../../core/planner/plan';
import { indexParts, part, operationPart, findRow, findSourceRow, type Parts } from '../../../core/schedules/parts';
import type { OperationKind, Timeline } from '../../../core/schedules/schedule';
import { traceError } from './events';
import { placePasses, type PlacedTrace } from './place-passes';
import { lowMedian } from '../../../core/numbers';
import type { MeasuredTrace } from './trace';
import { sentence } from '../../../core/sentence';

/** A time, predicted and measured, ms. */
export interface PredictedMeasured {
  readonly predictedMs: number;
  readonly measuredMs: number;
}

/** One stage of a trace compared with the plan, over the passes that both have. Stages count from 0. */
interface StageAgainst {
  readonly stage: number;
  readonly passes: number;
  /** Mean of a forward pass, and of a backward pass with its weight gradient; null where the trace has none. */
  readonly forward: PredictedMeasured | null;
  readonly backward: PredictedMeasured | null;
  readonly busy: PredictedMeasured;
  /** Measured busy time over predicted. */
  readonly ratio: number;
}

/** A pass by what it is. */
export interface PassPlace {
  readonly stage: number;
  readonly chunk: number;
  readonly kind: OperationKind;
  readonly microBatch: number;
  readonly slice: number;
}

/** A pass that begins later than predicted. */
interface LatePass extends PassPlace, PredictedMeasured {
  /** Row of the measured timeline. */
  readonly row: number;
}

/** Where a stage runs another pass than the plan has at the same place. */
interface OtherOrder {
  readonly stage: number;
  readonly measured: PassPlace;
  readonly predicted: PassPlace;
}

/** From the end of a pass to the start of the one on a neighbouring stage that had waited for it: mean, ms. Below 0 where clocks differ. */
export interface TransferAgainst extends PredictedMeasured {
  readonly from: number;
  readonly to: number;
  readonly waits: number;
}

/** Peak memory of a stage, bytes, and how it was measured. */
interface StageMemory {
  readonly stage: number;
  readonly predictedBytes: number;
  readonly measuredBytes: number;
  readonly counted: string;
}

/** A plan compared with a step of a measured run. Plain data. */
export interface TraceComparison {
  readonly kind: 'trace';
  /** Candidate of the plan that the trace is compared with: the one whose order it runs, else the chosen one. */
  readonly candidate: Candidate['id'];
  readonly chosen: boolean;
  readonly errorPercent: number;
  /** From the first start to the last end of the stages that the trace shows. */
  readonly pipeline: PredictedMeasured;
  readonly bubble: { readonly predicted: number; readonly measured: number };
  readonly stages: readonly StageAgainst[];
  /** Stages that the plan has. */
  readonly planStages: number;
  /** Every measured time is the predicted one, to the nanosecond that traces are written in. */
  readonly equal: boolean;
  /** The stage whose passes take longer than predicted, more so than those of the others. */
  readonly straggler: number | null;
  /** Median of the stages' ratios. */
  readonly ratio: number;
  readonly firstLate: LatePass | null;
  readonly otherOrder: OtherOrder | null;
  readonly transfers: readonly TransferAgainst[];
  /** What follows the passes, where the trace shows it. */
  readonly exchange: PredictedMeasured | null;
  readonly optimizer: PredictedMeasured | null;
  readonly memory: readonly StageMemory[];
  readonly placed: PlacedTrace;
}

/**
 * How much more than the other stages a stage must be over its prediction to be called the straggler: the error of a mean of a few passes.
 */
const stragglerFrom = 1.05;
/** Rounding of times in traces: a nanosecond either way at both ends. */
const nanosecondsMs = 4e-6;

/**
 * Compares a trace with a plan. The candidate whose passes and order it has is compared, the chosen one before others.
 * @param file of the trace, named in errors.
 * @throws ExpectedError `trace-stages`, `trace-other-run`, `trace-plan-too-large` when the plan has no timeline.
 */
export function compareWithTrace(plan: Plan, trace: MeasuredTrace, file: string): TraceComparison {
  const { candidate, predicted, placed } = matching(plan, trace, file);
  const { measured } = placed;
  const parts = indexParts(predicted);
  const shown = stagesWithRows(measured);
  const stages = shown.map((stage) => stageAgainst(predicted, parts, measured, stage));
  const ratio = lowMedian(stages.map((stage) => stage.ratio));
  const slowest = stages.reduce((a, b) => (b.ratio > a.ratio ? b : a));
  const others = lowMedian(stages.filter(({ stage }) => stage !== slowest.stage).map((stage) => stage.ratio));
  const spans = { predicted: stagesSpan(predicted, shown), measured: stagesSpan(measured, shown) };
  const { errorPercent } = plan.cost;
  return {
    kind: 'trace',
    candidate: candidate.id,
    chosen: candidate.id === plan.chosen,
    errorPercent,
    stages,
    ratio,
    placed,
    pipeline: { predictedMs: spans.predicted.lengthMs, measuredMs: spans.measured.lengthMs },
    bubble: { predicted: spans.predicted.bubble, measured: spans.measured.bubble },
    planStages: predicted.stages,
    equal: isEqual(predicted, parts, measured),
    straggler: stages.length > 1 && slowest.ratio > stragglerFrom * others && slowest.ratio > stragglerFrom ? slowest.stage : null,
    firstLate: firstLate(predicted, parts, measured, errorPercent / 100),
    otherOrder: firstOtherOrder(predicted, parts, measured, shown),
    transfers: transfersAgainst(predicted, parts, measured),
    ...afterPasses(candidate, trace),
  };
}

function afterPasses(candidate: Candidate, { torch }: MeasuredTrace): Pick<TraceComparison, 'exchange' | 'optimizer' | 'memory'> {
  const against = (predictedMs: number, measuredMs: number | null): PredictedMeasured | null =>
    measuredMs === null ? null : { predictedMs, measuredMs };
  const stages = candidate.memory.stages;
  return {
    exchange: against(candidate.gradientExchangeMs, torch?.exchangeMs ?? null),
    optimizer: against(candidate.optimizerMs, torch?.optimizerMs ?? null),
    memory: (torch?.peakBytes ?? []).flatMap((measuredBytes, stage) =>
      measuredBytes === null
        ? []
        : [{ stage, predictedBytes: stages[stage]?.peakBytes ?? 0, measuredBytes, counted: torch?.counted ?? '' }],
    ),
  };
}

interface Matched {
  readonly candidate: Candidate;
  readonly predicted: Timeline;
  readonly placed: PlacedTrace;
}

function matching(plan: Plan, trace: MeasuredTrace, file: string): Matched {
  const chosen = chosenCandidate(plan);
  const ordered = [chosen, ...plan.candidates.filter(({ id }) => id !== chosen.id)];
  let best: { readonly found: Matched; readonly misfit: number } | null = null;
  let refusal: ExpectedError | null = null;
  for (const candidate of ordered) {
    const predicted = candidate.timeline;
    if (predicted === null) continue;
    try {
      const found = { candidate, predicted, placed: placePasses(file, trace, predicted) };
      const misfit = traceMisfit(found);
      if (best === null || misfit < best.misfit) best = { found, misfit };
      if (misfit === 0) break;
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      refusal ??= error;
    }
  }
  if (best !== null) return best.found;
  if (refusal !== null) throw refusal;
  throw traceError(
    'trace-plan-too-large',
    file,
    sentence`The plan has too many passes to compare with a trace`,
    sentence`compare with a list of step times, or plan fewer micro-batches`,
  );
}

/** How badly a trace fits a candidate, as a share of its passes: what either lacks, and places with another pass. */
function traceMisfit({ predicted, placed: { measured, foreign } }: Matched): number {
  const shown = stagesWithRows(measured);
  const parts = indexParts(predicted);
  let apart = foreign;
  for (const stage of shown) {
    const [from, to] = [predicted.rowStart[stage] ?? 0, predicted.rowStart[stage + 1] ?? 0];
    const [first, end] = [measured.rowStart[stage] ?? 0, measured.rowStart[stage + 1] ?? 0];
    apart += Math.abs(to - from - (end - first));
    for (let at = 0; at < Math.min(to - from, end - first); at++)
      if (predictedRow(predicted, parts, measured, first + at) !== from + at) apart++;
  }
  return apart / measured.kind.length;
}

function stagesWithRows({ stages, rowStart }: Timeline): number[] {
  return Array.from({ length: stages }, (_, stage) => stage).filter((stage) => (rowStart[stage + 1] ?? 0) > (rowStart[stage] ?? 0));
}

/** Row of the predicted timeline that a measured row is, or -1. */
function predictedRow(predicted: Timeline, parts: Parts, measured: Timeline, row: number): number {
  return findRow(predicted, parts, (measured.kind[row] ?? 0) as OperationKind, measured.chunk[row] ?? 0, measured.unit[row] ?? 0);
}

function lengthAt({ startMs, endMs }: Timeline, row: number): number {
  return (endMs[row] ?? 0) - (startMs[row] ?? 0);
}

function stageAgainst(predicted: Timeline, parts: Parts, measured: Timeline, stage: number): StageAgainst {
  const sums = Object.values(part).map(() => ({ predictedMs: 0, measuredMs: 0, passes: 0 }));
  for (let row = measured.rowStart[stage] ?? 0; row < (measured.rowStart[stage + 1] ?? 0); row++) {
    const same = predictedRow(predicted, parts, measured, row);
    const sum = sums[operationPart(measured.kind[row])];
    if (same < 0 || sum === undefined) continue;
    sum.predictedMs += lengthAt(predicted, same);
    sum.measuredMs += lengthAt(measured, row);
    sum.passes++;
  }
  const busy = {
    predictedMs: sums.reduce((ms, sum) => ms + sum.predictedMs, 0),
    measuredMs: sums.reduce((ms, sum) => ms + sum.measuredMs, 0),
  };
  const mean = (of: readonly (typeof sums)[number][], passes: number): PredictedMeasured | null => {
    if (passes === 0) return null;
    const total = (key: keyof PredictedMeasured): number => of.reduce((ms, sum) => ms + sum[key], 0) / passes;
    return { predictedMs: total('predictedMs'), measuredMs: total('measuredMs') };
  };
  const [forward, ...backward] = sums;
  return {
    stage,
    passes: sums.reduce((count, { passes }) => count + passes, 0),
    forward: forward === undefined ? null : mean([forward], forward.passes),
    backward: mean(backward, backward[0]?.passes ?? 0),
    busy,
    ratio: busy.predictedMs > 0 ? busy.measuredMs / busy.predictedMs : 1,
  };
}

/** From the first start to the last end of some stages, and the idle share as `busyTimes` counts it. */
function stagesSpan(timeline: Timeline, shown: readonly number[]): { readonly lengthMs: number; readonly bubble: number } {
  const { rowStart, startMs, endMs } = timeline;
  let [first, last, longest, busy] = [Infinity, -Infinity, 0, 0];
  for (const stage of shown) {
    const [from, to] = [rowStart[stage] ?? 0, rowStart[stage + 1] ?? 0];
    first = Math.min(first, startMs[from] ?? 0);
    last = Math.max(last, endMs[to - 1] ?? 0);
    longest = Math.max(longest, (endMs[to - 1] ?? 0) - (startMs[from] ?? 0));
    for (let row = from; row < to; row++) busy += lengthAt(timeline, row);
  }
  return { lengthMs: last - first, bubble: longest > 0 ? Math.max(0, 1 - busy / shown.length / longest) : 0 };
}

function isEqual(predicted: Timeline, parts: Parts, measured: Timeline): boolean {
  if (measured.kind.length !== predicted.kind.length) return false;
  return measured.kind.every((_, row) => {
    const same = predictedRow(predicted, parts, measured, row);
    const differs = (a: Float64Array, b: Float64Array): boolean => Math.abs((a[row] ?? 0) - (b[same] ?? 0)) > nanosecondsMs;
    return same >= 0 && !differs(measured.startMs, predicted.startMs) && !differs(measured.endMs, predicted.endMs);
  });
}

/**
 * The pass that is first, in measured time, to begin later than predicted by more than the error bar of the time that the plan gives it to
 * end.
 */
function firstLate(predicted: Timeline, parts: Parts, measured: Timeline, error: number): LatePass | null {
  let first = -1;
  for (let row = 0; row < measured.kind.length; row++) {
    const same = predictedRow(predicted, parts, measured, row);
    if (same < 0) continue;
    const late = (measured.startMs[row] ?? 0) - (predicted.startMs[same] ?? 0);
    const isFirst = first < 0 || (measured.startMs[row] ?? 0) < (measured.startMs[first] ?? 0);
    if (late > error * (predicted.endMs[same] ?? 0) && isFirst) first = row;
  }
  if (first < 0) return null;
  return {
    ...passPlace(measured, first),
    row: first,
    predictedMs: predicted.startMs[predictedRow(predicted, parts, measured, first)] ?? 0,
    measuredMs: measured.startMs[first] ?? 0,
  };
}

function passPlace(timeline: Timeline, row: number): PassPlace {
  const { kind, chunk, unit, units, stageOfChunk } = timeline;
  const { microBatch = 0, slice = 0 } = units[unit[row] ?? 0] ?? {};
  return { stage: stageOfChunk[chunk[row] ?? 0] ?? 0, chunk: chunk[row] ?? 0, kind: (kind[row] ?? 0) as OperationKind, microBatch, slice };
}

/** The first place, by stage, at which a whole stage runs another pass than predicted. */
function firstOtherOrder(predicted: Timeline, parts: Parts, measured: Timeline, shown: readonly number[]): OtherOrder | null {
  for (const stage of shown) {
    const [from, to] = [predicted.rowStart[stage] ?? 0, predicted.rowStart[stage + 1] ?? 0];
    const first = measured.rowStart[stage] ?? 0;
    if ((measured.rowStart[stage + 1] ?? 0) - first !== to - from) continue;
    for (let at = 0; at < to - from; at++)
      if (predictedRow(predicted, parts, measured, first + at) !== from + at)
        return { stage, measured: passPlace(measured, first + at), predicted: passPlace(predicted, from + at) };
  }
  return null;
}

/** What stages wait for what their neighbours hand on, from the end of the pass that makes it. */
function transfersAgainst(predicted: Timeline, parts: Parts, measured: Timeline): TransferAgainst[] {
  const [ours, theirs] = [passWaits(predicted, parts), passWaits(measured, indexParts(measured))];
  return [...theirs.entries()]
    .map(([key, { from, to, sumMs, waits }]) => {
      const same = ours.get(key);
      return { from, to, waits, measuredMs: sumMs / waits, predictedMs: same === undefined ? 0 : same.sumMs / same.waits };
    })
    .sort((a, b) => a.from - b.from || a.to - b.to);
}

interface Waits {
  readonly from: number;
  readonly to: number;
  sumMs: number;
  waits: number;
}

function passWaits(timeline: Timeline, parts: Parts): Map<string, Waits> {
  const found = new Map<string, Waits>();
  const { stages, rowStart, startMs, endMs, chunk, stageOfChunk } = timeline;
  for (let to = 0; to < stages; to++)
    for (let row = rowStart[to] ?? 0; row < (rowStart[to + 1] ?? 0); row++) {
      const source = findSourceRow(timeline, parts, row);
      if (source < 0) continue;
      const from = stageOfChunk[chunk[source] ?? 0] ?? 0;
      const free = row > (rowStart[to] ?? 0) ? (endMs[row - 1] ?? 0) : -Infinity;
      if (from === to || (startMs[row] ?? 0) <= free + nanosecondsMs) continue;
      const key = `${from} ${to}`;
      const waits = found.get(key) ?? { from, to, sumMs: 0, waits: 0 };
      waits.sumMs += (startMs[row] ?? 0) - (endMs[source] ?? 0);
      waits.waits++;
      found.set(key, waits);
    }
  return found;
}
