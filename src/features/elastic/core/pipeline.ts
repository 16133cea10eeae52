import type { CostInputs } from '../../../core/time-model/rates';
import { terapipeBoundary } from '../../../core/time-model/boundary';
import { generateSchedule, toScheduleProblem } from '../../../core/schedules/registry';
import { operationKind, type Schedule, type Timeline } from '../../../core/schedules/schedule';
import { simulate, wholeBackward } from '../../../core/schedules/simulate/simulate';
import type { elasticScheduleNames } from '../../../core/run/elastic';
import type { StageUnits } from './balance';
import type { ElasticRequest } from './request';
import type { UnitCost, UnitCosts } from './unit-costs';
import type { Unit } from './units';

type ElasticSchedule = (typeof elasticScheduleNames)[number];

/** How a pipeline passes its samples. */
interface Passing {
  readonly schedule: ElasticSchedule;
  readonly microBatches: number;
  /** Tokens of the slices of every sequence, in order; one for the whole of it. */
  readonly slices: readonly number[];
}

/** One pipeline for one step. */
export interface PipelineStep extends Passing {
  readonly inputs: CostInputs;
  readonly costs: UnitCosts;
  /** Units that pass through it, in order; the first `frozen` of them forward only. */
  readonly active: readonly Unit[];
  readonly frozen: number;
  readonly stageUnits: StageUnits;
  /** Samples of the step on this pipeline. */
  readonly batch: number;
  /** Evaluation: backwards take no time. */
  readonly forwardOnly?: boolean;
}

/** Samples of each micro-batch: equal, the first ones one larger where they cannot be. */
function microBatchSizes(batch: number, microBatches: number): number[] {
  const each = Math.floor(batch / microBatches);
  return Array.from({ length: microBatches }, (_, index) => each + (index < batch % microBatches ? 1 : 0));
}

/** What a schedule is called on slices, and whether frozen layers may pass through its stages: torch's `Pipe` runs them before it. */
const traits: Readonly<Record<ElasticSchedule, { readonly sliced: string; readonly passesFrozen: boolean }>> = {
  GPipe: { sliced: 'TeraPipe', passesFrozen: false },
  '1F1B': { sliced: 'Seq1F1B', passesFrozen: true },
};

/** Whether frozen layers may pass through the stages, forward only: with slices they always may. */
export function passesFrozen({ schedule, tokenSlices }: Pick<ElasticRequest, 'schedule' | 'tokenSlices'>): boolean {
  return traits[schedule].passesFrozen || tokenSlices !== 1;
}

/** The name under which schedules are made: sliced GPipe is TeraPipe's, sliced 1F1B is Seq1F1B's. */
function generatorName({ schedule, slices }: Passing): string {
  return slices.length < 2 ? schedule : traits[schedule].sliced;
}

/**
 * Events of one step of a pipeline: under GPipe's schedule (torch's `Pipe`, which PipeTransformer runs on) all forwards, then all
 * backwards; under 1F1B each backward as soon as it can. The lowest unit that trains needs no gradient of its input, and nothing goes
 * backward below it. This is the only place of this folder that knows schedules and their simulation.
 */
export function simulateStep(step: PipelineStep): Timeline {
  const { inputs, costs, active, frozen, stageUnits, batch, microBatches, slices, forwardOnly = false } = step;
  const stages = stageUnits.length;
  const scheme = microBatchSizes(batch, microBatches).map((size) => ({ batch: size, tokens: slices }));
  const schedule = generateSchedule(generatorName(step), toScheduleProblem(scheme, stages));
  const { units } = schedule;
  const forwardMs = new Float64Array(stages * units.length);
  const backwardMs = new Float64Array(stages * units.length);
  const transfers = new Float64Array(units.length);
  const layout = { ...inputs.layout, order: 'tp-cp-ep-pp-dp' as const, pipeline: stages };
  const alike = new Map<string, number[]>();
  units.forEach(({ batch: size, tokens, context }, unit) => {
    const key = [size, tokens, context].join();
    alike.set(key, [...(alike.get(key) ?? []), unit]);
  });
  for (const indices of alike.values()) {
    const { batch: size, tokens, context } = units[indices[0] ?? 0] ?? { batch: 0, tokens: 0, context: 0 };
    const cost = costs(size, { tokens, context });
    const sendMs = stages < 2 ? 0 : terapipeBoundary({ ...inputs, layout }, size, tokens);
    for (const unit of indices) transfers[unit] = sendMs;
    let from = 0;
    stageUnits.forEach((count, stage) => {
      const { forward, backward } = stageTimes(active, cost, from, from + count, frozen);
      from += count;
      for (const unit of indices) {
        forwardMs[stage * units.length + unit] = forward;
        backwardMs[stage * units.length + unit] = forwardOnly ? 0 : backward;
      }
    });
  }
  const backwardTransfers = forwardOnly ? new Float64Array(units.length) : transfers;
  return simulate(schedule, wholeBackward(forwardMs, backwardMs), { forwardMs: transfers, backwardMs: backwardTransfers, mode: 'edge' });
}

/** Samples whose activations each stage holds at most, slices as their share of a sample. */
export function samplesInFlight({ stages, rowStart, kind, unit, units }: Schedule): number[] {
  const whole = new Map<number, number>();
  for (const { microBatch, tokens } of units) whole.set(microBatch, (whole.get(microBatch) ?? 0) + tokens);
  const shares = units.map(({ microBatch, batch, tokens }) => (batch * tokens) / (whole.get(microBatch) ?? 1));
  return Array.from({ length: stages }, (_, stage) => {
    let [held, most] = [0, 0];
    for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
      const share = shares[unit[row] ?? 0] ?? 0;
      held += kind[row] === operationKind.forward ? share : -share;
      most = Math.max(most, held);
    }
    return most;
  });
}

/** Forward and backward of units `from` to `to - 1`, ms; those below `frozen` run forward only, and `frozen` is the lowest that trains. */
export function stageTimes(
  active: readonly Unit[],
  cost: Readonly<Record<Unit['kind'], UnitCost>>,
  from: number,
  to: number,
  frozen = 0,
): { readonly forward: number; readonly backward: number } {
  let forward = 0;
  let backward = 0;
  for (let index = from; index < to; index++) {
    const unit = active[index];
    if (unit === undefined) continue;
    const { forwardMs, backwardInputMs, backwardWeightMs } = cost[unit.kind];
    forward += forwardMs;
    if (index >= frozen) backward += backwardWeightMs + (index === frozen ? 0 : backwardInputMs);
  }
  return { forward, backward };
}
