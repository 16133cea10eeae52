import type { ClusterSpec } from '../spec/cluster';

/** PCIe x16, one direction, GB/s, of generation 3, 4 and 5: 80 % of the raw 15.75, 31.5 and 63, which copies from pinned memory reach. */
const pciExpressGBps = { 3: 12.6, 4: 25.2, 5: 50.4 } as const;

/** What a GPU's link to its host carries in one direction, GB/s: as given (`cluster.links.hostGBps`), else PCIe x16 of the generation on its data sheet; generation 4 for GPUs that are not known. */
export function hostGBps({ gpu, links }: Pick<ClusterSpec, 'gpu' | 'links'>): number {
  return links.hostGBps ?? pciExpressGBps[/^(?:V100|T4)/u.test(gpu.name) ? 3 : /^(?:H|B|GB|MI3|RTX5)\d/u.test(gpu.name) ? 5 : 4];
}
