import type { CostInputs } from '../time-model/rates';
import { terapipeBoundary } from '../time-model/stage-time';
import { generateSchedule, problemOf } from '../schedules/registry';
import type { Timeline } from '../schedules/schedule';
import { simulate, wholeBackward } from '../schedules/simulate/simulate';
import type { StageUnits } from './balance';
import type { UnitCost, UnitCosts } from './unit-costs';
import type { Unit } from './units';

/** The active part of one pipeline for one step. */
export interface PipelineStep {
  readonly inputs: CostInputs;
  readonly costs: UnitCosts;
  /** Units that train, in order. */
  readonly active: readonly Unit[];
  readonly stageUnits: StageUnits;
  /** Samples of the step on this pipeline, and in how many micro-batches. */
  readonly batch: number;
  readonly microBatches: number;
  /** Evaluation: backwards take no time. */
  readonly forwardOnly?: boolean;
}

/** Samples of each micro-batch: equal, the first ones one larger where they cannot be. */
function microBatchSizes(batch: number, microBatches: number): number[] {
  const each = Math.floor(batch / microBatches);
  return Array.from({ length: microBatches }, (_, index) => each + (index < batch % microBatches ? 1 : 0));
}

/**
 * Events of one step of a pipeline under GPipe's schedule (torch's `Pipe`, which PipeTransformer runs on): all forwards, then all
 * backwards. The lowest unit that trains needs no gradient of
 * its input, and nothing goes backward below it. This is the only place of this folder that knows schedules and their simulation.
 */
export function simulateStep({ inputs, costs, active, stageUnits, batch, microBatches, forwardOnly = false }: PipelineStep): Timeline {
  const tokens = inputs.training.sequenceLength;
  const sizes = microBatchSizes(batch, microBatches);
  const stages = stageUnits.length;
  const scheme = sizes.map((size) => ({ batch: size, tokens: [tokens] }));
  const schedule = generateSchedule('GPipe', problemOf(scheme, stages));
  const forwardMs = new Float64Array(stages * sizes.length);
  const backwardMs = new Float64Array(stages * sizes.length);
  const layout = { ...inputs.layout, pipeline: stages };
  const transfersMs = new Map<number, number>();
  for (const size of new Set(sizes)) {
    const cost = costs(size);
    transfersMs.set(size, stages < 2 ? 0 : terapipeBoundary({ ...inputs, layout }, size, tokens));
    let from = 0;
    stageUnits.forEach((count, stage) => {
      const { forward, backward } = stageTimes(active, cost, from, from + count);
      from += count;
      sizes.forEach((other, index) => {
        if (other !== size) return;
        forwardMs[stage * sizes.length + index] = forward;
        backwardMs[stage * sizes.length + index] = forwardOnly ? 0 : backward;
      });
    });
  }
  const transfers = Float64Array.from(sizes, (size) => transfersMs.get(size) ?? 0);
  const backwardTransfers = forwardOnly ? new Float64Array(sizes.length) : transfers;
  return simulate(schedule, wholeBackward(forwardMs, backwardMs), { forwardMs: transfers, backwardMs: backwardTransfers, mode: 'edge' });
}

/** Forward and backward of active units `from` to `to - 1`, ms; active unit 0 is the lowest that trains. */
export function stageTimes(
  active: readonly Unit[],
  cost: Readonly<Record<Unit['kind'], UnitCost>>,
  from: number,
  to: number,
): { readonly forward: number; readonly backward: number } {
  let forward = 0;
  let backward = 0;
  for (let index = from; index < to; index++) {
    const unit = active[index];
    if (unit === undefined) continue;
    const { forwardMs, backwardInputMs, backwardWeightMs } = cost[unit.kind];
    forward += forwardMs;
    backward += backwardWeightMs + (index === 0 ? 0 : backwardInputMs);
  }
  return { forward, backward };
}
