import { mib, type GpuRecord } from '../gpu-record';
import { v100Links } from '../links';

export const v100_32GB: GpuRecord = {
  title: 'NVIDIA V100 32 GB, 8 a node',
  driverName: /\bv100s?\b/,
  computeCapability: '7.0',
  soldWithGB: 32,
  gpu: {
    memoryBytes: 32_768 * mib,
    peakTflops: { fp16: 125, bf16: 15.7, fp32: 15.7 },
    memoryTBps: 0.9,
    powerWatts: 300,
    pcieGeneration: 3,
    gemmEfficiency: 0.96,
    gemmEfficiencyKnown: true,
    source: 'NVIDIA V100 SXM2 data sheet; GEMM efficiency as fitted on A100, checked against TeraPipe settings 1-10',
  },
  links: v100Links,
  gpusPerNode: 8,
};
