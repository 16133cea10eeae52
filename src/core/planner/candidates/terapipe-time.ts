import { memoized } from '../../records';
import { gradientExchangeTime } from '../../time-model/gradient-exchange';
import type { SliceCost } from '../../domain/slice-cost';
import { schemeUnits, type WorkUnit } from '../../schedules/schedule';
import type { Scheme } from '../../domain/scheme';
import type { Pipeline } from '../predict/pipeline';
import { scheduleTransfers } from '../predict/transfers';
import { maximum } from '../../numbers';

/** What cuts are compared by: the time of a step of TeraPipe's schedule, ms, without the parts that all cuts share. */
interface SlicedStepTime {
  (scheme: Scheme): number;
  /** Of it, what follows the pipeline, where that is the same for all cuts too; null where it overlaps with their passes. */
  readonly collectivesMs: number | null;
  /**
   * Of it, what the first forward and the last backward wait for sends, where stages do not wait for all of theirs: eq. 5 knows nothing of
   * it.
   */
  readonly lateMs: (scheme: Scheme) => number;
}

/**
 * Times cuts of a pipeline as the simulation of TeraPipe's schedule does, in O(stages x slices) without making it: all forwards in order,
 * then all backwards in reverse, sends as the runtime has them. The optimizer is left out.
 */
export function slicedStepTime(pipeline: Pipeline): SlicedStepTime {
  const { stages } = pipeline;
  const { training } = pipeline.inputs;
  const overlaps = training.overlapGradReduce === true || training.overlapParamGather === true;
  const collectiveMs = (step: DrainedStep): number =>
    maximum(
      stages.map(({ inputs, contents }, stage) =>
        gradientExchangeTime(inputs, contents, {
          weights: { share: 1, ms: step.firstForwardMs },
          gradients: [{ share: 1, ms: step.pipelineMs - (step.lastStartMs[stage] ?? 0) }],
        }),
      ),
    );
  const nothing: DrainedStep = { pipelineMs: 0, firstForwardMs: 0, lastStartMs: new Float64Array(stages.length) };
  const collectivesMs = overlaps ? null : collectiveMs(nothing);
  const passes = createPasses();
  return Object.assign(
    (scheme: Scheme): number => {
      const step = drained(pipeline, scheme, passes);
      return step.pipelineMs + (collectivesMs ?? collectiveMs(step));
    },
    {
      collectivesMs,
      lateMs: (scheme: Scheme): number =>
        drained(pipeline, scheme, passes).pipelineMs - drained(pipeline, scheme, passes, { isLate: false }).pipelineMs,
    },
  );
}

interface DrainedStep {
  readonly pipelineMs: number;
  readonly firstForwardMs: number;
  /** When the last backward of each stage starts. */
  readonly lastStartMs: Float64Array;
}

/** The passes of units on a stage, in their order, ms. */
interface UnitPasses {
  readonly forwardMs: Float64Array;
  readonly backwardMs: Float64Array;
}

type Passes = (cost: SliceCost, units: readonly WorkUnit[]) => UnitPasses;

/** Remembers passes: cuts of one pipeline share many slices. */
function createPasses(): Passes {
  const known = new Map<SliceCost, Map<string, ReturnType<SliceCost>>>();
  return (cost, units) => {
    const ofCost = memoized(known, cost, () => new Map<string, ReturnType<SliceCost>>());
    const times = units.map(({ batch, tokens, context }) =>
      memoized(ofCost, `${batch},${tokens},${context}`, () => cost(batch, tokens, context)),
    );
    return {
      forwardMs: Float64Array.from(times, ({ forwardMs }) => forwardMs),
      backwardMs: Float64Array.from(times, ({ backwardMs }) => backwardMs),
    };
  };
}

/** @param isLate whether the first forward and the last backward wait for sends that hold no stage. */
function drained(pipeline: Pipeline, scheme: Scheme, passes: Passes, { isLate } = { isLate: true }): DrainedStep {
  const units = schemeUnits(scheme);
  const ofCost = new Map<SliceCost, UnitPasses>();
  const own = pipeline.stages.map(({ cost }) => memoized(ofCost, cost, () => passes(cost, units)));
  const stages = own.length;
  const { forwardMs, backwardMs, perChunk, mode } = scheduleTransfers(pipeline, {
    units,
    stageOfChunk: Uint32Array.from({ length: stages }, (_, stage) => stage),
  });
  const send = (column: Float64Array, stage: number, unit: number): number =>
    column[perChunk === true ? stage * units.length + unit : unit] ?? 0;
  const held = (column: Float64Array, stage: number, unit: number): number => (mode === 'blocking' ? send(column, stage, unit) : 0);
  /** Otherwise only the first forward and the last backward, both of the first unit, wait for what stages hand on. */
  const late = (column: Float64Array, stage: number, unit: number): number =>
    !isLate || mode === 'blocking' || unit !== 0 || stage < 0 || stage >= stages ? 0 : send(column, stage, unit);
  /** When each unit is done on the stage before; that stage's forwards end at `forwardEndMs`. */
  const done = new Float64Array(units.length);
  const forwardEndMs = new Float64Array(stages);
  const lastStartMs = new Float64Array(stages);
  let firstForwardMs = 0;
  own.forEach((pass, stage) => {
    let free = 0;
    for (let index = 0; index < units.length; index++) {
      free =
        Math.max(free, (done[index] ?? 0) + late(forwardMs, stage - 1, index)) +
        (pass.forwardMs[index] ?? 0) +
        held(forwardMs, stage, index);
      done[index] = free;
      if (stage === 0 && index === 0) firstForwardMs = free;
    }
    forwardEndMs[stage] = free;
  });
  done.fill(0);
  let pipelineMs = 0;
  for (let stage = stages - 1; stage >= 0; stage--) {
    const backward = own[stage]?.backwardMs;
    let free = forwardEndMs[stage] ?? 0;
    for (let index = units.length - 1; index >= 0; index--) {
      const start = Math.max(free, (done[index] ?? 0) + late(backwardMs, stage + 1, index));
      lastStartMs[stage] = start;
      free = start + (backward?.[index] ?? 0) + held(backwardMs, stage, index);
      done[index] = free;
    }
    pipelineMs = Math.max(pipelineMs, free);
  }
  return { pipelineMs, firstForwardMs, lastStartMs };
}
