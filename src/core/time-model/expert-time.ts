import { elementBytes } from '../spec/number-formats';
import { expertTensorOf, upProjections } from '../model/parameters';
import type { RecomputeModule } from '../spec/recompute';
import type { Experts } from '../spec/model';
import { allToAllSeconds, gatherSeconds } from './collectives';
import type { CostInputs, DeviceRates } from './rates';
import { addOperation, addProduct, type Tally } from './tally';

/** Adds operations that belong to modules which may be recomputed alone. */
type Within = (modules: readonly RecomputeModule[], add: () => void) => void;

/**
 * Router, permutation, experts, un-permutation and shared experts for `localTokens` rows, balanced: every expert of the rank gets as many
 * rows. Slices with fewer visits than experts leave some
 * idle, whose weights are not read. See docs/model/time.md, Experts.
 */
export function addExperts(
  sum: Tally,
  inputs: CostInputs,
  rates: DeviceRates,
  localTokens: number,
  experts: Experts,
  within: Within,
): void {
  const { model, training, layout } = inputs;
  const { gemm, traffic, floor } = rates;
  const { hidden: h, gatedMlp } = model;
  const { count, active, sharedFfn = 0 } = experts;
  const f = model.ffn / expertTensorOf(layout);
  const up = upProjections(model);
  const routed = training.sequenceParallel ? localTokens / layout.tensor : localTokens;
  within(['moe'], () => {
    addOperation(sum, floor, gemm(routed, count, h), gemm(routed, h, count), gemm(h, count, routed));
  });

  const visits = rowsOfExperts(inputs, active, localTokens);
  const isGrouped = hasGroupedExperts(training);
  const moved = traffic((layout.expert > 1 && !isGrouped ? 8 : 4) * visits * h);
  within(['moe'], () => {
    addOperation(sum, floor, moved, moved);
    addOperation(sum, floor, moved, moved);
  });

  const busy = Math.min(count / layout.expert, visits);
  const network = (rows: number, width: number, batch: number, whole: RecomputeModule, activation: RecomputeModule): void => {
    within(['moe', whole], () => {
      for (const [columns, inner] of [
        [up * width, h],
        [h, width],
      ] as const)
        addProduct(sum, rates, isGrouped ? [rows * batch, columns, inner] : [rows, columns, inner], isGrouped ? 1 : batch, !isGrouped);
    });
    within(['moe', activation], () => {
      addOperation(sum, floor, traffic((gatedMlp ? 6 : 4) * rows * batch * width), traffic((gatedMlp ? 10 : 6) * rows * batch * width));
    });
  };
  network(visits / busy, f, busy, 'moe', 'moe_act');
  if (sharedFfn > 0) network(localTokens, sharedFfn / layout.tensor, 1, 'shared_experts', 'shared_experts');
}

/**
 * Release of NVIDIA's containers from which grouped kernels multiply and quantise all local experts at once (Megatron-Bridge's table:
 * experts in MXFP8 gained 1.17 to 1.53 between 26.04 and 26.06).
 */
const groupedSince = 26.06;

/**
 * Whether the release that is planned for runs the experts of a rank as one grouped product; not where none is given: constants were
 * measured on earlier ones.
 */
function hasGroupedExperts({ runtimeVersion, gemmPrecision, runtime = 'megatron' }: CostInputs['training']): boolean {
  return (
    runtime === 'megatron' &&
    gemmPrecision !== undefined &&
    runtimeVersion !== undefined &&
    Number.parseFloat(runtimeVersion) >= groupedSince
  );
}

/** Rows that the experts of a rank work on: every visit of its tokens, and of those gathered from the ranks that share each expert. */
function rowsOfExperts({ training, layout }: CostInputs, active: number, localTokens: number): number {
  return localTokens * active * (training.sequenceParallel ? expertTensorOf(layout) / layout.tensor : 1);
}

/**
 * Two all-to-alls, to the experts' ranks and back, of every row once per expert it visits; with sequence parallelism tensor-parallel ranks
 * share the rows, and ranks that share an expert
 * gather them and scatter what it makes of them. One pass, seconds.
 */
export function expertSeconds(inputs: CostInputs, active: number, localTokens: number): number {
  const { model, training, layout, cluster } = inputs;
  const rows = localTokens * active * (training.sequenceParallel ? 1 / layout.tensor : 1);
  const bytes = elementBytes(training) * rows * model.hidden;
  const shared = expertTensorOf(layout);
  const gathered = training.sequenceParallel ? 2 * gatherSeconds(bytes * shared, shared, cluster) : 0;
  return 2 * allToAllSeconds(bytes, layout.expert, shared, cluster) + gathered;
}
