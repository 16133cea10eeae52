import type { InstanceRecord } from '../instance-record';
import { h100Links } from '../links';

export const p5_48xlarge: InstanceRecord = {
  gpu: 'H100-80GB',
  gpusPerNode: 8,
  links: {
    ...h100Links,
    nicGBps: 400,
    hostGBps: 12.6,
    source:
      "AWS EC2 P5 page (recalled): 3,200 Gbit/s EFA; between host and GPU a quarter of p5en's, as AWS says; inside the node as the GPU's preset",
  },
};
