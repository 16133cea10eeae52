import type { GpuSpec, LinkSpec } from '../spec/cluster';

const mib = 2 ** 20;

/**
 * Memory is the total that `nvidia-smi` (or `rocm-smi`) lists for the card. Fractions `gemmEfficiency` are those of the analytic time model (cost/layer-time.ts): 0.958 fitted on 45 multi-node A100 runs of vTrain's artefact, carried unchanged to V100
 * (TeraPipe's ten settings), 0.527 fitted on nine dense B200 runs, 0.75 from one published Llama 3 405B row on H100. Where none was measured, H100's is carried over and marked.
 * Rates of narrow formats are dense and accumulate in fp32: half of the data sheets' where those count sparsity, as theirs do.
 */
const gpus = {
  'V100-16GB': {
    name: 'V100-16GB',
    memoryBytes: 16_384 * mib,
    peakTflops: { fp16: 125, bf16: 15.7, fp32: 15.7 },
    memoryTBps: 0.9,
    gemmEfficiency: 0.96,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA V100 SXM2 data sheet; GEMM efficiency as fitted on A100, checked against TeraPipe settings 1-10',
  },
  'V100-32GB': {
    name: 'V100-32GB',
    memoryBytes: 32_768 * mib,
    peakTflops: { fp16: 125, bf16: 15.7, fp32: 15.7 },
    memoryTBps: 0.9,
    gemmEfficiency: 0.96,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA V100 SXM2 data sheet; GEMM efficiency as fitted on A100, checked against TeraPipe settings 1-10',
  },
  'A100-40GB': {
    name: 'A100-40GB',
    memoryBytes: 40_960 * mib,
    peakTflops: { fp16: 312, bf16: 312, fp32: 19.5 },
    memoryTBps: 1.555,
    gemmEfficiency: 0.958,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA A100 SXM4 data sheet; GEMM efficiency fitted on 45 multi-node A100 runs (vTrain artefact)',
  },
  'A100-80GB': {
    name: 'A100-80GB',
    memoryBytes: 81_920 * mib,
    peakTflops: { fp16: 312, bf16: 312, fp32: 19.5 },
    memoryTBps: 2.0,
    gemmEfficiency: 0.958,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA A100 SXM4 data sheet; GEMM efficiency fitted on 45 multi-node A100 runs (vTrain artefact)',
  },
  'H100-80GB': {
    name: 'H100-80GB',
    memoryBytes: 81_559 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 3.35,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA H100 SXM data sheet, dense rates; GEMM efficiency from one Llama 3 405B row (arXiv 2407.21783, Table 4)',
  },
  H200: {
    name: 'H200',
    memoryBytes: 143_771 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 4.8,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA H200 SXM data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  B200: {
    name: 'B200',
    memoryBytes: 183_359 * mib,
    peakTflops: { fp16: 2250, bf16: 2250, fp32: 75, fp8: 4500, nvfp4: 9000 },
    memoryTBps: 8.0,
    gemmEfficiency: 0.527,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA HGX B200 data sheet, dense rates; GEMM efficiency fitted on nine dense 8-GPU runs (SimuMax artefact)',
  },
  L40S: {
    name: 'L40S',
    memoryBytes: 46_068 * mib,
    peakTflops: { fp16: 362, bf16: 362, fp32: 91.6, fp8: 733 },
    memoryTBps: 0.864,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA L40S data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  RTX4090: {
    name: 'RTX4090',
    memoryBytes: 24_564 * mib,
    peakTflops: { fp16: 165.2, bf16: 165.2, fp32: 82.6, fp8: 330.3 },
    memoryTBps: 1.008,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA Ada architecture white paper, dense rates with fp32 accumulation; GEMM efficiency not measured: H100's",
  },
  MI300X: {
    name: 'MI300X',
    memoryBytes: 196_592 * mib,
    peakTflops: { fp16: 1307.4, bf16: 1307.4, fp32: 163.4, fp8: 2614.9 },
    memoryTBps: 5.3,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "AMD Instinct MI300X data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
} as const satisfies Record<string, GpuSpec>;

export type GpuPresetName = keyof typeof gpus;
export const gpuPresetNames = Object.keys(gpus) as readonly GpuPresetName[];

const v100Links: LinkSpec = {
  nodeBusGBps: { 2: 23, 4: 87, 8: 138 },
  allReduceLatencyUs: { base: 0, perDoubling: 29 },
  nicGBps: 3.1,
  nicEfficiency: 0.9,
  source: 'p3.16xlarge: NVLink 2 all-reduce fitted to NCCL tables (vTrain artefact, 1 MB to 1 GB); 25 Gbit/s network',
};
const a100Links: LinkSpec = {
  nodeBusGBps: { 2: 188, 4: 211, 8: 221 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 100,
  nicEfficiency: 0.98,
  source: 'NVLink 3 all-reduce fitted to NCCL tables (vTrain artefact, 1 MB to 1 GB); 800 Gbit/s a node, efficiency fitted',
};
const h100Links: LinkSpec = {
  nodeBusGBps: { 2: 282, 4: 316, 8: 331 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: "not measured: A100's all-reduce scaled by the NVLink data sheets (900 / 600 GB/s); 8 x 400 Gbit/s a node",
};
const b200Links: LinkSpec = {
  nodeBusGBps: { 2: 668, 4: 668, 8: 668 },
  allReduceLatencyUs: { base: 22, perDoubling: 8 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: "NVLink 5 all-reduce from SimuMax's B200 system file; 8 x 400 Gbit/s a node",
};
const pcieLinks: LinkSpec = {
  nodeBusGBps: { 2: 20, 4: 18, 8: 15 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 12.5,
  nicEfficiency: 0.9,
  source: 'not measured: PCIe 4.0 x16 (32 GB/s data sheet) at typical collective efficiency; 100 Gbit/s a node',
};
const mi300xLinks: LinkSpec = {
  nodeBusGBps: { 2: 45, 4: 135, 8: 310 },
  allReduceLatencyUs: { base: 27, perDoubling: 15 },
  nicGBps: 400,
  nicEfficiency: 0.98,
  source: 'not measured: Infinity Fabric data sheet (7 links x 64 GB/s each way) at 70 %; 8 x 400 Gbit/s a node',
};

/** A GPU with the node it usually sits in. */
export interface GpuPreset {
  readonly gpu: GpuSpec;
  readonly links: LinkSpec;
  readonly gpusPerNode: number;
}

/** Presets by the name `terapipe.json` uses under `cluster.gpu`. Every figure can be overridden there. */
export const gpuPresets: Readonly<Record<GpuPresetName, GpuPreset>> = {
  'V100-16GB': { gpu: gpus['V100-16GB'], links: v100Links, gpusPerNode: 8 },
  'V100-32GB': { gpu: gpus['V100-32GB'], links: v100Links, gpusPerNode: 8 },
  'A100-40GB': { gpu: gpus['A100-40GB'], links: a100Links, gpusPerNode: 8 },
  'A100-80GB': { gpu: gpus['A100-80GB'], links: a100Links, gpusPerNode: 8 },
  'H100-80GB': { gpu: gpus['H100-80GB'], links: h100Links, gpusPerNode: 8 },
  H200: { gpu: gpus.H200, links: h100Links, gpusPerNode: 8 },
  B200: { gpu: gpus.B200, links: b200Links, gpusPerNode: 8 },
  L40S: { gpu: gpus.L40S, links: pcieLinks, gpusPerNode: 8 },
  RTX4090: { gpu: gpus.RTX4090, links: pcieLinks, gpusPerNode: 8 },
  MI300X: { gpu: gpus.MI300X, links: mi300xLinks, gpusPerNode: 8 },
};
