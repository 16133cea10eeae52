import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const rtx4090: GpuRecord = {
  title: 'NVIDIA GeForce RTX 4090 24 GB, over PCIe',
  driverName: /\brtx ?4090\b(?! (d|laptop))/,
  computeCapability: '8.9',
  gpu: {
    memoryBytes: 24_564 * mib,
    peakTflops: { fp16: 165.2, bf16: 165.2, fp32: 82.6, fp8: 330.3 },
    memoryTBps: 1.008,
    powerWatts: 450,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA Ada architecture white paper, dense rates with fp32 accumulation; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
