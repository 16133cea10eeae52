import type { LinkSpec } from '../domain/cluster';
import { a100Links, b200Links, h100Links, mi300xLinks } from './links';
import type { GpuPresetName } from './presets';

/**
 * A machine type of a cloud: its GPUs and what links them. PCIe as `links.hostGBps`, one direction for one GPU, 80 % of the raw rate as in
 * `links.ts`.
 */
interface InstanceRecord {
  readonly gpu: GpuPresetName;
  readonly gpusPerNode: number;
  readonly links: LinkSpec;
}

const p4Links: LinkSpec = {
  ...a100Links,
  nicGBps: 50,
  hostGBps: 12.6,
  source: "AWS EC2 P4 page (recalled): 4 x 100 Gbit/s EFA; PCIe 3.0 of its Cascade Lake hosts; inside the node as the GPU's preset",
};

/**
 * Every machine type of a cloud that `cluster.instance` may name. Schema and documents are written from this list: `npm run docs --
 * --write`.
 */
export const instances = {
  'p4d.24xlarge': {
    gpu: 'A100-40GB',
    gpusPerNode: 8,
    links: p4Links,
  },
  'p4de.24xlarge': {
    gpu: 'A100-80GB',
    gpusPerNode: 8,
    links: p4Links,
  },
  'p5.48xlarge': {
    gpu: 'H100-80GB',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 400,
      hostGBps: 12.6,
      source:
        "AWS EC2 P5 page (recalled): 3,200 Gbit/s EFA; between host and GPU a quarter of p5en's (AWS); inside the node as the GPU's preset",
    },
  },
  'p5en.48xlarge': {
    gpu: 'H200',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 400,
      hostGBps: 50.4,
      source: "AWS EC2 P5 page (recalled): 3,200 Gbit/s EFA; PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  'p6-b200.48xlarge': {
    gpu: 'B200',
    gpusPerNode: 8,
    links: {
      ...b200Links,
      nicGBps: 400,
      hostGBps: 50.4,
      source: "AWS EC2 P6 page (recalled): 3,200 Gbit/s EFA; PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  'a3-highgpu-8g': {
    gpu: 'H100-80GB',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 100,
      hostGBps: 50.4,
      source:
        "Google Cloud A3 machine types (recalled): of 1,000 Gbit/s 4 x 200 for the GPUs (GPUDirect-TCPX); PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  'a3-megagpu-8g': {
    gpu: 'H100-80GB',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 200,
      hostGBps: 50.4,
      source:
        "Google Cloud A3 machine types (recalled): of 1,800 Gbit/s 8 x 200 for the GPUs (GPUDirect-TCPXO); PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  'a3-ultragpu-8g': {
    gpu: 'H200',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 400,
      hostGBps: 50.4,
      source:
        "Google Cloud A3 machine types (recalled): of 3,600 Gbit/s 8 x 400 for the GPUs (RoCE); PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  'a4-highgpu-8g': {
    gpu: 'B200',
    gpusPerNode: 8,
    links: {
      ...b200Links,
      nicGBps: 400,
      hostGBps: 50.4,
      source:
        "Google Cloud A4 machine types (recalled): of 3,600 Gbit/s 8 x 400 for the GPUs (RoCE); PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  ND96isr_H100_v5: {
    gpu: 'H100-80GB',
    gpusPerNode: 8,
    links: {
      ...h100Links,
      nicGBps: 400,
      hostGBps: 50.4,
      source: "Azure ND H100 v5 page (recalled): 8 x 400 Gbit/s InfiniBand; PCIe 5.0; inside the node as the GPU's preset",
    },
  },
  ND96isr_MI300X_v5: {
    gpu: 'MI300X',
    gpusPerNode: 8,
    links: {
      ...mi300xLinks,
      nicGBps: 400,
      hostGBps: 50.4,
      source: "Azure ND MI300X v5 page (recalled): 8 x 400 Gbit/s InfiniBand; PCIe 5.0; inside the node as the GPU's preset",
    },
  },
} as const satisfies Readonly<Record<string, InstanceRecord>>;

export type InstanceName = keyof typeof instances;
export const instanceNames = Object.keys(instances) as readonly InstanceName[];
