import { mib, type GpuRecord } from '../gpu-record';
import { gb200Links } from '../links';

export const gb200: GpuRecord = {
  title: 'NVIDIA GB200 NVL72, 4 a node',
  driverName: /\bgb200\b/,
  computeCapability: '10.0',
  gpu: {
    memoryBytes: 189_471 * mib,
    peakTflops: { fp16: 2500, bf16: 2500, fp32: 80, fp8: 5000, nvfp4: 10000 },
    memoryTBps: 8.0,
    powerWatts: 1200,
    pcieGeneration: 5,
    gemmEfficiency: 0.505,
    gemmFactors: { fp8: 1.18, fp8Tensorwise: 1.3 },
    attentionEfficiency: { cudnn: 0.395 },
    gemmEfficiencyKnown: true,
    source:
      "NVIDIA GB200 NVL72 data sheet, dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency of bf16 B200's, FP8 by dense rows of Megatron-Bridge's table",
  },
  links: gb200Links,
  gpusPerNode: 4,
};
