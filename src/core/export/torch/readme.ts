import { formatBytes, formatCount, formatDuration, plural } from '../../format';
import type { LaunchSettings } from '../../launchers/writing/launch-settings';
import { remarkLine, type Remark } from '../../launchers/writing/remarks';
import { say } from '../../sentence';
import { capitalised, printable } from '../../text';
import type { TorchPlan } from './schema';
import { maximum } from '../../numbers';

/** What is in the folder and how to start it, on one screen. */
export function readmeText(
  { title, schedule, stages, units, layout, training, predicted }: TorchPlan,
  { nodes, gpusPerNode }: Pick<LaunchSettings, 'nodes' | 'gpusPerNode'>,
  gaps: readonly Remark[],
): string {
  const { pipeline, tensor, context, data } = layout;
  const sizes = Object.entries({ tensor, context, data, pipeline }).flatMap(([name, size]) => (size > 1 ? [`${name} ${size}`] : []));
  const processes = nodes * gpusPerNode;
  const peak = maximum(predicted.peakBytes);
  return `# ${printable(title)}

${capitalised(schedule)}: ${plural(stages.length, 'stage')} on ${plural(processes, 'process', 'processes')}${sizes.length === 0 ? '' : ` (${sizes.join(', ')})`}, ${plural(units.length, 'slice or micro-batch', 'slices or micro-batches')} a step on each replica, ${training.precision}.
Planned: ${formatDuration(predicted.iterationMs)} a step, ${formatBytes(peak)} on the fullest GPU.
${gaps.map((gap) => `\n${capitalised(printable(say(remarkLine(gap))))}.\n`).join('')}
| file             | what it is                                                       |
| ---------------- | ---------------------------------------------------------------- |
| plan.json        | stages, slices and the order of operations of each pipeline rank |
| terapipe_torch/  | the runtime: PyTorch 2.6 or newer, nothing else                  |
| train.py         | what torchrun starts                                             |
| run.sh           | starts it here, on ${nodes === 1 ? 'one node' : `each of ${formatCount(nodes)} nodes`} or under Slurm |

On this machine, with ${plural(processes, 'GPU')}, or without any on the CPU:

    python train.py plan.json --steps 10
${
  nodes === 1
    ? ''
    : `
On ${plural(nodes, 'node')}, start run.sh on each of them with \`NODE_RANK\` (0 to ${nodes - 1}) and \`MASTER_ADDR\` set.
`
}
Under Slurm, from this folder:

    sbatch run.sh --data tokens.bin --steps 1000 --save checkpoints

Options of train.py (\`--help\` lists all):

- \`--check\`: compares the loss and all gradients of a step with the whole model on one process.
- \`--data FILE\` (.bin or .npy of token ids; random tokens without it), \`--weights DIR\` (safetensors in the names of Hugging Face).
- \`--save DIR\`, \`--save-every N\`, \`--resume DIR\`, \`--log FILE\`.
- \`--trace out.json\`: every operation on one clock, for \`terapipe plan FILE --compare out.json\`.
- \`--profile out.json\`: times of this machine, for \`terapipe plan FILE --profile out.json\`.
`;
}
