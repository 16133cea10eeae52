import { mib, type GpuRecord } from '../gpu-record';
import { gb300Links } from '../links';

export const gb300: GpuRecord = {
  title: 'NVIDIA GB300 NVL72, 4 a node',
  driverName: /\bgb300\b(?! ws)/,
  computeCapability: '10.3',
  gpu: {
    memoryBytes: 284_208 * mib,
    peakTflops: { fp16: 2500, bf16: 2500, fp32: 80, fp8: 5000, nvfp4: 15000 },
    memoryTBps: 8.0,
    powerWatts: 1400,
    pcieGeneration: 5,
    gemmEfficiency: 0.505,
    gemmFactors: { fp8: 1.48, fp8Tensorwise: 1.63 },
    attentionEfficiency: { cudnn: 0.395 },
    gemmEfficiencyKnown: true,
    source:
      "NVIDIA GB300 NVL72 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency of bf16 B200's, FP8 by dense rows of Megatron-Bridge's table",
  },
  links: gb300Links,
  gpusPerNode: 4,
};
