import type { InstanceRecord } from '../instance-record';
import { h100Links } from '../links';

export const nd96isr_h100_v5: InstanceRecord = {
  gpu: 'H100-80GB',
  gpusPerNode: 8,
  links: {
    ...h100Links,
    nicGBps: 400,
    hostGBps: 50.4,
    source: "Azure ND H100 v5 page (recalled): 8 x 400 Gbit/s InfiniBand; PCIe 5.0; inside the node as the GPU's preset",
  },
};
