import { joinNodeGroups } from '../../../../src/core/cluster/groups';
import { gpuPresets, type GpuPresetName } from '../../../../src/core/cluster/presets';
import type { NodeGroup } from '../../../../src/core/domain/cluster';
import { loadRun } from '../../../load-run';
import type { Run } from '../../../../src/core/run/run';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { resolveRun } from '../../../../src/core/plan-request/resolve';

export const llama70b = {
  layers: 80,
  hidden: 8192,
  heads: 64,
  kvHeads: 8,
  ffn: 28672,
  gatedMlp: true,
  vocab: 128256,
  tiedEmbeddings: false,
};
export const small = { layers: 12, hidden: 2048, heads: 16, kvHeads: 16, ffn: 8192, gatedMlp: false, vocab: 0 };
export const hopperAndAmpere = { groups: [{ gpu: 'H100-80GB', nodes: 2 }, { gpu: 'A100-80GB', nodes: 4 }] }; // prettier-ignore

export function runOf(config: object): Promise<Run> {
  return loadRun('terapipe.json', JSON.stringify(config), () => Promise.reject(new Error('no other file')));
}

/** A terapipe.json resolved. */
export async function resolved(config: object): Promise<PlanRequest> {
  return resolveRun(await runOf(config), { gpu: 'A100-80GB', nodes: null, gpusPerNode: null });
}

/** Nodes of a preset. */
export function group(gpu: GpuPresetName, nodes: number, changed: Partial<NodeGroup> = {}): NodeGroup {
  const preset = gpuPresets[gpu];
  return { gpu: preset.gpu, links: preset.links, nodes, gpusPerNode: preset.gpusPerNode, ...changed };
}

/** A request with its cluster replaced by groups of nodes, and its stages on the given ones. */
export function onGroups(
  base: PlanRequest,
  groups: readonly [NodeGroup, ...NodeGroup[]],
  stageNodeGroups: readonly number[],
  stageLayers?: readonly number[],
): PlanRequest {
  const layout = { ...base.layout, pipeline: stageNodeGroups.length, stageNodeGroups };
  return { ...base, cluster: joinNodeGroups(groups), layout: { ...layout, ...(stageLayers === undefined ? {} : { stageLayers }) } };
}
