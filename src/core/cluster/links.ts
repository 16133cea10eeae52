import type { LinkSpec, ClusterSpec, PcieGeneration } from '../domain/cluster';

export const v100Links: LinkSpec = {
  intraNodeBusGBps: { 2: 23, 4: 87, 8: 138 },
  allReduceLatencyUs: { base: 0, perDoubling: 29 },
  nicGBps: 3.1,
  nicEfficiency: 0.9,
  nicSharedEfficiency: 0.57,
  source:
    'p3.16xlarge: NVLink 2 all-reduce fitted to NCCL tables (vTrain artefact, 1 MB to 1 GB); 25 Gbit/s network over TCP, of which all-reduces of V100 nodes with several GPUs reach 0.46 to 0.70 (NVIDIA/nccl issue 209, NVIDIA/nccl-tests issue 83)',
};
export const a100Links: LinkSpec = {
  intraNodeBusGBps: { 2: 188, 4: 211, 8: 221 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 100,
  nicEfficiency: 0.98,
  source: 'NVLink 3 all-reduce fitted to NCCL tables (vTrain artefact, 1 MB to 1 GB); 800 Gbit/s a node, efficiency fitted',
};
export const h100Links: LinkSpec = {
  intraNodeBusGBps: { 2: 282, 4: 316, 8: 331 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: "not measured: A100's all-reduce scaled by the NVLink data sheets (900 / 600 GB/s); 8 x 400 Gbit/s a node",
};
export const b200Links: LinkSpec = {
  intraNodeBusGBps: { 2: 668, 4: 668, 8: 668 },
  allReduceLatencyUs: { base: 22, perDoubling: 8 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: "NVLink 5 all-reduce from SimuMax's B200 system file; 8 x 400 Gbit/s a node",
};
export const pcieLinks: LinkSpec = {
  intraNodeBusGBps: { 2: 20, 4: 18, 8: 15 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 12.5,
  nicEfficiency: 0.9,
  source: 'not measured: PCIe 4.0 x16 (32 GB/s data sheet) at typical collective efficiency; 100 Gbit/s a node',
};
export const mi300xLinks: LinkSpec = {
  intraNodeBusGBps: { 2: 45, 4: 135, 8: 310 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: 'not measured: Infinity Fabric data sheet (7 links x 64 GB/s each way) at 70 %; 8 x 400 Gbit/s a node',
};

/** A100's, with fewer links between GPUs. */
export const a800Links: LinkSpec = {
  ...a100Links,
  intraNodeBusGBps: { 2: 125, 4: 141, 8: 147 },
  source: "not measured: A100's all-reduce scaled by the NVLink data sheets (400 / 600 GB/s); 800 Gbit/s a node",
};
export const h800Links: LinkSpec = {
  ...h100Links,
  intraNodeBusGBps: { 2: 125, 4: 140, 8: 147 },
  source: "not measured: A100's all-reduce scaled by the NVLink data sheets (400 / 600 GB/s); 8 x 400 Gbit/s a node",
};
/** A board of four, each joined to each. */
export const h100x4Links: LinkSpec = {
  ...h100Links,
  intraNodeBusGBps: { 2: 94, 4: 316, 8: 316 },
  nicGBps: 200,
  source:
    "not measured: NVLink data sheet (450 GB/s each way, 150 to each of three others) at the share of A100's all-reduce; 4 x 400 Gbit/s a node",
};
/** Four joined to each other, as in Alps and JUPITER; the host over NVLink-C2C. */
export const gh200Links: LinkSpec = {
  ...h100x4Links,
  nicGBps: 100,
  hostGBps: 297,
  source:
    "not measured here: NVLink data sheet (450 GB/s each way, 150 to each of three others) at the share of A100's all-reduce; 4 x 200 Gbit/s a node; copies to the host over NVLink-C2C as measured by others (arXiv 2407.07850)",
};
export const b300Links: LinkSpec = {
  ...b200Links,
  nicGBps: 800,
  source: "NVLink 5 all-reduce of B200 (SimuMax's system file); 8 x 800 Gbit/s a node",
};
export const gb200Links: LinkSpec = {
  ...b200Links,
  nicGBps: 200,
  hostGBps: 180,
  nvlinkDomain: 72,
  source:
    "NVLink 5 all-reduce of B200 (SimuMax's system file); 4 x 400 Gbit/s a node; host: half of NVLink-C2C (450 GB/s each way for two GPUs) at 80 %, not measured",
};
export const gb300Links: LinkSpec = {
  ...gb200Links,
  nicGBps: 400,
  source:
    "NVLink 5 all-reduce of B200 (SimuMax's system file); 4 x 800 Gbit/s a node; host: half of NVLink-C2C (450 GB/s each way for two GPUs) at 80 %, not measured",
};
export const pcie5Links: LinkSpec = {
  ...pcieLinks,
  intraNodeBusGBps: { 2: 40, 4: 36, 8: 30 },
  source: 'not measured: PCIe 5.0 x16 (63 GB/s data sheet) at typical collective efficiency; 100 Gbit/s a node',
};
export const mi355xLinks: LinkSpec = {
  ...mi300xLinks,
  intraNodeBusGBps: { 2: 54, 4: 161, 8: 370 },
  source: 'not measured: Infinity Fabric data sheet (7 links x 76.8 GB/s each way) at 70 %; 8 x 400 Gbit/s a node',
};

/** PCIe x16, one direction, GB/s, by generation: 80 % of the raw 15.75, 31.5 and 63, which copies from pinned memory reach. */
const pciExpressGBps: Readonly<Record<PcieGeneration, number>> = { 3: 12.6, 4: 25.2, 5: 50.4 };

/**
 * What a GPU's link to its host carries in one direction, GB/s: as given (`cluster.links.hostGBps`), else PCIe x16 of the GPU's generation.
 */
export function hostGBps({ gpu, links }: Pick<ClusterSpec, 'gpu' | 'links'>): number {
  return links.hostGBps ?? pciExpressGBps[gpu.pcieGeneration ?? 4];
}
