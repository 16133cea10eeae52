import type { InstanceRecord } from '../instance-record';
import { a100Links } from '../links';

export const p4d_24xlarge: InstanceRecord = {
  gpu: 'A100-40GB',
  gpusPerNode: 8,
  links: {
    ...a100Links,
    nicGBps: 50,
    hostGBps: 12.6,
    source: "AWS EC2 P4 page (recalled): 4 x 100 Gbit/s EFA; PCIe 3.0 of its Cascade Lake hosts; inside the node as the GPU's preset",
  },
};
