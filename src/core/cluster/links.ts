import type { LinkSpec } from '../spec/cluster';

export const v100Links: LinkSpec = {
  intraNodeBusGBps: { 2: 23, 4: 87, 8: 138 },
  allReduceLatencyUs: { base: 0, perDoubling: 29 },
  nicGBps: 3.1,
  nicEfficiency: 0.9,
  source: 'p3.16xlarge: NVLink 2 all-reduce fitted to NCCL tables (vTrain artefact, 1 MB to 1 GB); 25 Gbit/s network',
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
