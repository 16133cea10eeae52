import { assumedGpuName, type ResolveDefaults } from '../core/plan-request/scenario';
import { sentence } from '../core/sentence';

/** What stands for GPUs that no file names: there are no settings on a page. */
export const defaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: null,
  gpusPerNode: null,
  reasons: { gpu: sentence`as nothing names one`, nodes: sentence`as nothing names them`, gpusPerNode: sentence`as nothing names them` },
};
