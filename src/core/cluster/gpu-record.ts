import type { GpuSpec, LinkSpec } from '../spec/cluster';

export const mib = 2 ** 20;

/**
 * A GPU as it is sold, with the node it usually sits in. Memory is the total that `nvidia-smi` (or `rocm-smi`) lists. Fractions `gemmEfficiency` are those of the analytic time model (docs/model/time.md): 0.958 fitted on 45 multi-node A100 runs of
 * vTrain's artefact, carried unchanged to V100 (TeraPipe's ten settings), 0.527 fitted on nine dense B200 runs, 0.75 from one published Llama 3 405B row on H100. Where none was measured, H100's is carried over and marked.
 * Rates of narrow formats are dense and accumulate in fp32: half of the data sheets' where those count sparsity, as theirs do.
 */
export interface GpuRecord {
  /** As the settings and the command that chooses a GPU show it. */
  readonly title: string;
  /** Matches what its driver calls it, in lower case with spaces for `-` and `_`. */
  readonly driverName: RegExp;
  /** Where the driver's name covers GPUs with different memory: this one's, GB. */
  readonly soldWithGB?: number;
  readonly gpu: Omit<GpuSpec, 'name'>;
  readonly links: LinkSpec;
  readonly gpusPerNode: number;
}
