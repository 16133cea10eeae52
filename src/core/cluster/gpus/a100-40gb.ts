import { mib, type GpuRecord } from '../gpu-record';
import { a100Links } from '../links';

export const a100_40GB: GpuRecord = {
  title: 'NVIDIA A100 40 GB SXM, 8 a node',
  driverName: /\ba100\b/,
  computeCapability: '8.0',
  soldWithGB: 40,
  gpu: {
    memoryBytes: 40_960 * mib,
    peakTflops: { fp16: 312, bf16: 312, fp32: 19.5 },
    memoryTBps: 1.555,
    powerWatts: 400,
    pcieGeneration: 4,
    gemmEfficiency: 0.958,
    gemmFactors: { deepspeed: 0.87 },
    attentionEfficiency: { flash1: 0.314, flash2: 0.5 },
    gemmEfficiencyKnown: true,
    source:
      'NVIDIA A100 SXM4 data sheet; GEMM efficiency fitted on 45 multi-node A100 runs (vTrain artefact); FlashAttention by MPT and Seq1F1B, Megatron-DeepSpeed by the BLOOM trials',
  },
  links: a100Links,
  gpusPerNode: 8,
};
