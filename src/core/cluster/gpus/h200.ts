import { mib, type GpuRecord } from '../gpu-record';
import { h100Links } from '../links';

export const h200: GpuRecord = {
  title: 'NVIDIA H200 141 GB SXM, 8 a node',
  driverName: /\bh200\b/,
  computeCapability: '9.0',
  gpu: {
    memoryBytes: 143_771 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 4.8,
    powerWatts: 700,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmFactors: { fp8: 1.11 },
    attentionEfficiency: { flash2: 0.184, cudnn: 0.315 },
    gemmEfficiencyKnown: false,
    source: "NVIDIA H200 SXM data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  links: h100Links,
  gpusPerNode: 8,
};
