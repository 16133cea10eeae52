import { gpuPresets, matchGpuPreset, type GpuPresetName } from '../cluster/presets';
import type { Run } from '../run/run';
import { formatCount, formatNumber } from '../format';
import type { ClusterSpec, GpuSpec } from '../domain/cluster';
import type { Fallback, ValueOrDefault } from './defaults-recorder';
import { fewestNodes, mostAssumedNodes, requestedGpus, type FoundCluster, type FoundLayout, type PlannedModel } from './first-layout';
import { keptFallback, reasonOfFace, type Scenario, type ResolveDefaults } from './scenario';
import { sentence, type Sentence } from '../sentence';
import type { Profile, Sample, LayerShape } from '../domain/profile';

/** The cluster with one node; how many it has is decided later. */
export function resolveNode(run: Run, defaults: ResolveDefaults, valueOrDefault: ValueOrDefault): ClusterSpec {
  const assumed = run.gpu === undefined ? assumedGpu(run, defaults) : null;
  if (assumed !== null) valueOrDefault('cluster.gpu', undefined, () => ({ value: assumed.gpu.name, reason: assumed.reason }));
  const preset = gpuPresets[defaults.gpu];
  const gpu = run.gpu?.value ?? assumed?.gpu ?? preset.gpu;
  const named = Object.values(gpuPresets).find((other) => other.gpu.name === gpu.name);
  const gpusPerNode = valueOrDefault('cluster.gpusPerNode', run.gpusPerNode, () => {
    if (defaults.gpusPerNode !== null) return { value: defaults.gpusPerNode, reason: reasonOfFace(defaults, 'gpusPerNode') };
    const { kept } = defaults;
    const same = kept?.gpu === gpu.name ? keptFallback(kept, 'cluster.gpusPerNode', kept.gpusPerNode) : null;
    if (same !== null) return same;
    return named === undefined
      ? { value: 8, reason: sentence`a usual number` }
      : { value: named.gpusPerNode, reason: sentence`as nodes of this GPU usually have` };
  });
  const links = run.links?.value ?? named?.links ?? gpuPresets[unknownGpuLinks].links;
  // a GPU's usual links are assumed, whoever named the GPU; those of an instance are known
  if (run.links === undefined || (run.links.source.kind === 'default' && run.instance === undefined))
    valueOrDefault('cluster.links.nicGBps', undefined, () => ({
      value: links.nicGBps,
      reason: sentence`${formatNumber(8 * links.nicGBps)} Gbit/s a node, as nodes of this GPU usually have`,
    }));
  return { gpu, links, nodes: 1, gpusPerNode, ...priceGiven(run) };
}

/** The price of a GPU's hour, where a file or flag gives it. */
export function priceGiven({ pricePerGpuHour: price }: Pick<Run, 'pricePerGpuHour'>): Pick<ClusterSpec, 'pricePerGpuHour'> {
  return price === undefined ? {} : { pricePerGpuHour: price.value };
}

/** Whose links a GPU without a preset is assumed to have: PCIe. */
const unknownGpuLinks: GpuPresetName = 'L40S';

/** The GPU when no file names one: that of the profile the files name, else the face's default. */
function assumedGpu(run: Run, defaults: ResolveDefaults): { readonly gpu: GpuSpec; readonly reason: Sentence } {
  const profile = run.profile?.value?.profile;
  if (profile === undefined) return { gpu: gpuPresets[defaults.gpu].gpu, reason: reasonOfFace(defaults, 'gpu') };
  const known = matchGpuPreset(profile.device.name, profile.device.memoryBytes);
  return { gpu: known === null ? gpuOfProfile(profile) : gpuPresets[known].gpu, reason: sentence`the profile was measured on it` };
}

/**
 * The nodes, and the layout that was found where they are assumed. Sizes that files give without a number of replicas run on any multiple
 * of their GPUs: as every model, they get the fewest nodes on which they fit with room.
 */
