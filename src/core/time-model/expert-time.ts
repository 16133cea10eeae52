import { elementBytes } from '../domain/number-formats';
import { expertInput, expertTensorSize, upProjections } from '../model/parameters';
import { runtimeProfile } from '../domain/runtime';
import type { RecomputeModule } from '../domain/recompute';
import type { Experts } from '../domain/model';
import { joinedGpus } from '../domain/cluster';
import type { ExpertDispatcher } from '../domain/settings/communication';
import { allToAllSeconds, gatherSeconds } from './collectives';
import type { CostInputs, DeviceRates } from './rates';
import { addOperation, addProduct, addWait, type Tally } from './tally';

/** Adds operations that belong to modules which may be recomputed by themselves. */
type Within = (modules: readonly RecomputeModule[], add: () => void) => void;

/**
 * Router, permutation, experts, un-permutation and shared experts for `localTokens` rows, balanced: every expert of the rank gets as many
 * rows. Slices with fewer visits than experts leave some idle, whose weights are not read. See docs/model/time.md, Experts.
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
  const { gemm, traffic, floor: floorOfRouter, expertFloor: floor } = rates;
  const { hidden: h, gatedMlp } = model;
  const { count, active, sharedFfn = 0 } = experts;
  const f = model.ffn / expertTensorSize(layout);
  const up = upProjections(model);
  const routed = training.sequenceParallel ? localTokens / layout.tensor : localTokens;
  within(['moe'], () => {
    addOperation(sum, floorOfRouter, gemm(routed, count, h), gemm(routed, h, count), gemm(h, count, routed));
  });

  const expertRates = { ...rates, floor };
  const w = expertInput(model, experts);
  if (experts.latent !== undefined)
    for (const [columns, inner] of [
      [w, h],
      [h, w],
    ] as const)
      within(['moe'], () => {
        addProduct(sum, rates, [routed, columns, inner]);
      });
  const visits = rowsOfExperts(inputs, active, localTokens);
  const isGrouped = hasGroupedExperts(training);
  const moved = traffic((sortsTwice(inputs) ? 8 : 4) * visits * w);
  within(['moe'], () => {
    addOperation(sum, floor, moved, moved);
    addOperation(sum, floor, moved, moved);
  });

  const busy = Math.min(count / layout.expert, visits);
  const host = isGrouped ? 0 : hostSeconds(inputs, rates, count);
  within(['moe'], () => {
    addWait(sum, host, 2 * host);
  });
  const network = (
    rows: number,
    [ends, width]: readonly [number, number],
    batch: number,
    whole: RecomputeModule,
    activation: RecomputeModule,
  ): void => {
    within(['moe', whole], () => {
      for (const [columns, inner] of [
        [up * width, ends],
        [ends, width],
      ] as const)
        addProduct(
          sum,
          expertRates,
          isGrouped ? [rows * batch, columns, inner] : [rows, columns, inner],
          isGrouped ? 1 : batch,
          !isGrouped,
        );
    });
    within(['moe', activation], () => {
      addOperation(sum, floor, traffic((gatedMlp ? 6 : 4) * rows * batch * width), traffic((gatedMlp ? 10 : 6) * rows * batch * width));
    });
  };
  network(visits / busy, [w, f], busy, 'moe', 'moe_act');
  if (model.mlpBias && isMegatron(training) && !isGrouped)
    within(['moe'], () => {
      addOperation(sum, floor, traffic(biasBytes.forward * visits * w), traffic(biasBytes.backward * visits * w));
    });
  if (sharedFfn > 0) network(localTokens, [h, sharedFfn / layout.tensor], 1, 'shared_experts', 'shared_experts');
}

/**
 * Whether grouped kernels multiply and quantise all experts of a rank at once: those that whole iterations in CUDA graphs are recorded with
 * (`use_transformer_engine_op_fuser` and `moe_paged_stash` of Megatron-Bridge's recipes from 26.06 on). Without them the host quantises
 * expert by expert.
 */
function hasGroupedExperts(training: CostInputs['training']): boolean {
  return isMegatron(training) && training.gemmPrecision !== undefined && training.cudaGraphs === 'iteration';
}

function isMegatron(training: CostInputs['training']): boolean {
  return runtimeProfile(training).id === 'megatron';
}

/**
 * Whether rows are sorted before they are exchanged, by rank, and after it, by expert: `permute` and `sort_chunks_by_idxs` of Megatron-LM's
 * all-to-all dispatcher. DeepEP and HybridEP send tokens as they lie and sort them once, where they arrive
 * (`get_permuted_hidden_states_by_experts`, `dispatch_with_permute`).
 */
function sortsTwice({ training, layout }: CostInputs): boolean {
  return layout.expert > 1 && expertDispatcher(training) === 'alltoall' && !hasGroupedExperts(training);
}

