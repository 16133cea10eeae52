import type { InstanceRecord } from '../instance-record';
import { mi300xLinks } from '../links';

export const nd96isr_mi300x_v5: InstanceRecord = {
  gpu: 'MI300X',
  gpusPerNode: 8,
  links: {
    ...mi300xLinks,
    nicGBps: 400,
    hostGBps: 50.4,
    source: "Azure ND MI300X v5 page (recalled): 8 x 400 Gbit/s InfiniBand; PCIe 5.0; inside the node as the GPU's preset",
  },
};
