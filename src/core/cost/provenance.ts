import type { CostInputs } from './layer-time';
import { floorShare } from './stage-time';
import type { CostProvenance } from './slice-cost';

/**
 * Where the analytic times come from and how far to trust them: +-15 % with a fitted GEMM efficiency and under 20 % of layer time on the issue floor, +-20 % when the floor takes
 * more or tensor parallelism crosses nodes, +-35 % for a GPU without its own efficiency or Ethernet-class links. Source: project facts on step time, section 8.
 */
export function rooflineProvenance(inputs: CostInputs, batch: number, tokens: number): CostProvenance {
  const { gpu, links, gpusPerNode, nodes } = inputs.cluster;
  const description = `Analytic model of ${gpu.name}: GEMMs at ${gpu.gemmEfficiency} of peak for large sizes, ${inputs.constants.issueFloorUs} µs issue floor per operation`;
  const share = floorShare(inputs, batch, tokens);
  if (!gpu.gemmEfficiencyKnown)
    return { kind: 'roofline', description, errorPercent: 35, errorBecause: `no GEMM efficiency was measured on ${gpu.name}` };
  if (nodes > 1 && links.nicGBps < 10)
    return { kind: 'roofline', description, errorPercent: 35, errorBecause: `nodes are linked by only ${links.nicGBps} GB/s` };
  if (inputs.layout.tensor > gpusPerNode)
    return { kind: 'roofline', description, errorPercent: 20, errorBecause: 'tensor parallelism crosses nodes' };
  if (share > 0.2)
    return {
      kind: 'roofline',
      description,
      errorPercent: 20,
      errorBecause: `${Math.round(100 * share)} % of a layer's time is on the issue floor`,
    };
  return {
    kind: 'roofline',
    description,
    errorPercent: 15,
    errorBecause: 'GEMM efficiency fitted on this GPU, little time on the issue floor',
  };
}

/** Times interpolated in a table that the user gave. */
export function tableProvenance(points: number): CostProvenance {
  return {
    kind: 'table',
    description: `Interpolated between ${points} measured slice times given in the config`,
    errorPercent: 10,
    errorBecause: 'measured on this machine; between points it is interpolated',
  };
}
