import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const a10g: GpuRecord = {
  title: 'NVIDIA A10G 24 GB, over PCIe',
  driverName: /\ba10g\b/,
  computeCapability: '8.6',
  gpu: {
    memoryBytes: 23_028 * mib,
    peakTflops: { fp16: 70, bf16: 70, fp32: 35.2 },
    memoryTBps: 0.6,
    powerWatts: 300,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA A10G data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
