import { formatNumber } from '../format';
import type { Layout } from '../planner/request';
import type { Profile } from '../profile/profile';
import type { CostInputs } from './layer-time';
import { floorShare } from './stage-time';
import type { CostProvenance } from './slice-cost';

/**
 * Where the analytic times come from and how far to trust them: +-15 % with a fitted GEMM efficiency and under 20 % of layer time on the issue floor, +-20 % when the floor takes
 * more or tensor parallelism crosses nodes, +-35 % for a GPU without its own efficiency, Ethernet-class links, or experts on several nodes, which those facts have no run of. Source:
 * project facts on step time, section 8.
 */
export function rooflineProvenance(inputs: CostInputs, batch: number, tokens: number): CostProvenance {
  const { gpu, links, gpusPerNode, nodes } = inputs.cluster;
  const description = `Analytic model of ${gpu.name}: GEMMs at ${gpu.gemmEfficiency} of peak for large sizes, ${inputs.constants.issueFloorUs} µs issue floor per operation`;
  const share = floorShare(inputs, batch, tokens);
  if (!gpu.gemmEfficiencyKnown)
    return { kind: 'roofline', description, errorPercent: 35, errorBecause: `no GEMM efficiency was measured on ${gpu.name}` };
  if (nodes > 1 && links.nicGBps < 10)
    return { kind: 'roofline', description, errorPercent: 35, errorBecause: `nodes are linked by only ${links.nicGBps} GB/s` };
  const { tensor, expert } = inputs.layout;
  if (inputs.model.experts !== null && expert > 1 && tensor * expert > gpusPerNode)
    return {
      kind: 'roofline',
      description,
      errorPercent: 35,
      errorBecause: 'experts are exchanged between nodes, of which no measured run is known',
    };
  if (tensor > gpusPerNode) return { kind: 'roofline', description, errorPercent: 20, errorBecause: 'tensor parallelism crosses nodes' };
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

/** Least half width of the error bar of a step from measured slices, percent: what one calibrated run reaches (project facts on step time, section 8). */
const calibratedPercent = 10;

/**
 * Times fitted to a profile. The layer's are as good as the fit on cells it never saw; sends, gradient exchange, optimizer and, under tensor or expert parallelism, the exchanges
 * inside a layer stay analytic.
 */
export function profileProvenance(
  { file, profile }: { readonly file: string; readonly profile: Profile },
  { tensor, expert }: Pick<Layout, 'tensor' | 'expert'>,
): CostProvenance {
  const { device, errors, samples, source, provider } = profile;
  const measuredBy = source === 'imported' ? 'imported times' : `ONNX Runtime, ${provider ?? 'unknown'} provider`;
  const held =
    errors === null
      ? ''
      : `; error on cells the fit never saw ${formatNumber(errors.forward.meanPercent)} % forward, ${formatNumber(errors.backward.meanPercent)} % backward`;
  const worst = errors === null ? 0 : Math.max(errors.forward.maxPercent, errors.backward.maxPercent);
  const groups = [...(tensor > 1 ? ['tensor'] : []), ...(profile.shape.experts !== null && expert > 1 ? ['expert'] : [])];
  const analytic = groups.length > 0 ? `exchanges between ${groups.join('- and ')}-parallel ranks, sends` : 'sends';
  return {
    kind: 'profile',
    description: `Measured on ${device.name} (${measuredBy}), ${samples.layer.length} slices of one layer, profile ${nameOf(file)}${held}`,
    errorPercent: Math.round(Math.max(calibratedPercent + (groups.length > 0 ? 5 : 0), worst)),
    errorBecause: `layer times are measured; ${analytic}, gradient exchange and optimizer are not`,
  };
}

function nameOf(file: string): string {
  return file.split(/[/\\]/).at(-1) ?? file;
}
