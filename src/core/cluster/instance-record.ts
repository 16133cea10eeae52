import type { LinkSpec } from '../spec/cluster';
import type { GpuPresetName } from './presets';

/**
 * A machine type of a cloud: its GPUs and what links them. PCIe as `links.hostGBps`, one direction for one GPU, 80 % of the raw rate as in
 * `host-link.ts`.
 */
export interface InstanceRecord {
  readonly gpu: GpuPresetName;
  readonly gpusPerNode: number;
  readonly links: LinkSpec;
}
