import { elementBytes } from '../../../core/domain/number-formats';
import type { CostInputs } from '../../../core/time-model/rates';
import { masterBytes, stateBytes } from '../../../core/domain/optimizer';
import type { UnitCosts } from './unit-costs';
import type { Unit } from './units';
import type { StageBytes } from './stage-bytes';

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
