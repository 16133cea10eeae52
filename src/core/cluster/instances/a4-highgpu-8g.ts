import type { InstanceRecord } from '../instance-record';
import { b200Links } from '../links';

export const a4_highgpu_8g: InstanceRecord = {
  gpu: 'B200',
  gpusPerNode: 8,
  links: {
    ...b200Links,
    nicGBps: 400,
    hostGBps: 50.4,
    source:
      "Google Cloud A4 machine types (recalled): of 3,600 Gbit/s 8 x 400 for the GPUs (RoCE); PCIe 5.0; inside the node as the GPU's preset",
  },
};
