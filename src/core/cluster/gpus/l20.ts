import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const l20: GpuRecord = {
  title: 'NVIDIA L20 48 GB, over PCIe',
  driverName: /\bl20\b/,
  computeCapability: '8.9',
  gpu: {
    memoryBytes: 46_068 * mib,
    peakTflops: { fp16: 119.5, bf16: 119.5, fp32: 59.8, fp8: 239 },
    memoryTBps: 0.864,
    powerWatts: 275,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA L20 data sheet (recalled), dense rates; memory as nvidia-smi lists it; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
