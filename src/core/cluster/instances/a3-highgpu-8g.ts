import type { InstanceRecord } from '../instance-record';
import { h100Links } from '../links';

export const a3_highgpu_8g: InstanceRecord = {
  gpu: 'H100-80GB',
  gpusPerNode: 8,
  links: {
    ...h100Links,
    nicGBps: 100,
    hostGBps: 50.4,
    source:
      "Google Cloud A3 machine types (recalled): of 1,000 Gbit/s 4 x 200 for the GPUs (GPUDirect-TCPX); PCIe 5.0; inside the node as the GPU's preset",
  },
};
