import { instanceNames, instances, type InstanceName } from '../../../core/cluster/instances';
import { gpuPresets, type GpuPresetName } from '../../../core/cluster/presets';
import { sameWord } from '../../../core/domain/settings/rules';
import { ExpectedError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { sentence } from '../../../core/sentence';
import { presetNamed } from '../../../core/terapipe/cluster-section';
import { quoted } from '../../../core/text';

/** A kind of machine to plan on. Plain data. */
export interface Machine {
  /** A GPU preset, or a cloud's machine type. */
  readonly name: GpuPresetName | InstanceName;
  readonly isInstance: boolean;
  readonly gpu: GpuPresetName;
  readonly gpusPerNode: number;
  /** GPUs of all nodes; null: as many as the files give, or the fewest on which the model fits. */
  readonly gpus: number | null;
}

/** GPUs that are tried when none are named: those of servers that people rent for training. */
export const usualMachines = ['A100-80GB', 'H100-80GB', 'H200', 'B200', 'MI300X'] as const satisfies readonly GpuPresetName[];

const mostMachines = 64;

/**
 * Machines as `H100-80GB`, `H200:64` or `p5.48xlarge:64`, separated by commas: a GPU preset or a cloud's machine type, and how many GPUs.
 * @throws ExpectedError `config-unknown-preset`; `where-machines` for counts that are not whole, and for more than 64 machines.
 */
export function parseMachines(written: string): Machine[] {
  const parts = written.split(',');
  if (parts.length > mostMachines)
    throw new ExpectedError('where-machines', sentence`--on names ${parts.length} machines`, sentence`name at most ${mostMachines}`);
  return parts.map(parseMachine);
}

/** One machine as `parseMachines` takes it. @throws ExpectedError as `parseMachines`, for a comma too. */
export function parseMachine(written: string): Machine {
  const part = written.trim();
  const [name = '', count] = part.split(/:(.*)/s);
  const machine = machineNamed(name.trim());
  if (count === undefined) return machine;
  const gpus = Number(count);
  if (Number.isInteger(gpus) && gpus >= 1 && gpus <= 1_000_000) return { ...machine, gpus };
  throw new ExpectedError('where-machines', sentence`${quoted(part)} has no number of GPUs`, sentence`write it as ${machine.name}:64`);
}

/** A machine type of a cloud, or a GPU preset. @throws ExpectedError `config-unknown-preset`. */
export function machineNamed(name: string): Machine {
  const instance = instanceNames.find((one) => sameWord(one, name));
  if (instance !== undefined) return { name: instance, isInstance: true, ...instances[instance], gpus: null };
  const preset = presetNamed(name);
  if (typeof preset !== 'string') throw preset;
  return { name: preset, isInstance: false, gpu: preset, gpusPerNode: gpuPresets[preset].gpusPerNode, gpus: null };
}

/** Settings of terapipe.json by key. */
export type MachineSettings = Readonly<Record<string, string | number>>;

/**
 * Settings of terapipe.json, by key, that put a run on a machine: those that `terapipe plan --set` takes for the same plan.
 * @param gpus of all nodes; null: nodes are left open. @throws ExpectedError `where-nodes` where they are not whole nodes.
 */
export function machineSettings({ name, isInstance, gpusPerNode }: Machine, gpus: number | null): MachineSettings {
  const each = gpus !== null && gpus < gpusPerNode ? gpus : gpusPerNode;
  if (gpus !== null && gpus % each !== 0)
    throw new ExpectedError(
      'where-nodes',
      sentence`${formatCount(gpus)} GPUs are not whole nodes of ${each} ${name}`,
      sentence`give a multiple of ${each}`,
    );
  return {
    [isInstance ? 'cluster.instance' : 'cluster.gpu']: name,
    ...(isInstance && each === gpusPerNode ? {} : { 'cluster.gpusPerNode': each }),
    ...(gpus === null ? {} : { 'cluster.nodes': gpus / each }),
  };
}
