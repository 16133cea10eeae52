import type { LaunchSettings } from '../../launchers/writing/launch-settings';
import { slurmHeader, startLines } from '../../launchers/writing/torchrun-script';

/** What is started: a file for train.py, options that show how, and on what. */
interface StartedRun extends Pick<LaunchSettings, 'title' | 'nodes' | 'gpusPerNode'> {
  readonly file: string;
  readonly examples: readonly [here: string, slurm: string];
}

/** A script that starts the training: by Slurm on all nodes of the job, otherwise on this one. Its options are those of train.py. */
export function runScript({ file, examples, ...plan }: StartedRun): string {
  return `${slurmHeader(plan)}
# Trains ${file} with PyTorch 2.6 or newer. Without GPUs it runs on the CPU.
#   ./run.sh ${examples[0]}      sbatch run.sh ${examples[1]}
set -euo pipefail

# Slurm starts a copy of this script, from the folder in which it was submitted
HERE=$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)
[ -f "$HERE/${file}" ] || HERE=\${SLURM_SUBMIT_DIR:?${file} is not next to this script}
GPUS_PER_NODE=\${GPUS_PER_NODE:-${plan.gpusPerNode}}
NNODES=\${SLURM_NNODES:-${plan.nodes}}

${startLines(plan, `"$HERE/train.py" "$HERE/${file}" "$@"`)}
`;
}
