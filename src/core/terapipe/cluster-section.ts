import { gpuPresetNames, gpuPresets, matchGpuPreset, type GpuPresetName } from '../cluster/presets';
import { joinNodeGroups } from '../cluster/groups';
import { instances, type InstanceName } from '../cluster/instances';
import type { GpuSpec, LinkSpec, NodeGroup } from '../domain/cluster';
import { configError, type ExpectedError } from '../errors';
import { bytesPerGiB } from '../format';
import { byDefault, type Located } from '../domain/located';
import { orList, quoted } from '../text';
import {
  clusterFields,
  gpuFields,
  instanceFields,
  latencyFields,
  linkFields,
  intraNodeBusFields,
  peakTflopsFields,
  type GpuNumbers,
} from './fields';
import { nodePlace } from '../languages/json/document';
import { mostGroups } from '../domain/settings/layout';
import { path } from '../domain/settings/rules';
import type { PlanValues } from '../domain/settings/setting';
import type { settings } from '../domain/settings/table';
import type { LocatedPartial } from '../run/given';
import { openChild, openSection, plain, readField, readFields, type Section } from './section';
import { closest } from '../suggest';
import { sentence, type Sentence } from '../sentence';

/** The one key of `cluster` that holds for nodes of every kind. */
const priceField = { pricePerGpuHour: clusterFields.pricePerGpuHour };

/** Figures of a GPU given one by one. */
interface GpuFigures extends Partial<GpuNumbers> {
  readonly peakTflops?: Partial<GpuSpec['peakTflops']>;
}

/** Figures of links given one by one. */
interface LinkFigures extends Partial<Pick<LinkSpec, 'nicGBps' | 'nicEfficiency' | 'nicSharedEfficiency' | 'hostGBps' | 'nvlinkDomain'>> {
  readonly intraNodeBusGBps?: Partial<LinkSpec['intraNodeBusGBps']>;
  readonly allReduceLatencyUs?: Partial<LinkSpec['allReduceLatencyUs']>;
}

/** What a file sets for the cluster. `links` are those of the preset unless given. */
export interface GivenCluster extends LocatedPartial<PlanValues<typeof settings.cluster>> {
  readonly pricePerGpuHour?: Located<number>;
  readonly instance?: Located<InstanceName>;
  readonly gpu?: Located<GpuSpec>;
  readonly links?: Located<LinkSpec>;
  /** Two or more kinds of nodes; nothing else is given then. */
  readonly groups?: Located<readonly [NodeGroup, ...NodeGroup[]]>;
}

/** Keys of nodes that are all alike, in `cluster` itself or in one of its groups. */
export const groupKeys = ['instance', 'gpu', 'nodes', 'gpusPerNode', 'links'] as const;
export const clusterKeys = [...groupKeys, 'groups', 'pricePerGpuHour'] as const;
export const gpuKeys = ['preset', 'memoryGB', 'peakTflops', 'memoryTBps', 'gemmEfficiency', 'powerWatts'] as const;
export const linkKeys = [
  'intraNodeBusGBps',
  'allReduceLatencyUs',
  'nicGBps',
  'nicEfficiency',
  'nicSharedEfficiency',
  'hostGBps',
  'nvlinkDomain',
] as const;

/**
 * Reads `cluster` of a terapipe.json. Groups that are all of one kind are read as the plain cluster that they make.
 * @throws ExpectedError `config-unknown-preset`, `config-inconsistent` for figures without a preset to complete them and for groups in
 * addition to a GPU, or as `readByRule`.
 */
export function readCluster(root: Section): GivenCluster {
  const cluster = openChild(root, 'cluster', clusterKeys);
  if (cluster === undefined) return {};
  if (cluster.members.has('groups')) return { ...readFields(cluster, priceField), ...readGroups(cluster) };
  const { instance } = readFields(cluster, instanceFields);
  const gpu = readGpu(cluster, instance);
  const links = readLinks(cluster, usualLinks(gpu?.preset, instance));
  const numbers = readFields(cluster, clusterFields);
  return {
    ...(instance === undefined ? {} : { instance, gpusPerNode: gpusOfInstance(cluster, instance, numbers.gpusPerNode) }),
    ...numbers,
    ...(gpu === undefined ? {} : { gpu: gpu.located }),
    ...(links === undefined ? {} : { links }),
  };
}

