import { mib, type GpuRecord } from '../gpu-record';
import { gh200Links } from '../links';

export const gh200: GpuRecord = {
  title: 'NVIDIA GH200 96 GB, 4 a node',
  driverName: /\bgh200\b(?! 144)/,
  computeCapability: '9.0',
  gpu: {
    memoryBytes: 97_871 * mib,
    peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
    memoryTBps: 4.0,
    powerWatts: 900,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmFactors: { fp8: 1.11 },
    attentionEfficiency: { flash2: 0.184, cudnn: 0.315 },
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA GH200 data sheet (96 GB HBM3), dense rates; power limit of GPU and CPU together, as nvidia-smi lists it; GEMM efficiency not measured: H100's",
  },
  links: gh200Links,
  gpusPerNode: 4,
};
