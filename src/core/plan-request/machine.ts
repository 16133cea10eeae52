import { gpuPresets, type GpuPresetName } from '../cluster/presets';
import { ExpectedError } from '../errors';
import { formatCount, formatNumber } from '../format';
import type { Run } from '../run/run';
import { linksWith, presetLinks } from '../terapipe/cluster-section';
import { counted, sentence, type Sentence, type Value } from '../sentence';
import { overridden, type Located, type Place } from '../domain/located';

/** The machine that flags of a command line ask for. Null: the flag is not given. */
export interface Machine {
  readonly gpu: GpuPresetName | null;
  /** GPUs of all nodes together. */
  readonly gpus: number | null;
  readonly nodes: number | null;
  readonly gpusPerNode: number | null;
  /** Network of a whole node, GB/s. */
  readonly nicGBps: number | null;
}

/** No flags. */
export const noMachine: Machine = { gpu: null, gpus: null, nodes: null, gpusPerNode: null, nicGBps: null };

/** A flag: as it is written, its value, and the key of terapipe.json that it sets. */
interface Flag {
  readonly name: string;
  readonly key: string;
  readonly value: string | number;
  /** Of the key, where the flag is another quantity. */
  readonly setTo?: string | number;
}

/**
 * A run on the machine that flags ask for: each is obeyed where no file gives that value, and refused where one gives another.
 * @param assumed the GPU where neither names one.
 * @throws ExpectedError `flag-contradicts-file` at the value of the file; `flag-gpus` where a number of GPUs is not whole nodes.
 */
export function onMachine(run: Run, machine: Machine, assumed: GpuPresetName): Run {
  if (Object.values(machine).every((value) => value === null)) return run;
  requireOneKind(run, machine);
  const named = withGpu(run, machine.gpu);
  const { nodes, gpusPerNode } = machine.gpus === null ? machine : resolveMachineNodes(named, machine, machine.gpus, assumed);
  const sized = withCount(withCount(named, 'gpusPerNode', gpusPerNode), 'nodes', nodes);
  return withNetwork(sized, machine.nicGBps, assumed);
}

function requireOneKind({ groups }: Run, { gpu, gpus, nodes, gpusPerNode, nicGBps }: Machine): void {
  if (groups === undefined) return;
  const flags = [['--gpu', gpu], ['--gpus', gpus], ['--nodes', nodes], ['--gpus-per-node', gpusPerNode], ['--network', nicGBps]] as const; // prettier-ignore
  const [name = '--gpu'] = flags.find(([, value]) => value !== null) ?? [];
  throw new ExpectedError(
    'flag-contradicts-file',
    sentence`${name} names one kind of node, and this file has cluster.groups`,
    sentence`leave ${name} out, or change the groups in the file`,
    filePlace(groups),
  );
}

/**
 * Refuses GPUs of flags that the sizes of the layout, files and settings together, do not use.
 * @throws ExpectedError `flag-contradicts-file` at a size.
 */
export function requireSizesOn(run: Run, machine: Machine, assumed: GpuPresetName): void {
  const { tensor, pipeline, data, context } = run.layout;
  const flag =
    machine.gpus !== null ? '--gpus' : machine.nodes !== null ? '--nodes' : machine.gpusPerNode !== null ? '--gpus-per-node' : null;
  if (flag === null || run.nodes === undefined || tensor === undefined || pipeline === undefined || run.groups !== undefined) return;
  const gpus = run.nodes.value * (run.gpusPerNode?.value ?? gpuPresets[runPreset(run) ?? assumed].gpusPerNode);
  const fixed = data?.value ?? null;
  const used = tensor.value * pipeline.value * (context?.value ?? 1) * (fixed ?? 1);
  if (fixed === null ? gpus % used === 0 : gpus === used) return;
  const sizes = [`TP${tensor.value}`, `PP${pipeline.value}`, ...(context === undefined || context.value === 1 ? [] : [`CP${context.value}`]), ...(fixed === null ? [] : [`DP${fixed}`])]; // prettier-ignore
  throw new ExpectedError(
    'flag-contradicts-file',
    sentence`${flag} makes ${formatCount(gpus)} GPUs, and ${sizes.join(' ')} takes ${fixed === null ? sentence`a multiple of ${formatCount(used)}` : formatCount(used)}`,
    sentence`leave ${flag} out, or change the sizes with --set`,
    [data, pipeline, tensor].map((size) => (size === undefined ? undefined : filePlace(size))).find((place) => place !== undefined),
  );
}

function withGpu(run: Run, name: GpuPresetName | null): Run {
  if (name === null) return run;
  const { gpu } = gpuPresets[name];
  if (run.gpu?.value.name === gpu.name) return run;
  refuse({ name: '--gpu', key: 'cluster.gpu', value: name }, run.gpu, run.gpu?.value.name ?? '');
  return { ...run, gpu: overridden(gpu), links: presetLinks(name) };
}

