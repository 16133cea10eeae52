import type { ClusterSpec, PcieGeneration } from '../domain/cluster';

/** PCIe x16, one direction, GB/s, by generation: 80 % of the raw 15.75, 31.5 and 63, which copies from pinned memory reach. */
const pciExpressGBps: Readonly<Record<PcieGeneration, number>> = { 3: 12.6, 4: 25.2, 5: 50.4 };

/**
 * What a GPU's link to its host carries in one direction, GB/s: as given (`cluster.links.hostGBps`), else PCIe x16 of the GPU's generation.
 */
export function hostGBps({ gpu, links }: Pick<ClusterSpec, 'gpu' | 'links'>): number {
  return links.hostGBps ?? pciExpressGBps[gpu.pcieGeneration ?? 4];
}
