import {
  a100Links,
  a800Links,
  b200Links,
  b300Links,
  gb200Links,
  gb300Links,
  gh200Links,
  h100Links,
  h100x4Links,
  h800Links,
  v100Links,
} from '../links';
import { fittedRates as fitted } from './fitted-rates';
import { mib, unmeasured, type GpuRecord } from './record';

/** Figures of the H100, which other GPUs with its chip have too. */
const hopper = {
  peakTflops: { fp16: 989, bf16: 989, fp32: 67, fp8: 1979 },
  pcieGeneration: 5,
  gemmEfficiency: fitted.H100.gemmEfficiency.value,
  gemmFactors: {
    fp8: fitted.H100.fp8.value,
    fp8Torchao: fitted.H100.fp8Torchao.value,
    fsdp1: fitted.H100.fsdp1.value,
    ddp: fitted.H100.fsdp1.value,
    deepspeed: fitted.H100.fsdp1.value,
    nanotron: fitted.H100.fsdp1.value,
    torchtitan: fitted.H100.torchtitan.value,
  },
  attentionEfficiency: { flash2: fitted.H100.flash2.value, cudnn: fitted.H100.cudnn.value },
  attentionByBenchmark: { flash3: fitted.H100.flash3.value },
} as const;

/** Figures of the A100. */
const a100 = {
  peakTflops: { fp16: 312, bf16: 312, fp32: 19.5 },
  powerWatts: 400,
  pcieGeneration: 4,
  gemmEfficiency: fitted.A100.gemmEfficiency.value,
  gemmFactors: { deepspeed: fitted.A100.deepspeed.value },
  attentionEfficiency: { flash1: fitted.A100.flash1.value, flash2: fitted.A100.flash2.value },
  attentionByBenchmark: { cudnn: fitted.A100.cudnn.value },
} as const;

/** Figures of the V100. */
const v100 = {
  peakTflops: { fp16: 125, bf16: 15.7, fp32: 15.7 },
  memoryTBps: 0.9,
  powerWatts: 300,
  pcieGeneration: 3,
  gemmEfficiency: 0.96,
  gemmEfficiencyKnown: true,
  source: 'NVIDIA V100 SXM2 data sheet; GEMM efficiency as fitted on A100, checked against TeraPipe settings 1-10',
} as const;

/** Figures of B200, which B300 and the GPUs of NVL72 racks have too. */
const blackwell = {
  memoryTBps: 8.0,
  pcieGeneration: 5,
  attentionEfficiency: { cudnn: fitted.Blackwell.cudnn.value },
  attentionByBenchmark: { flash2: fitted.Blackwell.flash2.value },
} as const;

type Fitted = Readonly<Record<'gemmEfficiency' | 'fp8' | 'fp8Tensorwise', { readonly value: number }>>;

/** What was fitted of one of them. */
function blackwellRates({ gemmEfficiency, fp8, fp8Tensorwise }: Fitted) {
  return {
    gemmEfficiency: gemmEfficiency.value,
    gemmFactors: { fp8: fp8.value, fp8Tensorwise: fp8Tensorwise.value, nvfp4: fitted.Blackwell.nvfp4.value },
  };
}

