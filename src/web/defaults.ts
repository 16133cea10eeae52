import { assumedGpuName, type ResolveDefaults } from '../core/plan-request/scenario';
import { sentence } from '../core/sentence';

/** What stands for GPUs that no file names: there are no settings on a page. */
export const defaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: null,
  gpusPerNode: null,
  reasons: { gpu: sentence`no file names a GPU`, nodes: sentence`no file names them`, gpusPerNode: sentence`no file names them` },
};
