import { makePlan } from '../../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../../src/core/planner/plan';
import type { PlanRequest } from '../../../../../src/core/domain/request';
import { chromeTrace } from '../../../../../src/core/export/chrome-trace';
import { part, operationPart } from '../../../../../src/core/schedules/parts';
import { operationKind, type Timeline } from '../../../../../src/core/schedules/schedule';
import type { ScheduleName } from '../../../../../src/core/domain/schedule-names';
import { noTransfers, simulate } from '../../../../../src/core/schedules/simulate/simulate';
import { llama3, request } from '../../../../golden/requests';

/** Eight layers of Llama 3 70B on eight H100, four stages; coarse slices, which take less time to plan. */
export function fourStages(schedule: ScheduleName, changed: Partial<PlanRequest> = {}): PlanRequest {
  const asked = request('H100-80GB', llama3('70b', 8), {
    training: { precision: 'bf16', attention: 'flash', globalBatch: 16, sequenceLength: 4096, zeroStage: 1 },
    layout: { tensor: 2, pipeline: 4 },
  });
  return { ...asked, slicing: { unit: 512, scheme: null }, schedule, ...changed };
}

/** A plan whose timeline has no transfers, so that it can be simulated again with other times. */
export function planOf(schedule: ScheduleName): Plan {
  const plan = makePlan(fourStages(schedule));
  const chosen = chosenCandidate(plan);
  return { ...plan, candidates: [{ ...chosen, timeline: slowed(timelineOf(plan), -1, 1) }] };
}

export function timelineOf(plan: Plan): Timeline {
  const { timeline } = chosenCandidate(plan);
  if (timeline === null) throw new Error('no timeline');
  return timeline;
}

/** The same schedule with the passes of one stage (or with -1 of none) that much longer. */
export function slowed(timeline: Timeline, stage: number, factor: number): Timeline {
  const { kind, chunk, unit, units, stageOfChunk, startMs, endMs } = timeline;
  const columns = Object.values(part).map(() => new Float64Array(stageOfChunk.length * units.length));
  kind.forEach((what, row) => {
    const cell = chunk[row]! * units.length + unit[row]!;
    columns[operationPart(what)]![cell] =
      (endMs[row]! - startMs[row]!) * (stage === -2 || stageOfChunk[chunk[row]!] === stage ? factor : 1);
  });
  const [forwardMs, backwardInputMs, backwardWeightMs] = columns;
  return simulate(
    timeline,
    { forwardMs: forwardMs!, backwardInputMs: backwardInputMs!, backwardWeightMs: backwardWeightMs! },
    noTransfers(units.length),
  );
}

/** Our own export of a timeline. */
export function exported(timeline: Timeline): string {
  return [...chromeTrace(timeline, { title: 'a run' })].join('');
}

export interface TraceEvent {
  readonly [key: string]: unknown;
  readonly ts: number;
  readonly dur: number;
}

/** The passes of a timeline as events made by `make` of each, times in microseconds from `fromUs` on. */
export function eventsOf(
  timeline: Timeline,
  make: (pass: { readonly stage: number; readonly chunk: number; readonly kind: number; readonly microBatch: number }) => object,
  fromUs = 0,
): TraceEvent[] {
  return Array.from(timeline.kind, (kind, row) => {
    const chunk = timeline.chunk[row]!;
    const pass = { stage: timeline.stageOfChunk[chunk]!, chunk, kind, microBatch: timeline.units[timeline.unit[row]!]!.microBatch };
    const [start, end] = [timeline.startMs[row]!, timeline.endMs[row]!];
    return { ph: 'X', ts: fromUs + 1e3 * start, dur: 1e3 * (end - start), ...make(pass) };
  });
}

/** Name of a pass as PyTorch's pipelining records it. */
export function pytorchName({
  chunk,
  kind,
  microBatch,
}: {
  readonly chunk: number;
  readonly kind: number;
  readonly microBatch: number;
}): string {
  return `PP:${chunk}${kind === operationKind.forward ? 'F' : kind === operationKind.backward ? 'B' : kind === operationKind.backwardInput ? 'I' : 'W'}${microBatch}`;
}
