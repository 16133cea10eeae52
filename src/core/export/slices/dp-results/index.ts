import type { SliceExport } from '../slice-export';

/** `dp_results.json`, which TeraPipe's `dp_slices_evaluation.py` runs by model name and index. */
export const dpResults: SliceExport = {
  id: 'dp-results',
  name: 'TeraPipe',
  description: "TeraPipe's own dp_results.json",
  hardware: null,
  language: 'json',
  write: async (plan) => (await import('./write')).writeDpResults(plan),
};
