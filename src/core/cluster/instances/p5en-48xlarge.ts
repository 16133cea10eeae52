import type { InstanceRecord } from '../instance-record';
import { h100Links } from '../links';

export const p5en_48xlarge: InstanceRecord = {
  gpu: 'H200',
  gpusPerNode: 8,
  links: {
    ...h100Links,
    nicGBps: 400,
    hostGBps: 50.4,
    source: "AWS EC2 P5 page (recalled): 3,200 Gbit/s EFA; PCIe 5.0; inside the node as the GPU's preset",
  },
};
