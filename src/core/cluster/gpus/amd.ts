import { mi300xLinks, mi355xLinks } from '../links';
import { mib, unmeasured, type GpuRecord } from './record';

/** GPUs of AMD. */
export const amd = {
  MI300X: {
    title: 'AMD Instinct MI300X 192 GB, 8 a node',
    driverName: /\bmi300x\b/,
    gpu: {
      memoryBytes: 196_592 * mib,
      peakTflops: { fp16: 1307.4, bf16: 1307.4, fp32: 163.4, fp8: 2614.9 },
      memoryTBps: 5.3,
      powerWatts: 750,
      pcieGeneration: 5,
      ...unmeasured,
      gemmEfficiency: 0.6,
      source:
        "AMD Instinct MI300X data sheet, dense rates; GEMM efficiency not measured: H100's times the ratio of their best GEMMs, 0.51 to 0.60 and 0.80 of the peak (stas00/ml-engineering)",
    },
    links: mi300xLinks,
    gpusPerNode: 8,
  },
  MI325X: {
    title: 'AMD Instinct MI325X 256 GB, 8 a node',
    driverName: /\bmi325x\b/,
    gpu: {
      memoryBytes: 262_128 * mib,
      peakTflops: { fp16: 1307.4, bf16: 1307.4, fp32: 163.4, fp8: 2614.9 },
      memoryTBps: 6.0,
      powerWatts: 1000,
      pcieGeneration: 5,
      ...unmeasured,
      gemmEfficiency: 0.65,
      source:
        "AMD Instinct MI325X data sheet, dense rates; GEMM efficiency not measured: H100's times the ratio of their best GEMMs, 0.60 and 0.80 of the peak (stas00/ml-engineering)",
    },
    links: mi300xLinks,
    gpusPerNode: 8,
  },
  MI355X: {
    title: 'AMD Instinct MI355X 288 GB, 8 a node',
    driverName: /\bmi355x\b/,
    gpu: {
      memoryBytes: 294_896 * mib,
      peakTflops: { fp16: 2516.6, bf16: 2516.6, fp32: 157.3, fp8: 5033.2 },
      memoryTBps: 8.0,
      powerWatts: 1400,
      pcieGeneration: 5,
      ...unmeasured,
      source: "AMD Instinct MI355X data sheet, dense rates; GEMM efficiency not measured: H100's",
    },
    links: mi355xLinks,
    gpusPerNode: 8,
  },
} as const satisfies Readonly<Record<string, GpuRecord>>;
