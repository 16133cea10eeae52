import type { GpuSpec } from '../../../core/domain/cluster';
import { elementBytes } from '../../../core/domain/number-formats';
import type { CostInputs } from '../../../core/time-model/rates';
import { verdictOfPeak, type MemoryVerdict } from '../../../core/memory-model/verdict';
import { masterBytes, stateBytes } from '../../../core/domain/optimizer';
import type { UnitCosts } from './unit-costs';
import type { Unit } from './units';
import { maximum } from '../../../core/numbers';

/** Bytes of a GPU by what they hold. */
export interface StageBytes {
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  readonly activations: number;
  /** Frozen layers on the first stage: their weights, and what one pass of them holds. */
  readonly frozen: number;
}

/**
 * Bytes that active units `from` to `to - 1` take on their GPU when `batch` samples pass in micro-batches of which all are in flight (GPipe
 * without recompute). Frozen layers have no gradients, no optimizer state and keep no activations.
 */
export function activeBytes(
  inputs: CostInputs,
  costs: UnitCosts,
  active: readonly Unit[],
  [from, to]: readonly [number, number],
  batch: number,
): StageBytes {
  const { training } = inputs;
  const element = elementBytes(training);
  const held = active.slice(from, to);
  const parameters = held.reduce((sum, unit) => sum + unit.parameters, 0);
  const state = masterBytes(training) + stateBytes(training);
  const cost = costs(batch);
  return {
    weights: element * parameters,
    gradients: (training.gradAccumulationFp32 ? 4 : element) * parameters,
    optimizer: state * parameters,
    activations: held.reduce((sum, { kind }) => sum + cost[kind].savedBytes, 0),
    frozen: 0,
  };
}

/** Bytes of the frozen prefix on the first GPU of a pipeline: weights, and the widest step of a pass of the whole batch. */
export function frozenBytes(inputs: CostInputs, frozen: readonly Unit[], batch: number): number {
  if (frozen.length === 0) return 0;
  const { model, training } = inputs;
  const element = elementBytes(training);
  const rows = batch * training.sequenceLength;
  return (
    element *
    (frozen.reduce((sum, { parameters }) => sum + parameters, 0) + rows * (2 * model.hidden + (model.gatedMlp ? 2 : 1) * model.ffn))
  );
}

/** All of it. */
export function totalBytes({ weights, gradients, optimizer, activations, frozen }: StageBytes): number {
  return weights + gradients + optimizer + activations + frozen;
}

/** The verdict on the stages of an epoch, whose GPUs are alike: that of the fullest one. */
export function epochVerdict(stageBytes: readonly StageBytes[], { memoryBytes }: Pick<GpuSpec, 'memoryBytes'>): MemoryVerdict {
  const totals = stageBytes.map(totalBytes);
  const peakBytes = maximum(totals);
  return verdictOfPeak({ peakBytes, capacityBytes: memoryBytes, stage: totals.indexOf(peakBytes), stages: totals.length });
}
