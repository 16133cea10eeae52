import type { GpuSpec, LinkSpec, PcieGeneration } from '../../domain/cluster';

export const mib = 2 ** 20;

/**
 * A GPU as it is sold, with the node it usually sits in. Memory is the total that `nvidia-smi` (or `rocm-smi`) lists. `gemmEfficiency` is
 * that of the analytic time model (docs/model/time.md); each record's `source` shows where its value is from. Where nobody measured one,
 * that of the nearest measured GPU is taken and marked. Rates of narrow formats are dense and accumulate in fp32: half of a data sheet's
 * rate where that counts sparsity.
 */
export interface GpuRecord {
  /** As the settings show it. */
  readonly title: string;
  /** Matches what its driver calls it, in lower case with spaces for `-` and `_`. */
  readonly driverName: RegExp;
  /** Where the driver's name covers GPUs with different memory: this one's, GB. */
  readonly soldWithGB?: number;
  /** What the driver's name means where no memory is given: nearly all are sold with this much. */
  readonly isUsual?: true;
  /** Of NVIDIA's GPUs, as developer.nvidia.com/cuda-gpus lists it: `9.0`. */
  readonly computeCapability?: string;
  readonly gpu: Omit<GpuSpec, 'name'> & { readonly pcieGeneration: PcieGeneration };
  readonly links: LinkSpec;
  readonly gpusPerNode: number;
}

/** Of GPUs whose GEMMs nobody measured: what H100 reaches under PyTorch. */
export const unmeasured = {
  gemmEfficiency: 0.75,
  gemmEfficiencyKnown: false,
} as const;
