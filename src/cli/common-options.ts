import { presetNamed } from '../core/formats/terapipe/cluster-section';
import { assumedGpuName, type ResolveDefaults } from '../core/resolve/defaults';
import { countOf, type Given } from './command';
import { sentence } from '../core/sentence';

/** Options of all commands. */
export const commonOptions = {
  json: { help: 'print one JSON object and nothing else' },
  help: { short: 'h', help: 'this text; after a command, its own' },
} as const;

/** Options of the commands that read a config. */
export const configOptions = {
  set: { value: 'KEY=VALUE', help: 'override a key of terapipe.json, as training.microBatch=1; repeatable' },
  gpu: { value: 'NAME', help: `GPU where no file names one (${assumedGpuName})` },
  nodes: { value: 'N', help: 'nodes where no file says (enough for the layout)' },
  'gpus-per-node': { value: 'N', help: 'GPUs per node where no file says (as the GPU is usually built in)' },
  profile: { value: 'PATH', help: 'plan with this profile; none: with none, though one is found' },
} as const;

/** Of the commands that plan one step. */
export const measured = {
  value: 'STEP',
  help: 'calibrate: the step of FILE takes this long (9.2s, 870ms), or as long as in this file of times or log of Megatron-LM; other layouts follow',
} as const;

/** What no file says. @throws ExpectedError `usage`, and as `presetNamed`. */
export function defaultsOf({ gpu: name, nodes, 'gpus-per-node': gpusPerNode }: Given<typeof configOptions>): ResolveDefaults {
  const gpu = presetNamed(name ?? assumedGpuName);
  if (typeof gpu !== 'string') throw gpu;
  return {
    gpu,
    nodes: countOf('--nodes', nodes),
    gpusPerNode: countOf('--gpus-per-node', gpusPerNode),
    reasons: {
      gpu: name === undefined ? sentence`as nothing names one; --gpu does` : sentence`as --gpu says`,
      nodes: sentence`as --nodes says`,
      gpusPerNode: sentence`as --gpus-per-node says`,
    },
  };
}
