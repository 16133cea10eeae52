import { mib, type GpuRecord } from '../gpu-record';
import { h100Links } from '../links';

export const h20: GpuRecord = {
  title: 'NVIDIA H20 96 GB SXM, 8 a node',
  driverName: /\bh20\b(?! 3e)/,
  computeCapability: '9.0',
  gpu: {
    memoryBytes: 97_871 * mib,
    peakTflops: { fp16: 148, bf16: 148, fp32: 44, fp8: 296 },
    memoryTBps: 4.0,
    powerWatts: 500,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA H20 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured: H100's",
  },
  links: h100Links,
  gpusPerNode: 8,
};
