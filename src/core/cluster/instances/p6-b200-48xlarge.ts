import type { InstanceRecord } from '../instance-record';
import { b200Links } from '../links';

export const p6_b200_48xlarge: InstanceRecord = {
  gpu: 'B200',
  gpusPerNode: 8,
  links: {
    ...b200Links,
    nicGBps: 400,
    hostGBps: 50.4,
    source: "AWS EC2 P6 page (recalled): 3,200 Gbit/s EFA; PCIe 5.0; inside the node as the GPU's preset",
  },
};
