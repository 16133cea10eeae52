/** Where the pipelines of an epoch run. Pipelines never span machines. */
export interface Placement {
  /** GPUs of one pipeline. */
  readonly pipelineLength: number;
  readonly replicasPerNode: number;
  readonly replicas: number;
  /** Ranks that train, ascending: one process a pipeline. The others wait for a message. */
  readonly activeRanks: readonly number[];
  /** First GPU of each pipeline, counted over all nodes, in the order of `activeRanks`. */
  readonly firstGpus: readonly number[];
}

/**
 * Pipelines of `pipelineLength` GPUs packed into the GPUs of the first epoch's pipelines. Those of `firstLength` GPUs form groups; of each
 * group as many ranks are active as pipelines fit in it, from its first one on: rank `group * firstLength + j` runs the group's GPUs from
 * `j * pipelineLength`. Source: arXiv 2102.03161, section 3.3, and the released code.
 * @param grow false: one pipeline a group, its other GPUs idle.
 */
export function placePipelines(
  { nodes, gpusPerNode }: { readonly nodes: number; readonly gpusPerNode: number },
  firstLength: number,
  pipelineLength: number,
  grow = true,
): Placement {
  const groupsPerNode = Math.floor(gpusPerNode / firstLength);
  const perGroup = grow ? Math.floor(firstLength / pipelineLength) : 1;
  const activeRanks: number[] = [];
  const firstGpus: number[] = [];
  for (let group = 0; group < nodes * groupsPerNode; group++) {
    const start = Math.floor(group / groupsPerNode) * gpusPerNode + (group % groupsPerNode) * firstLength;
    for (let pipeline = 0; pipeline < perGroup; pipeline++) {
      activeRanks.push(start + pipeline);
      firstGpus.push(start + pipeline * pipelineLength);
    }
  }
  const replicasPerNode = groupsPerNode * perGroup;
  return { pipelineLength, replicasPerNode, replicas: nodes * replicasPerNode, activeRanks, firstGpus };
}
