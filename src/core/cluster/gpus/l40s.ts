import { mib, type GpuRecord } from '../gpu-record';
import { pcieLinks } from '../links';

export const l40s: GpuRecord = {
  title: 'NVIDIA L40S 48 GB, over PCIe',
  driverName: /\bl40s\b/,
  computeCapability: '8.9',
  gpu: {
    memoryBytes: 46_068 * mib,
    peakTflops: { fp16: 362, bf16: 362, fp32: 91.6, fp8: 733 },
    memoryTBps: 0.864,
    powerWatts: 350,
    pcieGeneration: 4,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "NVIDIA L40S data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  links: pcieLinks,
  gpusPerNode: 8,
};
