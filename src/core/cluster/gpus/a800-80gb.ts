import { mib, type GpuRecord } from '../gpu-record';
import { a800Links } from '../links';

export const a800_80GB: GpuRecord = {
  title: 'NVIDIA A800 80 GB SXM, 8 a node',
  driverName: /\ba800\b/,
  computeCapability: '8.0',
  soldWithGB: 80,
  gpu: {
    memoryBytes: 81_920 * mib,
    peakTflops: { fp16: 312, bf16: 312, fp32: 19.5 },
    memoryTBps: 2.0,
    powerWatts: 400,
    pcieGeneration: 4,
    gemmEfficiency: 0.958,
    gemmFactors: { deepspeed: 0.87 },
    attentionEfficiency: { flash1: 0.314, flash2: 0.5 },
    gemmEfficiencyKnown: false,
    source: "NVIDIA A800 data sheet (recalled): A100 with NVLink of 400 GB/s; GEMM efficiency not measured: A100's",
  },
  links: a800Links,
  gpusPerNode: 8,
};
