import type { PlanRequest } from '../domain/request';
import { maximum } from '../numbers';

/** The settings of a request that decide how fast its machine is. */
export type Machine = Pick<PlanRequest, 'cluster' | 'constants'>;

/** A constant of the machine that measured steps correct (docs/model/time.md, Calibration). */
interface MachineConstant {
  /** As in terapipe.json. */
  readonly key: string;
  /** How far machines of one kind differ in it, over how far they do in their GEMM rate. */
  readonly spread: number;
  /** The constant; null where the request has none. */
  readonly valueOf: (machine: Machine) => number | null;
  /** The machine `factor` times as fast in this, no faster than its peak. */
  readonly faster: (machine: Machine, factor: number) => Machine;
}

/** In the order of docs/model/time.md. */
export const machineConstants: readonly MachineConstant[] = [
  {
    key: 'cluster.gpu.gemmEfficiency',
    spread: 1,
    valueOf: ({ cluster }) => cluster.gpu.gemmEfficiency,
    faster: (machine, factor) => withGpu(machine, { gemmEfficiency: scaledFraction(machine.cluster.gpu.gemmEfficiency, factor) }),
  },
  {
    key: 'cluster.gpu.attentionEfficiency',
    spread: 1.5,
    valueOf: ({ cluster }) => maximum(Object.values(cluster.gpu.attentionEfficiency ?? {})) || null,
    faster: (machine, factor) => {
      const { attentionEfficiency, attentionByBenchmark } = machine.cluster.gpu;
      if (attentionEfficiency === undefined) return machine;
      const scaled = (rates: NonNullable<typeof attentionEfficiency>): typeof rates =>
        Object.fromEntries(Object.entries(rates).map(([kernel, fraction]) => [kernel, scaledFraction(fraction, factor)]));
      return withGpu(machine, {
        attentionEfficiency: scaled(attentionEfficiency),
        ...(attentionByBenchmark === undefined ? {} : { attentionByBenchmark: scaled(attentionByBenchmark) }),
      });
    },
  },
  {
    key: 'cost.memoryEfficiency',
    spread: 1,
    valueOf: ({ constants }) => constants.memoryEfficiency,
    faster: ({ cluster, constants }, factor) => ({
      cluster,
      constants: { ...constants, memoryEfficiency: scaledFraction(constants.memoryEfficiency, factor) },
    }),
  },
  {
    key: 'cost.issueFloorUs',
    spread: 2,
    valueOf: ({ constants }) => constants.issueFloorUs,
    faster: ({ cluster, constants }, factor) => ({ cluster, constants: { ...constants, issueFloorUs: constants.issueFloorUs / factor } }),
  },
  {
    key: 'cluster.links.intraNodeBusGBps',
    spread: 2,
    valueOf: ({ cluster }) => cluster.links.intraNodeBusGBps[8],
    faster: (machine, factor) => {
      const bus = machine.cluster.links.intraNodeBusGBps;
      return withLinks(machine, { intraNodeBusGBps: { 2: bus[2] * factor, 4: bus[4] * factor, 8: bus[8] * factor } });
    },
  },
  {
    key: 'cluster.links.nicEfficiency',
    spread: 4,
    valueOf: ({ cluster }) => cluster.links.nicEfficiency,
    faster: (machine, factor) => {
      const { nicEfficiency, nicSharedEfficiency: shared } = machine.cluster.links;
      return withLinks(machine, {
        nicEfficiency: scaledFraction(nicEfficiency, factor),
        ...(shared === undefined ? {} : { nicSharedEfficiency: scaledFraction(shared, factor) }),
      });
    },
  },
];

/** What all constants of a machine share, over how far machines of one kind differ in their GEMM rate. */
export const commonSpread = 0.6;

function scaledFraction(fraction: number, factor: number): number {
  return Math.min(1, fraction * factor);
}

function withGpu({ cluster, constants }: Machine, gpu: Partial<Machine['cluster']['gpu']>): Machine {
  return { cluster: { ...cluster, gpu: { ...cluster.gpu, ...gpu } }, constants };
}

function withLinks({ cluster, constants }: Machine, links: Partial<Machine['cluster']['links']>): Machine {
  return { cluster: { ...cluster, links: { ...cluster.links, ...links } }, constants };
}
