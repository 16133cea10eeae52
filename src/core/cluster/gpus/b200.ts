import { mib, type GpuRecord } from '../gpu-record';
import { b200Links } from '../links';

export const b200: GpuRecord = {
  title: 'NVIDIA B200 SXM, 8 a node',
  driverName: /\bb200\b/,
  computeCapability: '10.0',
  gpu: {
    memoryBytes: 183_359 * mib,
    peakTflops: { fp16: 2250, bf16: 2250, fp32: 75, fp8: 4500, nvfp4: 9000 },
    memoryTBps: 8.0,
    powerWatts: 1000,
    pcieGeneration: 5,
    gemmEfficiency: 0.505,
    gemmFactors: { fp8: 1.18, fp8Tensorwise: 1.3 },
    attentionEfficiency: { cudnn: 0.395 },
    gemmEfficiencyKnown: true,
    source:
      'NVIDIA HGX B200 data sheet, dense rates; GEMM efficiency fitted on nine dense 8-GPU runs (SimuMax artefact); attention by SimuMax and NeMo, FP8 as GB200',
  },
  links: b200Links,
  gpusPerNode: 8,
};
