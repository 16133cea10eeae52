import { hostGBps } from '../cluster/links';
import { elementBytes } from '../domain/number-formats';
import { stepBytes, traitsOfOptimizer } from '../domain/optimizer';
import type { CostInputs } from './rates';
import { fullestShards } from '../model/parameters';
import { localParameters, type StageLayers } from './gradient-exchange';
import { maximum, minimum } from '../numbers';

/**
 * Optimizer step, ms: as it was measured, else 30 bytes a parameter for mixed-precision Adam. With the distributed optimizer of Megatron-LM
 * a rank updates its share, for which it reads the gradient's norm and scales it to the clip (12 bytes), and touches every gradient once
 * more, in the bytes that its buffers have: zeroes it and, with replicas, divides it by their number before the exchange (`reset` of its
 * gradient buffers, `start_grad_sync`).
 */
export function optimizerTime(inputs: CostInputs, stage: StageLayers): number {
  const { training, layout } = inputs;
  if (training.optimizer === 'none') return 0;
  const state = stepBytes(training);
  if (training.offloadOptimizer === true) return offloadedTime(inputs, stage);
  const { optimizerNsPerParameter } = inputs.constants;
  if (optimizerNsPerParameter !== undefined)
    return total(
      localParameters(inputs, stage),
      (part) => (1e-6 * optimizerNsPerParameter * part.parameters) / (training.zeroStage >= 1 ? fullestShards(training, part) : 1),
    );
  const gradient = training.gradAccumulationFp32 ? 4 : elementBytes(training);
  const wholeBuffer = (layout.data * layout.context > 1 ? 3 : 1) * gradient;
  const bytes = total(
    localParameters(inputs, stage),
    (part) => (training.zeroStage >= 1 ? (state + 12) / fullestShards(training, part) + wholeBuffer : state) * part.parameters,
  );
  return (1e3 * bytes) / (inputs.cluster.gpu.memoryTBps * 1e12 * inputs.constants.memoryEfficiency) + orthogonalTime(inputs, stage);
}

/** Iterations of Newton and Schulz that Muon takes, of three GEMMs each: `X X^T`, its square, and that times X. */
const newtonSchulzSteps = 5;

/**
 * Muon's GEMMs, ms: for a matrix of m x n with m the shorter side 4 m² n + 2 m³ FLOPs an iteration. Matrices are taken to be of the hidden
 * size by the feed-forward's width; with a distributed optimizer ranks divide them.
 */
function orthogonalTime(inputs: CostInputs, stage: StageLayers): number {
  const { model, training, layout, cluster } = inputs;
  if (traitsOfOptimizer(training.optimizer).orthogonalises !== true) return 0;
  const sides = [model.hidden, Math.max(model.hidden, model.ffn) / layout.tensor];
  const [short, long] = [minimum(sides), maximum(sides)];
  const own = ownParameters(inputs, stage);
  const flops = newtonSchulzSteps * (4 * short + (2 * short ** 2) / long) * own;
  const { peakTflops, gemmEfficiency } = cluster.gpu;
  return (1e3 * flops) / (peakTflops[training.precision] * 1e12 * gemmEfficiency);
}

/**
 * Parameters a second that the processors of a node update with Adam: about 0.25 s a billion (ZeRO-Offload, arXiv 2101.06840, section 6).
 */
const hostUpdates = 4e9;

/** Optimizer on the host, ms: gradients down, the update by the node's processors, weights up. */
function offloadedTime(inputs: CostInputs, stage: StageLayers): number {
  const { training, cluster } = inputs;
  const element = elementBytes(training);
  const own = ownParameters(inputs, stage);
  const moved = (training.gradAccumulationFp32 ? 4 : element) + element;
  return 1e3 * ((moved * own) / (1e9 * hostGBps(cluster)) + (own * cluster.gpusPerNode) / hostUpdates);
}

/** Parameters that a rank updates: its shard, or all that it holds. */
function ownParameters(inputs: CostInputs, stage: StageLayers): number {
  const { training } = inputs;
  return total(localParameters(inputs, stage), (part) => part.parameters / (training.zeroStage >= 1 ? fullestShards(training, part) : 1));
}

function total<T>(parts: readonly T[], value: (part: T) => number): number {
  return parts.reduce((sum, part) => sum + value(part), 0);
}