/**
 * GPUs of a node of an instance, or the part of them that is given. @throws ExpectedError `config-inconsistent`, placed, for more than it
 * has.
 */
function gpusOfInstance({ path }: Section, { value: name }: Located<InstanceName>, given: Located<number> | undefined): Located<number> {
  const { gpusPerNode } = instances[name];
  if (given === undefined) return { value: gpusPerNode, source: { kind: 'default', reason: sentence`as ${name} has` } };
  if (given.value <= gpusPerNode) return given;
  throw configError(
    'config-inconsistent',
    sentence`${path.join('.')}.gpusPerNode is ${given.value}, and ${name} has ${gpusPerNode} GPUs`,
    sentence`remove gpusPerNode, or name another instance`,
    given.source.kind === 'file' ? given.source.place : undefined,
  );
}

/** Links that hold where a file gives none, and whose they are. */
interface UsualLinks {
  readonly links: LinkSpec;
  readonly reason: Sentence;
}

function usualLinks(preset: GpuPresetName | undefined, instance: Located<InstanceName> | undefined): UsualLinks | null {
  if (instance !== undefined) return { links: instances[instance.value].links, reason: sentence`the links of ${instance.value}` };
  return preset === undefined ? null : usualPresetLinks(preset);
}

function usualPresetLinks(preset: GpuPresetName): UsualLinks {
  return { links: gpuPresets[preset].links, reason: sentence`the links ${preset} nodes usually have` };
}

/** The links that nodes of a GPU usually have, where no file gives any. */
export function presetLinks(preset: GpuPresetName): Located<LinkSpec> {
  const { links, reason } = usualPresetLinks(preset);
  return byDefault(links, reason);
}

function readGroups(cluster: Section): GivenCluster {
  const { document, members } = cluster;
  const node = members.get('groups')?.value;
  if (node === undefined) return {};
  const place = nodePlace(document, node);
  const conflicting = groupKeys.filter((key) => members.has(key));
  if (conflicting.length > 0)
    throw configError(
      'config-inconsistent',
      sentence`cluster has both groups and ${orList(conflicting)}`,
      sentence`set them in each group, and nothing else in cluster`,
      place,
    );
  const entries = node.type === 'array' ? (node.children ?? []) : [];
  const read = entries.map((entry, index) =>
    readGroup(openSection(document, entry, ['cluster', `groups[${index}]`], groupKeys, cluster.remarks)),
  );
  const [first, ...others] = read.map(({ group }) => group);
  if (first === undefined || entries.length > mostGroups)
    throw configError(
      node.type === 'array' ? 'config-out-of-range' : 'config-wrong-type',
      sentence`cluster.groups is ${node.type === 'array' ? sentence`a list of ${entries.length}` : sentence`not a list`}`,
      sentence`give it a list of 1 to ${mostGroups} groups of nodes, as [{ "gpu": "H100-80GB", "nodes": 2 }]`,
      place,
    );
  const source = { kind: 'file', place, key: 'cluster.groups' } as const;
  const { groups, gpu, links, nodes, gpusPerNode } = joinNodeGroups([first, ...others]);
  if (groups !== undefined) return { groups: { value: [first, ...others], source } };
  const at = <T>(value: T): Located<T> => ({ value, source });
  const usual = read.every(({ usual: each }) => each !== null) ? read[0]?.usual : null;
  return { gpu: at(gpu), links: usual ?? at(links), nodes: at(nodes), gpusPerNode: at(gpusPerNode) };
}

