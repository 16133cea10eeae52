import { mib, type GpuRecord } from '../gpu-record';
import { mi355xLinks } from '../links';

export const mi355x: GpuRecord = {
  title: 'AMD Instinct MI355X 288 GB, 8 a node',
  driverName: /\bmi355x\b/,
  gpu: {
    memoryBytes: 294_896 * mib,
    peakTflops: { fp16: 2516.6, bf16: 2516.6, fp32: 157.3, fp8: 5033.2 },
    memoryTBps: 8.0,
    powerWatts: 1400,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "AMD Instinct MI355X data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  links: mi355xLinks,
  gpusPerNode: 8,
};
