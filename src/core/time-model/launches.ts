import type { PartFit, Profile, TimeFit } from '../domain/profile';
import type { CostInputs } from './rates';
import { minimum } from '../numbers';

/**
 * What a CUDA graph takes of the launches that it replaces: on an H200 a layer of GPT-2 took 0.039 ms for 64 tokens in a graph, and 0.14 ms
 * in ONNX Runtime, which launched it node by node (docs/profiling.md, Measured on an H200).
 */
const graphShare = 0.28;

/**
 * The fit of a profile's layer as the trainer runs it: without most of the launches that the profile measured where CUDA graphs replace
 * them, and as it was measured otherwise. A shorter slice never takes less than that share of its time.
 */
export function launchedFit(layer: PartFit, profile: Profile, training: CostInputs['training']): PartFit {
  const { launches } = profile;
  if (launches === null || !replacesLaunches(profile, training)) return layer;
  const shifted = (fit: TimeFit, floorMs: number): TimeFit => {
    const lessMs = (1 - graphShare) * Math.min(floorMs, minimum(fit.rows.ms));
    return { ...fit, rows: { ...fit.rows, ms: fit.rows.ms.map((ms) => ms - lessMs) } };
  };
  return { forward: shifted(layer.forward, launches.forwardMs), backward: shifted(layer.backward, launches.backwardMs) };
}

/** Graphs of single layers leave the experts out. */
export function replacesLaunches({ device, shape, launches }: Profile, { cudaGraphs }: CostInputs['training']): boolean {
  if (launches === null || device.kind !== 'gpu' || cudaGraphs === undefined) return false;
  return shape.experts === null || cudaGraphs === 'iteration';
}
