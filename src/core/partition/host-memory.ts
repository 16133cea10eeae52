import { nodeGroups } from '../cluster/groups';
import { savedParameterBytes } from '../domain/checkpoint';
import { gpusUsed, sequenceTokens, type PlanRequest } from '../domain/request';
import { isFsdp, resolveRankOrder } from '../domain/runtime';
import type { ScheduleName } from '../domain/schedule-names';
import { heldBytes, trainedParameters } from '../memory-model/held';
import { contentsKey, type StageContents } from '../memory-model/layer-tensors';
import type { StageMemory } from '../memory-model/profile';
import { staticBytes } from '../memory-model/static';
import { subGroupElements } from '../memory-model/zero';
import { leastCommonMultiple } from '../numbers';
import { memoized } from '../records';
import { scheduleOn } from '../schedules/on-layout';
import { scheduleChunks } from './chunks';
import { hostParts, type HostMemory, type HostPart } from './host-parts';

type HostInputs = Pick<PlanRequest, 'model' | 'training' | 'layout' | 'cluster'>;
type RankMemory = Readonly<Record<HostPart | 'checkpoint' | 'nvme', number>>;
/** What does not depend on the schedule. */
type FixedMemory = Omit<RankMemory, 'activations'>;

/**
 * Memory of the host that the ranks of a node take, on the node that takes most. Without the processes themselves: interpreter, libraries
 * and CUDA's part of each. See docs/model/memory.md, Memory of the host.
 *
 * @param stages of the planned schedule, for the activations that wait on the host.
 */
export function hostMemory(request: HostInputs, schedule: ScheduleName, stages: readonly Pick<StageMemory, 'hostBytes'>[]): HostMemory {
  const { stageContents } = scheduleChunks(request, scheduleOn(schedule, request.layout));
  const known = memoized(knownRanks, request, () => ({ byContents: new Map<string, FixedMemory>(), nodes: ranksOfStages(request) }));
  const ranks = stageContents.map((contents, stage) => ({
    ...memoized(known.byContents, contentsKey(contents), () => rankMemory(request, contents)),
    activations: stages[stage]?.hostBytes ?? 0,
  }));
  let fullest: HostMemory = {
    node: 0,
    parts: { optimizer: 0, activations: 0, dataLoader: 0 },
    peakBytes: -1,
    checkpointBytes: 0,
    nvmeBytes: 0,
  };
  for (const [node, counts] of known.nodes) {
    const total = (part: keyof RankMemory): number => ranks.reduce((sum, rank, stage) => sum + (counts.get(stage) ?? 0) * rank[part], 0);
    const parts = { optimizer: total('optimizer'), activations: total('activations'), dataLoader: total('dataLoader') };
    const peakBytes = hostParts.reduce((sum, part) => sum + parts[part], 0);
    if (peakBytes > fullest.peakBytes) fullest = { node, parts, peakBytes, checkpointBytes: total('checkpoint'), nvmeBytes: total('nvme') };
  }
  return fullest;
}

/**
 * Ranks of each stage, by node. A group of nodes has the ranks of its stages in the order of a cluster that has only this group. Of nodes
 * alike the first: those wholly in one turn of a stage, and those after all stages and nodes come out even.
 */
export function ranksOfStages({ layout, training, cluster }: HostInputs): Map<number, Map<number, number>> {
  const { tensor, context, data, pipeline } = layout;
  const adjacent = tensor * context * (resolveRankOrder({ layout, training }) === 'tp-cp-ep-pp-dp' ? 1 : data);
  const everyStage = Array.from({ length: pipeline }, (_, stage) => stage);
  const nodes = new Map<number, Map<number, number>>();
  let firstNode = 0;
  nodeGroups(cluster).forEach((group, index) => {
    const stages = cluster.groups === undefined ? everyStage : everyStage.filter((stage) => layout.stageNodeGroups?.[stage] === index);
    const { gpusPerNode } = group;
    const all = (gpusUsed(layout) * stages.length) / pipeline;
    const gpus = Math.min(all, leastCommonMultiple(adjacent * Math.max(1, stages.length), gpusPerNode));
    for (let rank = 0; rank < gpus;) {
      const [onNode, turn] = [Math.floor(rank / gpusPerNode), Math.floor(rank / adjacent)];
      const end = Math.min(gpus, (onNode + 1) * gpusPerNode, (turn + 1) * adjacent);
      const counts = memoized(nodes, firstNode + onNode, () => new Map<number, number>());
      const stage = stages[turn % stages.length] ?? 0;
      counts.set(stage, (counts.get(stage) ?? 0) + end - rank);
      const isWhole = end - rank === gpusPerNode;
      rank = isWhole ? Math.max(end, Math.floor(Math.min(gpus, (turn + 1) * adjacent) / gpusPerNode) * gpusPerNode) : end;
    }
    firstNode += group.nodes;
  });
  return nodes;
}

