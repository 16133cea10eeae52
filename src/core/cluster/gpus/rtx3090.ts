import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const rtx3090: GpuRecord = {
  title: 'NVIDIA GeForce RTX 3090 24 GB, over PCIe',
  driverName: /\brtx ?3090\b(?! ti)/,
  computeCapability: '8.6',
  gpu: {
    memoryBytes: 24_576 * mib,
    peakTflops: { fp16: 71.2, bf16: 71.2, fp32: 35.6 },
    memoryTBps: 0.936,
    powerWatts: 350,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA GA102 white paper (recalled), dense rates with fp32 accumulation; memory as nvidia-smi lists it; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
