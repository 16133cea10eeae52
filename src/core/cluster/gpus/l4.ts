import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const l4: GpuRecord = {
  title: 'NVIDIA L4 24 GB, over PCIe',
  driverName: /\bl4\b/,
  computeCapability: '8.9',
  gpu: {
    memoryBytes: 23_034 * mib,
    peakTflops: { fp16: 121, bf16: 121, fp32: 30.3, fp8: 242.5 },
    memoryTBps: 0.3,
    powerWatts: 72,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA L4 data sheet, dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
