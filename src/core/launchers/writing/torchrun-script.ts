import type { LaunchSettings } from './launch-settings';

/** The first lines of a script: a job of Slurm. */
export function slurmHeader({ title, nodes, gpusPerNode }: Pick<LaunchSettings, 'title' | 'nodes' | 'gpusPerNode'>): string {
  return `#!/usr/bin/env bash
#SBATCH --job-name=${title.replace(/[^\w-]+/g, '-').slice(0, 60) || 'train'}
#SBATCH --nodes=${nodes}
#SBATCH --gpus-per-node=${gpusPerNode}
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
`;
}

/**
 * The end of a script: `torchrun` by Slurm on all nodes of the job, otherwise on this one. It reads `NNODES` and
 * `GPUS_PER_NODE`. @param program with its arguments.
 */
export function startLines({ nodes }: Pick<LaunchSettings, 'nodes'>, program: string): string {
  const byHand =
    nodes === 1
      ? `  LAUNCH=(torchrun --standalone)`
      : `  # start this script on each of the ${nodes} nodes
  LAUNCH=(torchrun --node-rank "\${NODE_RANK:?set it to the number of this node, 0 to ${nodes - 1}}"
    --master-addr "\${MASTER_ADDR:?set it to the host name of node 0}" --master-port "\${MASTER_PORT:-29500}")`;
  return `if [ -n "\${SLURM_JOB_ID:-}" ]; then
  HOSTS=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
  LAUNCH=(srun torchrun --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d
    --rdzv-endpoint "\${HOSTS%%$'\\n'*}:\${MASTER_PORT:-29500}")
else
${byHand}
fi
"\${LAUNCH[@]}" --nnodes "$NNODES" --nproc-per-node "$GPUS_PER_NODE" \\
  ${program}`;
}
