import { mib, type GpuRecord } from '../gpu-record';
import { h800Links } from '../links';

export const h800_80GB: GpuRecord = {
  title: 'NVIDIA H800 80 GB SXM, 8 a node',
  driverName: /\bh800\b/,
  computeCapability: '9.0',
  soldWithGB: 80,
  gpu: {
    memoryBytes: 81_559 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 3.35,
    powerWatts: 700,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmFactors: { fp8: 1.11 },
    attentionEfficiency: { flash2: 0.184, cudnn: 0.315 },
    gemmEfficiencyKnown: false,
    source: "NVIDIA H800 SXM data sheet (recalled), dense rates: H100 with NVLink of 400 GB/s; GEMM efficiency not measured: H100's",
  },
  links: h800Links,
  gpusPerNode: 8,
};
