import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const a6000: GpuRecord = {
  title: 'NVIDIA RTX A6000 48 GB, over PCIe',
  driverName: /\ba6000\b/,
  computeCapability: '8.6',
  gpu: {
    memoryBytes: 49_140 * mib,
    peakTflops: { fp16: 154.8, bf16: 154.8, fp32: 38.7 },
    memoryTBps: 0.768,
    powerWatts: 300,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA RTX A6000 data sheet, dense rates: half of its 309.7 (recalled), which a clock of 1.8 GHz makes of the A40's 149.7 at 1.74; memory as nvidia-smi lists it; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
