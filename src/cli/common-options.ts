import { parseBandwidth } from '../core/amounts';
import type { PlanSettings } from '../core/export/settings-of-plan';
import { parseSetting } from '../core/terapipe/overrides';
import { presetNamed } from '../core/terapipe/cluster-section';
import { logNames } from '../features/compare/core/logs/registry';
import { assumedGpuName, type ResolveDefaults } from '../core/plan-request/scenario';
import type { Machine } from '../core/plan-request/machine';
import { sentence } from '../core/sentence';
import { quoted } from '../core/text';
import { parseCount, usage, type Given, type Line } from './command';

/** Options of all commands. */
export const commonOptions = {
  json: { help: 'print one JSON object and nothing else' },
  help: { short: 'h', help: 'this text; after a command, its own' },
  version: { help: 'the version of terapipe' },
} as const;

/** Options of the commands that read a config. */
export const configOptions = {
  set: { value: 'KEY=VALUE', help: 'override a key of terapipe.json, as training.microBatch=1 or tp=8; repeatable' },
  model: {
    value: 'MODEL',
    help: "model of a launcher's file that has none: a config.json, or one of Hugging Face's hub, as meta-llama/Llama-3.1-8B",
  },
  gpu: { value: 'NAME', help: `GPU where no file names one (${assumedGpuName})` },
  gpus: { value: 'N', help: 'GPUs of all nodes together, if no file sets them' },
  nodes: { value: 'N', help: 'nodes if no file sets them (the fewest on which the model fits)' },
  'gpus-per-node': { value: 'N', help: 'GPUs per node if no file sets them (as nodes of this GPU usually have)' },
  network: { value: 'RATE', help: 'network of a whole node if no file sets it, as 100Gb/s, 8x400Gb/s or 50GB/s' },
  profile: { value: 'PATH', help: 'plan with this profile; none: with none, though one is found' },
} as const;

/** Of the commands whose answer is short. */
export const all = {
  help: 'print everything: of plan the other schedules or layouts, why, and what is assumed; of check every information',
} as const;

/** Of the commands that print findings of several configs. */
export const ignore = { value: 'CODES', help: 'findings not to look for, as sp-no-effect,vocab-padding' } as const;

/** Of the commands whose answer others read: JSON is what `--json` prints. */
export const format = {
  value: 'FORMAT',
  help: 'text, json (as --json); of check also sarif, github (annotations of a workflow) and junit; of diff also markdown',
} as const;

/** Of the commands that plan one step. */
export const measured = {
  value: 'STEP',
  help: `calibrate: the step of FILE takes this long (9.2s, 870ms), or as long as in this file of times or log (${logNames.join(', ')}), which must be of this run; other layouts follow`,
} as const;

/** Of `plan`: what the whole run is, its documents, its days, GPU hours and cost. */
export const ofWholeRun = {
  lengths: {
    value: 'PATH',
    help: 'documents of many lengths: a number a line, JSON lines with "tokens", or one object of counts by length; what a step of them takes padded, packed and in chunks (training.lengths)',
  },
  tokens: { value: 'N', help: 'tokens that the whole run trains on (15.6e12, 15T), for days and GPU hours (training.tokens)' },
  price: { value: 'N', help: 'price of one GPU for an hour, for the cost of the run (cluster.pricePerGpuHour)' },
} as const;

/** Of the commands that plan one schedule. */
export const schedule = { value: 'NAME', help: 'plan this schedule, as --set schedule=NAME' } as const;

/** The line with the schedule that is asked for as a setting. */
export function withSchedule(line: Line, name: string | undefined): Line {
  return name === undefined ? line : { ...line, sets: [...line.sets, `schedule=${name}`] };
}

/** What holds where neither a file nor a flag sets. */
export const defaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: null,
  gpusPerNode: null,
  reasons: {
    gpu: sentence`no file names a GPU; set it with --gpu`,
    nodes: sentence`set by --nodes`,
    gpusPerNode: sentence`set by --gpus-per-node`,
  },
};

type MachineFlag = 'gpu' | 'nodes' | 'gpus-per-node' | 'gpus' | 'network';

/** The keys of terapipe.json that each flag of the machine sets. */
const keysOfFlags: Readonly<Record<MachineFlag, readonly string[]>> = {
  gpu: ['cluster.gpu', 'cluster.gpu.preset', 'cluster.instance'],
  nodes: ['cluster.nodes'],
  'gpus-per-node': ['cluster.gpusPerNode', 'cluster.instance'],
  gpus: ['cluster.nodes', 'cluster.gpusPerNode'],
  network: ['cluster.links.nicGBps'],
};

/**
 * The machine that the command line asks for.
 * @param sets its settings, which may not give the same value otherwise. @throws ExpectedError `usage`, and as `presetNamed`.
 */
export function parseMachine(given: Given<typeof configOptions>, sets: readonly string[]): Machine {
  const gpu = given.gpu === undefined ? null : presetNamed(given.gpu);
  if (gpu !== null && typeof gpu !== 'string') throw gpu;
  const machine = {
    gpu,
    gpus: parseCount('--gpus', given.gpus),
    nodes: parseCount('--nodes', given.nodes),
    gpusPerNode: parseCount('--gpus-per-node', given['gpus-per-node']),
    nicGBps: parseNetworkBandwidth(given.network),
  };
  const { gpus, nodes, gpusPerNode } = machine;
  if (gpus !== null && nodes !== null && gpusPerNode !== null && nodes * gpusPerNode !== gpus)
    throw usage(
      sentence`--gpus is ${gpus}, and ${nodes} nodes of ${gpusPerNode} GPUs have ${nodes * gpusPerNode}`,
      sentence`leave --gpus out`,
    );
  for (const [flag, keys] of Object.entries(keysOfFlags)) refuseSet(flag, given[flag as MachineFlag], keys, sets);
  return machine;
}

/** Refuses a flag next to a setting of one of its `keys` with another value. @throws ExpectedError `usage`. */
export function refuseSet(flag: string, written: string | undefined, keys: readonly string[], sets: readonly string[]): void {
  if (written === undefined) return;
  for (const set of sets) {
    const setting = parseSetting(set);
    if (setting === null || !keys.includes(setting.key) || isSame(setting.value, written)) continue;
    throw usage(sentence`--${flag} ${written} and --set ${set} contradict each other`, sentence`give one of them`);
  }
}

/** Whether two values mean the same, GPUs by any of their names. */
function isSame(a: string, b: string): boolean {
  const [one, other] = [presetNamed(a), presetNamed(b)];
  return a.toLowerCase() === b.toLowerCase() || (typeof one === 'string' && one === other);
}

function parseNetworkBandwidth(written: string | undefined): number | null {
  if (written === undefined) return null;
  const rate = parseBandwidth(written);
  if (rate !== null) return rate;
  throw usage(
    sentence`--network is ${quoted(written)}`,
    sentence`give it the rate of a node with its unit, as 100Gb/s, 8x400Gb/s or 50GB/s`,
  );
}

/** What a command line sets, flags of the machine included, by keys of terapipe.json. */
export function settingsOfLine({ sets, machine }: Pick<Line, 'sets' | 'machine'>): PlanSettings {
  const { gpu, nicGBps } = machine;
  const given = sets.flatMap((set): [string, unknown][] => {
    const setting = parseSetting(set);
    return setting === null ? [] : [[setting.key, setting.value]];
  });
  const ofFlags = { 'cluster.gpu': gpu ?? undefined, 'cluster.links.nicGBps': nicGBps ?? undefined };
  return Object.fromEntries([...Object.entries(ofFlags).filter(([, value]) => value !== undefined), ...given]);
}