export function resolveNodes(
  run: Run,
  defaults: ResolveDefaults,
  planned: PlannedModel,
  oneNode: ClusterSpec,
  valueOrDefault: ValueOrDefault,
): { readonly nodes: number; readonly found: FoundLayout | null } {
  let found: FoundCluster | null = null;
  const nodes = valueOrDefault('cluster.nodes', run.nodes, () => {
    if (defaults.nodes !== null) return { value: defaults.nodes, reason: reasonOfFace(defaults, 'nodes') };
    const asked = requestedGpus(run.layout);
    const least = Math.ceil(asked / oneNode.gpusPerNode);
    const enough = { value: least, reason: sentence`enough for the layout` };
    const kept = keptNodes(defaults.kept, oneNode);
    if (kept !== null && kept.value >= least) return kept;
    if (asked > 1 && run.layout.data !== undefined) return enough;
    found = fewestNodes(run, planned, oneNode, least);
    const { tensor, pipeline } = run.layout;
    const isDecided = asked > 1 || (tensor !== undefined && pipeline !== undefined);
    if (isDecided && found?.fits !== true) {
      found = null;
      return asked > 1 ? enough : { value: least, reason: sentence`with these sizes more nodes do not make it fit` };
    }
    if (found?.fits === true)
      return {
        value: found.nodes,
        reason: found.hasRoom
          ? sentence`the fewest on which the model fits with room to spare`
          : sentence`the fewest on which the model fits`,
      };
    return {
      value: found?.nodes ?? 1,
      reason: sentence`does not fit on up to ${formatCount(mostAssumedNodes)} nodes; this size comes closest`,
    };
  });
  return { nodes, found };
}

/** As many nodes as the last plan's GPUs take. */
function keptNodes(kept: Scenario | undefined, { gpusPerNode }: ClusterSpec): Fallback<number> | null {
  if (kept === undefined) return null;
  return keptFallback(kept, 'cluster.nodes', Math.ceil((kept.nodes * kept.gpusPerNode) / gpusPerNode));
}

const gib = 2 ** 30;

/**
 * Memory bandwidth of a device that nobody described, TB/s: a server CPU's. Only the optimizer step and the analytic comparison rest on it.
 */
const assumedMemoryTBps = 0.05;
/** Memory of a device that reports none. */
const assumedMemoryBytes = 16 * gib;

/**
 * A device without a preset as a planning target: its own name and memory, and as peak the best rate that the profile's layer reached,
 * since no data sheet is at hand.
 * So MFU is relative to the best measured slice, and what is not measured (optimizer, analytic comparison) is rough.
 */
function gpuOfProfile({ device, samples, shape }: Profile): GpuSpec {
  const best = samples.layer.reduce((rate, sample) => Math.max(rate, forwardFlops(shape, sample) / (sample.forwardMs / 1e3)), 1);
  const tflops = best / 1e12;
  return {
    name: device.name,
    memoryBytes: device.memoryBytes ?? assumedMemoryBytes,
    peakTflops: { fp32: tflops, fp16: tflops, bf16: tflops },
    memoryTBps: assumedMemoryTBps,
    gemmEfficiency: 1,
    gemmEfficiencyKnown: false,
    source: 'Peak is the best rate a profiled slice reached; memory bandwidth is assumed',
  };
}

/** FLOPs of one layer's forward on a slice: two for each weight and row, and the attention's two products over what each token sees. */
function forwardFlops(shape: LayerShape, { batch, tokens, context }: Sample): number {
  const { hidden, heads, kvHeads, headDim, ffn, gatedMlp, experts } = shape;
  const attention = hidden * (2 * heads + 2 * kvHeads) * headDim;
  const mlp = (gatedMlp ? 3 : 2) * hidden * ffn * (experts?.active ?? 1);
  return 2 * batch * tokens * (attention + mlp) + 4 * batch * heads * headDim * tokens * (context + tokens / 2);
}
