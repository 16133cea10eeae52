import { sentence } from '../../sentence';
import { byDefault } from '../../domain/located';
import type { Facts } from '../../formats/facts';
import type { Launch } from './launch';

/** Flags that say, or may say, on how many nodes a launch runs. */
const nodeFlags = [
  'nnodes',
  'num-nodes',
  'nodes',
  'num-machines',
  'hostfile',
  'include',
  'config-file',
  'ntasks',
  'actor-num-nodes',
  'num-processes',
];

/** Launchers that start processes on one node by default, by the flag that only they take. */
const launchers = { 'nproc-per-node': 'torchrun', 'num-gpus': 'DeepSpeed' } as const;

/**
 * The one node of a launch that sets the number of GPUs per node but not the number of nodes: torchrun's `--nnodes` is 1, DeepSpeed
 * takes this host without a hostfile, `accelerate launch` has one machine.
 * @param text of the script.
 */
export function oneNode({ flags, isCommand }: Pick<Launch, 'flags' | 'isCommand'>, text: string): Facts {
  if (!isCommand || nodeFlags.some((flag) => flags.has(flag)) || underScheduler.test(text)) return {};
  const flag = (Object.keys(launchers) as (keyof typeof launchers)[]).find((key) => flags.has(key));
  const name = flag === undefined ? (/\baccelerate[ \t]+launch\b/.test(text) ? 'accelerate launch' : null) : launchers[flag];
  return name === null ? {} : { nodes: byDefault(1, sentence`${name} takes one node where nothing is set`) };
}

/** Slurm and MPI start a launch on each node that they were asked for elsewhere. */
const underScheduler = /^[^#\n]*\b(?:srun|mpirun|mpiexec|pdsh)\b|\bSLURM_|^#(?:SBATCH|PBS|BSUB)\b/m;
