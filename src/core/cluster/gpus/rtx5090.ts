import { mib, type GpuRecord } from '../gpu-record';
import { pcie5Links } from '../links';

export const rtx5090: GpuRecord = {
  title: 'NVIDIA GeForce RTX 5090 32 GB, over PCIe',
  driverName: /\brtx ?5090\b(?! (d|laptop))/,
  computeCapability: '12.0',
  gpu: {
    memoryBytes: 32_607 * mib,
    peakTflops: { fp16: 209.5, bf16: 209.5, fp32: 104.8, fp8: 419, nvfp4: 1676 },
    memoryTBps: 1.792,
    powerWatts: 575,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA RTX Blackwell architecture white paper, dense rates with fp32 accumulation; GEMM efficiency not measured: H100's",
  },
  links: pcie5Links,
  gpusPerNode: 8,
};