/** A group, and its links where they are those that nodes of its GPU usually have. */
function readGroup(group: Section): { readonly group: NodeGroup; readonly usual: Located<LinkSpec> | null } {
  const { instance } = readFields(group, instanceFields);
  const gpu = readGpu(group, instance);
  const { nodes, gpusPerNode } = readFields(group, clusterFields);
  const missing = gpu === undefined ? 'gpu' : 'nodes';
  if (gpu === undefined || nodes === undefined)
    throw configError(
      'config-inconsistent',
      sentence`${group.path.join('.')} has no ${missing}`,
      missing === 'gpu' ? sentence`name its GPU` : sentence`give its number of nodes`,
      nodePlace(group.document, group.node),
    );
  const preset = gpuPresets[gpu.preset];
  const links = readLinks(group, usualLinks(gpu.preset, instance)) ?? presetLinks(gpu.preset);
  const each = instance === undefined ? gpusPerNode : gpusOfInstance(group, instance, gpusPerNode);
  return {
    group: { gpu: gpu.located.value, links: links.value, nodes: nodes.value, gpusPerNode: each?.value ?? preset.gpusPerNode },
    usual: links.source.kind === 'default' && instance === undefined ? links : null,
  };
}

/**
 * The preset of a name, as a person or `nvidia-smi` writes it: `H100-80GB`, `h100`, `NVIDIA A100-SXM4-80GB`.
 * @returns the preset's name, or the error to throw, with the nearest name in its remedy: `A100` is sold with 40 and 80 GB.
 */
export function presetNamed(name: string): GpuPresetName | ExpectedError {
  const found = matchGpuPreset(name, null);
  if (found !== null) return found;
  const wanted = name.toLowerCase().replace(/^(nvidia|amd) /, '');
  const meant = gpuPresetNames.find((preset) => preset.toLowerCase().startsWith(`${wanted}-`)) ?? closest(name, gpuPresetNames);
  return configError(
    'config-unknown-preset',
    sentence`${quoted(name)} is not a GPU preset`,
    meant === null ? sentence`use ${orList(gpuPresetNames)}` : sentence`did you mean "${meant}"? Presets are ${orList(gpuPresetNames)}`,
  );
}

/** The GPU of a preset that a launcher's file names, with its usual links; nothing for a name that is none. */
export function gpuOfPreset(named: Located<string> | undefined): Pick<GivenCluster, 'gpu' | 'links'> {
  const preset = named === undefined ? null : presetNamed(named.value);
  if (named === undefined || preset === null || typeof preset !== 'string') return {};
  return { gpu: { value: gpuPresets[preset].gpu, source: named.source }, links: presetLinks(preset) };
}

/** A GPU with some of its figures replaced; its source records that. */
export function gpuWith(base: GpuSpec, figures: GpuFigures): GpuSpec {
  const { memoryGB, memoryTBps, gemmEfficiency, powerWatts, peakTflops } = figures;
  const changed = Object.keys(figures).length > 0;
  return {
    ...base,
    memoryBytes: memoryGB === undefined ? base.memoryBytes : memoryGB * bytesPerGiB,
    memoryTBps: memoryTBps ?? base.memoryTBps,
    gemmEfficiency: gemmEfficiency ?? base.gemmEfficiency,
    gemmEfficiencyKnown: gemmEfficiency !== undefined || base.gemmEfficiencyKnown,
    peakTflops: { ...base.peakTflops, ...peakTflops },
    ...(powerWatts === undefined ? {} : { powerLimitWatts: powerWatts }),
    source: changed ? `${Object.keys(figures).join(', ')} as given; otherwise ${base.source}` : base.source,
  };
}

/**
 * Links with some of their figures replaced; their source records that. What collectives reach of the preset's network does not hold for
 * another network.
 */
export function linksWith({ nicSharedEfficiency: shared, ...base }: LinkSpec, figures: LinkFigures): LinkSpec {
  const changed = Object.keys(figures).length > 0;
  const sameNetwork = figures.nicGBps === undefined && figures.nicEfficiency === undefined;
  return {
    ...base,
    ...(sameNetwork && shared !== undefined ? { nicSharedEfficiency: shared } : {}),
    ...figures,
    intraNodeBusGBps: { ...base.intraNodeBusGBps, ...figures.intraNodeBusGBps },
    allReduceLatencyUs: { ...base.allReduceLatencyUs, ...figures.allReduceLatencyUs },
    source: changed ? `${Object.keys(figures).join(', ')} as given; otherwise ${base.source}` : base.source,
  };
}

