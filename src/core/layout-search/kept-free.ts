import type { SearchProblem } from './search-problem';

/** The problem on GPUs that lack what is to be kept free: what fits those keeps it. */
export function keepingFree(problem: SearchProblem): SearchProblem {
  const { request, keptFree } = problem;
  if (keptFree === undefined || keptFree.share === 0) return problem;
  const { cluster } = request;
  const gpu = { ...cluster.gpu, memoryBytes: (1 - keptFree.share) * cluster.gpu.memoryBytes };
  return { ...problem, request: { ...request, cluster: { ...cluster, gpu } } };
}
