import { mib, type GpuRecord } from '../gpu-record';
import { v100Links } from '../links';

export const v100_16GB: GpuRecord = {
  title: 'NVIDIA V100 16 GB, 8 a node (p3.16xlarge)',
  driverName: /\bv100\b/,
  computeCapability: '7.0',
  soldWithGB: 16,
  gpu: {
    memoryBytes: 16_384 * mib,
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
