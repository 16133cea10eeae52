import { mib, type GpuRecord } from '../gpu-record';
import { b300Links } from '../links';

export const b300: GpuRecord = {
  title: 'NVIDIA B300 SXM, 8 a node',
  driverName: /\bb300\b/,
  computeCapability: '10.3',
  gpu: {
    memoryBytes: 275_040 * mib,
    peakTflops: { fp16: 2250, bf16: 2250, fp32: 75, fp8: 4500, nvfp4: 13500 },
    memoryTBps: 8.0,
    powerWatts: 1100,
    pcieGeneration: 5,
    gemmEfficiency: 0.505,
    gemmFactors: { fp8: 1.33, fp8Tensorwise: 1.46 },
    attentionEfficiency: { cudnn: 0.395 },
    gemmEfficiencyKnown: false,
    source:
      "NVIDIA HGX B300 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured: B200's",
  },
  links: b300Links,
  gpusPerNode: 8,
};
