import type { LaunchSettings } from '../../launchers/writing/launch-settings';
import { slurmHeader, startLines } from '../../launchers/writing/torchrun-script';

/** A script that starts the training: by Slurm on all nodes of the job, otherwise on this one. Its options are those of train.py. */
export function runScript(plan: Pick<LaunchSettings, 'title' | 'nodes' | 'gpusPerNode'>): string {
  return `${slurmHeader(plan)}
# Trains plan.json with PyTorch 2.6 or newer. Without GPUs it runs on the CPU.
#   ./run.sh --steps 10      sbatch run.sh --steps 1000 --data tokens.bin
set -euo pipefail

# Slurm starts a copy of this script, from the folder in which it was submitted
HERE=$(cd "$(dirname "\${BASH_SOURCE[0]}")" && pwd)
[ -f "$HERE/plan.json" ] || HERE=\${SLURM_SUBMIT_DIR:?plan.json is not next to this script}
GPUS_PER_NODE=\${GPUS_PER_NODE:-${plan.gpusPerNode}}
NNODES=\${SLURM_NNODES:-${plan.nodes}}

${startLines(plan, '"$HERE/train.py" "$HERE/plan.json" "$@"')}
`;
}