function expertDispatcher({ expertDispatcher }: CostInputs['training']): ExpertDispatcher {
  return expertDispatcher ?? 'alltoall';
}

/**
 * Operations that the host issues for each expert of a rank in forward, while the device waits: it has read the rows of each expert back
 * (`tokens_per_expert.tolist()` of Megatron-LM's `TEGroupedMLP`), then it pads, quantises and multiplies, or adds biases, expert by expert.
 * Backward has twice as many. Fitted on Qwen3's rows of Megatron-Bridge's table.
 */
const hostOperations = 1;
/** How many times as long the host takes to issue two micro-batches in turn, so that the exchange of one overlaps with the other. */
const hostInTurn = 2;

/** What a forward waits for the host in a layer with experts, seconds. */
function hostSeconds({ model, training, layout }: CostInputs, { expertFloor }: DeviceRates, count: number): number {
  const { gemmPrecision, overlapExpertComm } = training;
  if (!isMegatron(training) || (gemmPrecision === undefined && !model.mlpBias)) return 0;
  return (overlapExpertComm === true ? hostInTurn : 1) * hostOperations * expertFloor * (count / layout.expert);
}

/**
 * What adding the bias of a second product moves for each element of its output, expert by expert and in fp32 as the probabilities are:
 * bias times probability, sum, concatenation and cast; in backward the casts, both factors' gradients and their sums (`_apply_bias` of
 * Megatron-LM core 0.15 to 0.18).
 */
const biasBytes = { forward: 28, backward: 40 } as const;

/** Rows that the experts of a rank work on: every visit of its tokens, and of those gathered from the ranks that share each expert. */
export function rowsOfExperts({ training, layout }: CostInputs, active: number, localTokens: number): number {
  return localTokens * active * (training.sequenceParallel ? expertTensorSize(layout) / layout.tensor : 1);
}

/**
 * Two all-to-alls, to the experts' ranks and back, of every row once per expert it visits, or once per rank and node (`visited`); with
 * sequence parallelism tensor-parallel ranks share the rows, and ranks that share an expert gather them and scatter what it makes of them.
 * One pass, seconds.
 */
export function expertSeconds(inputs: CostInputs, experts: Experts, localTokens: number): number {
  const { model, training, layout, cluster } = inputs;
  const rows = localTokens * (training.sequenceParallel ? 1 / layout.tensor : 1);
  const bytes = elementBytes(training) * rows * expertInput(model, experts);
  const shared = expertTensorSize(layout);
  const gathered = training.sequenceParallel ? 2 * gatherSeconds(bytes * experts.active * shared, shared, cluster) : 0;
  return 2 * dispatchSeconds(inputs, experts, bytes, shared) + gathered;
}

/**
 * What DeepEP's and HybridEP's kernels reach of the presets' buses and networks. Over links they move 134 to 138 GB/s on H800, 590 to 643
 * on B200 and 580 to 668 on GB200 (8 to 36 ranks), 0.93 of the bus on each; over 4 and 8 nodes 43 to 45 GB/s a GPU whose NIC has 50. Tables
 * of deepseek-ai/DeepEP (documentation of version 1 at 0297fc8; of Hybrid-EP at 41cad94, time of the kernels, bf16), less what stays on the
 * rank or the node.
 */
const kernelShare = { bus: 0.93, network: 0.89 } as const;

/** One exchange of what each rank has `bytes` of for each expert that a token visits, between experts that lie `stride` GPUs apart. */
function dispatchSeconds({ training, layout, cluster }: CostInputs, experts: Experts, bytes: number, stride: number): number {
  const { expert } = layout;
  if (expertDispatcher(training) === 'alltoall') return allToAllSeconds(experts.active * bytes, expert, stride, cluster);
  const inside = Math.min(expert, Math.max(1, Math.floor(joinedGpus(cluster) / stride)));
  const nodes = expert / inside;
  // what arrives at a rank comes over its node's links, and from other nodes once for all of a node's ranks
  const within = allToAllSeconds((visited(expert, experts) * bytes) / kernelShare.bus, inside, stride, cluster);
  return nodes > 1
    ? Math.max(within, allToAllSeconds((visited(nodes, experts) * bytes) / kernelShare.network, expert, stride, cluster))
    : within;
}

/**
 * How many of `places` that are alike hold one or more of the experts that a token visits, on average; no more than hold one of its groups.
 */
function visited(places: number, { active, groups }: Experts): number {
  const spread = (among: number): number => among * (1 - (1 - 1 / among) ** active);
  if (groups === undefined) return spread(places);
  if (places >= groups.count) return spread((places * groups.active) / groups.count);
  let noGroup = 1;
  for (let i = 0; i < groups.active; i++) noGroup *= Math.max(0, groups.count * (1 - 1 / places) - i) / (groups.count - i);
  return Math.min(spread(places), places * (1 - noGroup));
}