/** What all schedules of a request share: the ranks of each node, and the memory of a rank of each kind of stage. */
const knownRanks = new WeakMap<
  HostInputs,
  { readonly byContents: Map<string, FixedMemory>; readonly nodes: ReturnType<typeof ranksOfStages> }
>();

function rankMemory(request: HostInputs, contents: StageContents): FixedMemory {
  const { training } = request;
  const { resident, nvmeBytes } = offloadedOptimizer(request, contents);
  return {
    optimizer: resident,
    dataLoader: loaderBatches * loaderBytes * training.microBatch * sequenceTokens(training),
    checkpoint: savedShare(request, contents),
    nvme: nvmeBytes,
  };
}

/** With the mean share of all ranks, where whole tensors are shared out: what counts is the sum over a node's ranks, not the fullest. */
function withMeanShards<T extends Pick<HostInputs, 'training'>>(inputs: T): T {
  return { ...inputs, training: { ...inputs.training, optimizerShards: 'even' } };
}

/** Buffers of DeepSpeed's swapper, each an fp32 copy of a group (`buffer_count`): its default. */
const swapBuffers = 4;

/**
 * An optimizer on the host keeps master weights, states and an fp32 copy of the gradients, of the rank's shard: 16 bytes a parameter with
 * Adam (DeepSpeed's ZeRO-Offload, `runtime/zero/stage_1_and_2.py`; Megatron-LM's `HybridDeviceOptimizer`; FSDP's `CPUOffloadPolicy`). On
 * NVMe, DeepSpeed keeps them there, and buffers for the groups of parameters that it updates on the host.
 */
function offloadedOptimizer(uneven: HostInputs, contents: StageContents): { readonly resident: number; readonly nvmeBytes: number } {
  const request = withMeanShards(uneven);
  const { training } = request;
  if (training.offloadOptimizer !== true || training.optimizer === 'none') return { resident: 0, nvmeBytes: 0 };
  const onGpu = { ...request, training: { ...training, offloadOptimizer: false } };
  const held = trainedParameters(request, contents);
  const isSharded = isFsdp(training) || training.zeroStage >= 1;
  const states = staticBytes(onGpu, contents).optimizer + heldBytes(held, isFsdp(training) ? 8 : 4, isSharded);
  if (training.offloadDevice !== 'nvme') return { resident: states, nvmeBytes: 0 };
  const { offloadBuffers = swapBuffers, optimizerSubGroup = subGroupElements } = training;
  const own = heldBytes(held, 1, isSharded);
  return { resident: offloadBuffers * 4 * Math.min(own, optimizerSubGroup), nvmeBytes: states };
}

/** Two workers of PyTorch's `DataLoader` a rank, each with two batches ready (`prefetch_factor`); Megatron-LM's default `--num-workers`. */
const loaderBatches = 2 * 2;
/** Tokens, labels and positions in 8 bytes, and a mask of the loss in 4, a token (`gpt_dataset.py` of Megatron Core). */
const loaderBytes = 3 * 8 + 4;

/**
 * The rank's share of a checkpoint, which an asynchronous save copies to the host whole before it writes (Megatron-LM's `--async-save`,
 * `async_save` of torch.distributed.checkpoint): weights, master weights and states, each written once by the replicas that have it.
 */
function savedShare({ model, training, layout }: HostInputs, contents: StageContents): number {
  const { dataReplicate, ...whole } = training;
  const shared = { model, training: dataReplicate === undefined ? training : whole, layout };
  const held = trainedParameters(withMeanShards(shared), contents);
  return heldBytes(held, savedParameterBytes(training), true);
}
