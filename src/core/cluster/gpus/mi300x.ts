import { mib, type GpuRecord } from '../gpu-record';
import { mi300xLinks } from '../links';

export const mi300x: GpuRecord = {
  title: 'AMD Instinct MI300X 192 GB, 8 a node',
  driverName: /\bmi300x\b/,
  gpu: {
    memoryBytes: 196_592 * mib,
    peakTflops: { fp16: 1307.4, bf16: 1307.4, fp32: 163.4, fp8: 2614.9 },
    memoryTBps: 5.3,
    powerWatts: 750,
    pcieGeneration: 5,
    gemmEfficiency: 0.75,
    gemmEfficiencyKnown: false,
    source: "AMD Instinct MI300X data sheet, dense rates; GEMM efficiency not measured: H100's",
  },
  links: mi300xLinks,
  gpusPerNode: 8,
};
