import { mib, type GpuRecord } from '../gpu-record';
import { h100Links } from '../links';

export const h100_80GB: GpuRecord = {
  title: 'NVIDIA H100 80 GB SXM, 8 a node',
  driverName: /\bh100\b/,
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
    gemmEfficiencyKnown: true,
    source:
      "NVIDIA H100 SXM data sheet, dense rates; GEMM efficiency from one Llama 3 405B row (arXiv 2407.21783, Table 4); attention by MPT, TorchTitan and NeMo, FP8 by dense rows of Megatron-Bridge's table",
  },
  links: h100Links,
  gpusPerNode: 8,
};