interface GivenGpu {
  readonly located: Located<GpuSpec>;
  readonly preset: GpuPresetName;
}

/**
 * The GPU that a file gives, or that of its instance. @throws ExpectedError `config-inconsistent`, placed, where these are not the same.
 */
function readGpu(cluster: Section, instance: Located<InstanceName> | undefined): GivenGpu | undefined {
  const given = readGivenGpu(cluster);
  if (instance === undefined) return given;
  const { gpu: preset } = instances[instance.value];
  if (given === undefined) return { located: { value: gpuPresets[preset].gpu, source: instance.source }, preset };
  if (given.preset === preset) return given;
  const { source } = given.located;
  throw configError(
    'config-inconsistent',
    sentence`${cluster.path.join('.')}.gpu is ${given.preset}, and ${instance.value} has ${preset}`,
    sentence`remove gpu, or name another instance`,
    source.kind === 'file' ? source.place : undefined,
  );
}

function readGivenGpu(cluster: Section): GivenGpu | undefined {
  const member = cluster.members.get('gpu');
  if (member === undefined) return undefined;
  const place = nodePlace(cluster.document, member.value);
  const source = { kind: 'file', place, key: [...cluster.path, 'gpu'].join('.') } as const;
  if (member.value.type === 'string') {
    const preset = readPreset(cluster, 'gpu');
    return { located: { value: gpuPresets[preset].gpu, source }, preset };
  }
  const gpu = openChild(cluster, 'gpu', gpuKeys);
  if (gpu?.members.has('preset') !== true)
    throw configError(
      'config-inconsistent',
      sentence`${source.key} names no preset`,
      sentence`add "preset": the GPU that gives the other figures`,
      place,
    );
  const preset = readPreset(gpu, 'preset');
  const peaks = plain(readFields(openChild(gpu, 'peakTflops', Object.keys(peakTflopsFields)), peakTflopsFields));
  const figures: GpuFigures = {
    ...plain(readFields(gpu, gpuFields)),
    ...(Object.keys(peaks).length === 0 ? {} : { peakTflops: peaks }),
  };
  return { located: { value: gpuWith(gpuPresets[preset].gpu, figures), source }, preset };
}

function readPreset(section: Section, key: string): GpuPresetName {
  const name = readField(section, key, path);
  const preset = presetNamed(name?.value ?? '');
  if (typeof preset === 'string') return preset;
  const place = name?.source.kind === 'file' ? name.source.place : undefined;
  throw configError('config-unknown-preset', preset.what, preset.remedy, place);
}

function readLinks(cluster: Section, usual: UsualLinks | null): Located<LinkSpec> | undefined {
  const links = openChild(cluster, 'links', linkKeys);
  if (links === undefined) return usual === null ? undefined : { value: usual.links, source: { kind: 'default', reason: usual.reason } };
  const place = nodePlace(links.document, links.node);
  if (usual === null)
    throw configError(
      'config-inconsistent',
      sentence`cluster.links is given without cluster.gpu`,
      sentence`name the GPU that gives the other link figures`,
      place,
    );
  const intraNodeBusGBps = plain(readFields(openChild(links, 'intraNodeBusGBps', Object.keys(intraNodeBusFields)), intraNodeBusFields));
  const allReduceLatencyUs = plain(readFields(openChild(links, 'allReduceLatencyUs', Object.keys(latencyFields)), latencyFields));
  const figures: LinkFigures = {
    ...plain(readFields(links, linkFields)),
    ...(Object.keys(intraNodeBusGBps).length === 0 ? {} : { intraNodeBusGBps }),
    ...(Object.keys(allReduceLatencyUs).length === 0 ? {} : { allReduceLatencyUs }),
  };
  return { value: linksWith(usual.links, figures), source: { kind: 'file', place, key: 'cluster.links' } };
}