/** GPUs of NVIDIA that are joined by NVLink in a server. */
export const nvidiaServers = {
  'V100-16GB': {
    title: 'NVIDIA V100 16 GB, 8 a node (p3.16xlarge)',
    driverName: /\bv100\b/,
    computeCapability: '7.0',
    soldWithGB: 16,
    gpu: {
      memoryBytes: 16_384 * mib,
      ...v100,
    },
    links: v100Links,
    gpusPerNode: 8,
  },
  'V100-32GB': {
    title: 'NVIDIA V100 32 GB, 8 a node',
    driverName: /\bv100s?\b/,
    computeCapability: '7.0',
    soldWithGB: 32,
    gpu: {
      memoryBytes: 32_768 * mib,
      ...v100,
    },
    links: v100Links,
    gpusPerNode: 8,
  },
  'A100-40GB': {
    title: 'NVIDIA A100 40 GB SXM, 8 a node',
    driverName: /\ba100\b/,
    computeCapability: '8.0',
    soldWithGB: 40,
    gpu: {
      memoryBytes: 40_960 * mib,
      ...a100,
      memoryTBps: 1.555,
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA A100 SXM4 data sheet; GEMM and attention rates fitted to published runs of vTrain, PTD-P, the zero-bubble paper, BLOOM, MPT and others',
    },
    links: a100Links,
    gpusPerNode: 8,
  },
  'A100-80GB': {
    title: 'NVIDIA A100 80 GB SXM, 8 a node',
    driverName: /\ba100\b/,
    computeCapability: '8.0',
    soldWithGB: 80,
    gpu: {
      memoryBytes: 81_920 * mib,
      ...a100,
      memoryTBps: 2.0,
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA A100 SXM4 data sheet; GEMM and attention rates fitted to published runs of vTrain, PTD-P, the zero-bubble paper, BLOOM, MPT and others',
    },
    links: a100Links,
    gpusPerNode: 8,
  },
  'A800-80GB': {
    title: 'NVIDIA A800 80 GB SXM, 8 a node',
    driverName: /\ba800\b/,
    computeCapability: '8.0',
    soldWithGB: 80,
    isUsual: true,
    gpu: {
      memoryBytes: 81_920 * mib,
      ...a100,
      memoryTBps: 2.0,
      gemmEfficiencyKnown: false,
      source: "NVIDIA A800 data sheet (recalled): A100 with NVLink of 400 GB/s; GEMM efficiency not measured: A100's",
    },
    links: a800Links,
    gpusPerNode: 8,
  },
  'H100-80GB': {
    title: 'NVIDIA H100 80 GB SXM, 8 a node',
    driverName: /\bh100\b/,
    computeCapability: '9.0',
    soldWithGB: 80,
    isUsual: true,
    gpu: {
      memoryBytes: 81_559 * mib,
      ...hopper,
      memoryTBps: 3.35,
      powerWatts: 700,
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA H100 SXM data sheet, dense rates; GEMM and attention rates fitted to published runs of DGX Cloud Benchmarking, Megatron-Bridge, NeMo, MPT and TorchTitan',
    },
    links: h100Links,
    gpusPerNode: 8,
  },
  'H100-96GB': {
    title: 'NVIDIA H100 96 GB SXM, 4 a node',
    driverName: /\bh100\b/,
    computeCapability: '9.0',
    soldWithGB: 96,
    gpu: {
      memoryBytes: 97_871 * mib,
      ...hopper,
      memoryTBps: 3.35,
      powerWatts: 700,
      gemmEfficiencyKnown: false,
      source:
        'NVIDIA H100 SXM data sheet, dense rates; memory as of GH200, which has the same HBM3; GEMM efficiency not measured: that of H100 80 GB',
    },
    links: h100x4Links,
    gpusPerNode: 4,
  },
  'H800-80GB': {
    title: 'NVIDIA H800 80 GB SXM, 8 a node',
    driverName: /\bh800\b/,
    computeCapability: '9.0',
    soldWithGB: 80,
    isUsual: true,
    gpu: {
      memoryBytes: 81_559 * mib,
      ...hopper,
      memoryTBps: 3.35,
      powerWatts: 700,
      gemmEfficiencyKnown: false,
      source: "NVIDIA H800 SXM data sheet (recalled), dense rates: H100 with NVLink of 400 GB/s; GEMM efficiency not measured: H100's",
    },
    links: h800Links,
    gpusPerNode: 8,
  },
  H20: {
    title: 'NVIDIA H20 96 GB SXM, 8 a node',
    driverName: /\bh20\b(?! 3e)/,
    computeCapability: '9.0',
    gpu: {
      memoryBytes: 97_871 * mib,
      peakTflops: { fp16: 148, bf16: 148, fp32: 44, fp8: 296 },
      memoryTBps: 4.0,
      powerWatts: 500,
      pcieGeneration: 5,
      ...unmeasured,
      source:
        "NVIDIA H20 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured: H100's",
    },
    links: h100Links,
    gpusPerNode: 8,
  },
  H200: {
    title: 'NVIDIA H200 141 GB SXM, 8 a node',
    driverName: /\bh200\b/,
    computeCapability: '9.0',
    gpu: {
      memoryBytes: 143_771 * mib,
      ...hopper,
      memoryTBps: 4.8,
      powerWatts: 700,
      gemmEfficiencyKnown: false,
      source: "NVIDIA H200 SXM data sheet, dense rates; GEMM efficiency not measured: H100's",
    },
    links: h100Links,
    gpusPerNode: 8,
  },
  GH200: {
    title: 'NVIDIA GH200 96 GB, 4 a node',
    driverName: /\bgh200\b(?! 144)/,
    computeCapability: '9.0',
    gpu: {
      memoryBytes: 97_871 * mib,
      ...hopper,
      memoryTBps: 4.0,
      powerWatts: 900,
      gemmEfficiencyKnown: false,
      source:
        "NVIDIA GH200 data sheet (96 GB HBM3), dense rates; power limit of GPU and CPU together, as nvidia-smi lists it; GEMM efficiency not measured: H100's",
    },
    links: gh200Links,
    gpusPerNode: 4,
  },
  B200: {
    title: 'NVIDIA B200 SXM, 8 a node',
    driverName: /\bb200\b/,
    computeCapability: '10.0',
    gpu: {
      memoryBytes: 183_359 * mib,
      ...blackwell,
      peakTflops: { fp16: 2250, bf16: 2250, fp32: 75, fp8: 4500, nvfp4: 9000 },
      powerWatts: 1000,
      ...blackwellRates(fitted.B200),
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA HGX B200 data sheet, dense rates; GEMM and attention rates fitted to published runs of SimuMax, Megatron-Bridge and NeMo',
    },
    links: b200Links,
    gpusPerNode: 8,
  },
  B300: {
    title: 'NVIDIA B300 SXM, 8 a node',
    driverName: /\bb300\b/,
    computeCapability: '10.3',
    gpu: {
      memoryBytes: 275_040 * mib,
      ...blackwell,
      peakTflops: { fp16: 2250, bf16: 2250, fp32: 75, fp8: 4500, nvfp4: 13500 },
      powerWatts: 1100,
      ...blackwellRates(fitted.B300),
      gemmEfficiencyKnown: false,
      source:
        'NVIDIA HGX B300 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM efficiency not measured in bf16: by B200 and a few FP8 runs of Megatron-Bridge',
    },
    links: b300Links,
    gpusPerNode: 8,
  },
  GB200: {
    title: 'NVIDIA GB200 NVL72, 4 a node',
    driverName: /\bgb200\b/,
    computeCapability: '10.0',
    gpu: {
      memoryBytes: 189_471 * mib,
      ...blackwell,
      peakTflops: { fp16: 2500, bf16: 2500, fp32: 80, fp8: 5000, nvfp4: 10000 },
      powerWatts: 1200,
      ...blackwellRates(fitted.GB200),
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA GB200 NVL72 data sheet, dense rates; memory and power limit as nvidia-smi lists them; GEMM rates fitted to published runs of Megatron-Bridge and DGX Cloud Benchmarking',
    },
    links: gb200Links,
    gpusPerNode: 4,
  },
  GB300: {
    title: 'NVIDIA GB300 NVL72, 4 a node',
    driverName: /\bgb300\b(?! ws)/,
    computeCapability: '10.3',
    gpu: {
      memoryBytes: 284_208 * mib,
      ...blackwell,
      peakTflops: { fp16: 2500, bf16: 2500, fp32: 80, fp8: 5000, nvfp4: 15000 },
      powerWatts: 1400,
      ...blackwellRates(fitted.GB300),
      gemmEfficiencyKnown: true,
      source:
        'NVIDIA GB300 NVL72 data sheet (recalled), dense rates; memory and power limit as nvidia-smi lists them; GEMM rates fitted to published runs of Megatron-Bridge, that of bf16 by GB200',
    },
    links: gb300Links,
    gpusPerNode: 4,
  },
} as const satisfies Readonly<Record<string, GpuRecord>>;
