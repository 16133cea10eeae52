import { mib, type GpuRecord } from '../gpu-record';
import { mi300xLinks } from '../links';

export const mi325x: GpuRecord = {
  title: 'AMD Instinct MI325X 256 GB, 8 a node',
  driverName: /\bmi325x\b/,
  gpu: {
    memoryBytes: 262_128 * mib,
    peakTflops: { fp16: 1307.4, bf16: 1307.4, fp32: 163.4, fp8: 2614.9 },
    memoryTBps: 6.0,
    powerWatts: 1000,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "AMD Instinct MI325X data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  links: mi300xLinks,
  gpusPerNode: 8,
};