function withCount(run: Run, key: 'nodes' | 'gpusPerNode', value: number | null): Run {
  const given = run[key];
  if (value === null || given?.value === value) return run;
  const name = key === 'nodes' ? '--nodes' : '--gpus-per-node';
  refuse({ name, key: `cluster.${key}`, value }, given, given?.value ?? '');
  return { ...run, [key]: overridden(value) };
}

function withNetwork(run: Run, nicGBps: number | null, assumed: GpuPresetName): Run {
  if (nicGBps === null) return run;
  const links = run.links?.value ?? gpuPresets[runPreset(run) ?? assumed].links;
  if (links.nicGBps === nicGBps) return run;
  const given = run.links?.source.kind === 'file' ? run.links : undefined;
  refuse({ name: '--network', key: 'cluster.links.nicGBps', value: nicGBps }, given, sentence`${formatNumber(links.nicGBps)} GB/s`);
  return { ...run, links: overridden(linksWith(links, { nicGBps })) };
}

/** @throws ExpectedError where a file or a setting gives the value otherwise; what is only a default of the format gives way. */
function refuse({ name, key, value, setTo = value }: Flag, given: Located<unknown> | undefined, inFile: Value): void {
  if (given === undefined || given.source.kind === 'default') return;
  const shown = typeof value === 'number' ? formatNumber(value) : value;
  throw new ExpectedError(
    'flag-contradicts-file',
    sentence`${name} is ${shown}, and this file has ${typeof inFile === 'number' ? formatCount(inFile) : inFile}`,
    sentence`leave ${name} out, or override the file with --set ${`${key}=${String(setTo)}`}`,
    filePlace(given),
  );
}

function filePlace({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

/** Nodes and GPUs of a node for a number of GPUs: whole nodes, or a part of one. @throws ExpectedError `flag-gpus`. */
function resolveMachineNodes(run: Run, machine: Machine, gpus: number, assumed: GpuPresetName): Pick<Machine, 'nodes' | 'gpusPerNode'> {
  const nodes = machine.nodes ?? fileValue(run.nodes);
  const perNode = machine.gpusPerNode ?? fileValue(run.gpusPerNode);
  const usual = gpuPresets[runPreset(run) ?? assumed].gpusPerNode;
  const each = perNode ?? run.gpusPerNode?.value ?? usual;
  if (nodes === null && gpus % each === 0) return { nodes: gpus / each, gpusPerNode: perNode };
  if (nodes === null && perNode === null && gpus < each) return { nodes: 1, gpusPerNode: gpus };
  if (nodes !== null && nodes * each === gpus) return { nodes, gpusPerNode: perNode };
  if (nodes !== null && perNode === null && gpus % nodes === 0 && gpus / nodes <= usual) return { nodes, gpusPerNode: gpus / nodes };
  if (machine.nodes === null && nodes !== null && gpus % each === 0) {
    refuse({ name: '--gpus', key: 'cluster.nodes', value: gpus, setTo: gpus / each }, run.nodes, nodesText(run, nodes));
  }
  throw gpusError(gpus, nodes, each, nodes === null ? run.gpusPerNode : run.nodes);
}

/** Nodes of a file, with the GPUs of each where the file sets them. */
function nodesText({ gpusPerNode }: Run, nodes: number): Sentence {
  const each = gpusPerNode?.source.kind === 'file' ? gpusPerNode.value : null;
  return each === null ? sentence`${counted(nodes, 'node')}` : sentence`${counted(nodes, 'node')} of ${counted(each, 'GPU')}`;
}

function gpusError(gpus: number, nodes: number | null, each: number, given: Located<number> | undefined): ExpectedError {
  const what: Sentence =
    nodes === null
      ? sentence`--gpus is ${formatCount(gpus)}, which is not whole nodes of ${formatCount(each)} GPUs`
      : sentence`--gpus is ${formatCount(gpus)}, and ${formatCount(nodes)} nodes of ${formatCount(each)} have ${formatCount(nodes * each)}`;
  const remedy =
    nodes === null
      ? sentence`give a multiple of ${each}, or --gpus-per-node too`
      : sentence`leave --gpus out, or give as many GPUs as the nodes have`;
  return new ExpectedError('flag-gpus', what, remedy, given === undefined ? undefined : filePlace(given));
}

function fileValue(given: Located<number> | undefined): number | null {
  return given === undefined || given.source.kind === 'default' ? null : given.value;
}

function runPreset({ gpu }: Run): GpuPresetName | null {
  const name = gpu?.value.name;
  return name !== undefined && Object.hasOwn(gpuPresets, name) ? (name as GpuPresetName) : null;
}
