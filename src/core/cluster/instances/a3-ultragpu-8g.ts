import type { InstanceRecord } from '../instance-record';
import { h100Links } from '../links';

export const a3_ultragpu_8g: InstanceRecord = {
  gpu: 'H200',
  gpusPerNode: 8,
  links: {
    ...h100Links,
    nicGBps: 400,
    hostGBps: 50.4,
    source:
      "Google Cloud A3 machine types (recalled): of 3,600 Gbit/s 8 x 400 for the GPUs (RoCE); PCIe 5.0; inside the node as the GPU's preset",
  },
};
