import { mib, type GpuRecord } from '../gpu-record';
import { h100x4Links } from '../links';

export const h100_96GB: GpuRecord = {
  title: 'NVIDIA H100 96 GB SXM, 4 a node',
  driverName: /\bh100\b/,
  computeCapability: '9.0',
  soldWithGB: 96,
  gpu: {
    memoryBytes: 97_871 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 3.35,
    powerWatts: 700,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmFactors: { fp8: 1.11 },
    attentionEfficiency: { flash2: 0.184, cudnn: 0.315 },
    gemmEfficiencyKnown: false,
    source:
      'NVIDIA H100 SXM data sheet, dense rates; memory as of GH200, which has the same HBM3; GEMM efficiency not measured: that of H100 80 GB',
  },
  links: h100x4Links,
  gpusPerNode: 4,
};
