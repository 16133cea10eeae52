import type { FactName, FactValues } from '../../../../src/core/formats/facts';
import type { LauncherFormat } from '../../../../src/core/formats/config-format';
import type { Values } from './launcher';

export interface Pair {
  readonly code: string;
  readonly format: LauncherFormat;
  readonly bad: Values;
  readonly ok: Values;
  /** Fact at which the finding stands. */
  readonly at: string;
  /** In the message and in the remedy. */
  readonly says: string;
  readonly remedy: string;
  /** Titles of the fixes, in order. */
  readonly fixes: readonly string[];
}

/** What makes the broken facts sound; undefined removes one. */
type Change = { readonly [K in FactName]?: FactValues[K] | undefined };

type Row = readonly [
  code: string,
  format: LauncherFormat,
  at: FactName,
  bad: Values,
  change: Change,
  says: string,
  remedy: string,
  fixes: readonly string[],
];

/** For each rule facts that break it and what makes them sound, in numbers of our own. */
// prettier-ignore
const table: readonly Row[] = [
  ['pp-layers-not-divisible', 'megatron-shell', 'pipeline', { layers: 36, pipeline: 8 }, { pipeline: 9 },
    '36 layers cannot be dealt evenly to 8 pipeline stages', 'use 9 or 6 stages, or give the first stage 3, the last 3 and each of the 6 between 5 layers',
    ['Set --pipeline to 9', 'Set --pipeline to 6']],
  ['pp-uneven-middle', 'nemo', 'firstStageLayers', { layers: 26, pipeline: 6, firstStageLayers: 2, lastStageLayers: 3 }, { firstStageLayers: 3 },
    '21 layers left between the ends cannot be dealt evenly to 4 middle stages', 'use 5 or 9 stages, or give the first and the last stage 3 and 3',
    ['Set --firstStageLayers to 3 and --lastStageLayers to 3', 'Set --pipeline to 5', 'Set --pipeline to 9']],
  ['width-tensor', 'megatron-shell', 'tensor', { heads: 32, ffn: 5004, tensor: 8 }, { ffn: 5008 },
    'A feed-forward width of 5,004 cannot be divided over a tensor size of 8', 'use a tensor size of 4', ['Set --tensor to 4']],
  ['world-size-factor', 'megatron-shell', 'nodes', { nodes: 3, gpusPerNode: 8, tensor: 4, pipeline: 4 }, { nodes: 4 },
    '24 GPUs cannot be divided into replicas of tensor 4 x pipeline 4 = 16', 'use at least 4 nodes of 8 GPUs (a multiple of 2)',
    ['Set --nodes to 4', 'Set --tensor to 2', 'Set --pipeline to 2']],
  ['heads-tp', 'torchtitan', 'tensor', { heads: 20, tensor: 8 }, { tensor: 5 },
    '20 attention heads cannot be divided over a tensor size of 8', 'use a tensor size of 10 or 5', ['Set --tensor to 10', 'Set --tensor to 5']],
  ['kv-heads-tp', 'megatron-yaml', 'tensor', { heads: 24, kvHeads: 6, tensor: 4 }, { tensor: 2 },
    '6 key/value heads cannot be divided over a tensor size of 4', 'use a tensor size of 3', ['Set --tensor to 3']],
  ['vpp-layers-lost', 'megatron-shell', 'layersPerVirtualStage', { layers: 48, pipeline: 4, layersPerVirtualStage: 5 }, { layersPerVirtualStage: 3 },
    '12 layers on each pipeline stage cannot be cut into virtual stages of 5 layers', 'use 6 or 4 layers a virtual stage',
    ['Set --layersPerVirtualStage to 6', 'Set --layersPerVirtualStage to 4']],
  ['vpp-needs-overlap-or-pp3', 'nemo', 'overlapP2p', { pipeline: 2, virtualStages: 3, overlapP2p: false }, { pipeline: 3 },
    'which needs overlapped communication, and it is off', 'turn communication overlap on, or use 3 stages or more',
    ['Set --overlapP2p to true', 'Remove --overlapP2p']],
  ['vpp-microbatch-multiple', 'megatron-shell', 'globalBatch', { pipeline: 4, virtualStages: 2, globalBatch: 30, microBatch: 1, data: 2 }, { globalBatch: 32 },
    '15 micro-batches are no multiple of the 4 pipeline stages', 'use a global batch of 32 or 24', ['Set --globalBatch to 32', 'Set --globalBatch to 24']],
  ['vpp-set-twice', 'megatron-shell', 'layersPerVirtualStage',
    { layers: 24, pipeline: 4, virtualStages: 3, layersPerVirtualStage: 2 },
    { layersPerVirtualStage: undefined },
    'given in 2 ways', 'keep one of layers per virtual stage, number of virtual stages, and layout',
    ['Remove --layersPerVirtualStage', 'Remove --virtualStages']],
  ['expert-world-factor', 'megatron-shell', 'expert', { nodes: 1, gpusPerNode: 8, tensor: 1, pipeline: 4, expert: 4, experts: 8 }, { nodes: 2 },
    '8 GPUs cannot be divided by expert tensor 1 x expert 4 x pipeline 4 = 16', 'use an expert size of 2, or use at least 2 nodes of 8 GPUs (a multiple of 2)',
    ['Set --nodes to 2', 'Set --expert to 2']],
  ['experts-not-divisible', 'megatron-bridge', 'expert', { experts: 60, expert: 8 }, { expert: 10 },
    '60 experts cannot be dealt evenly to an expert size of 8', 'use an expert size of 10 or 6', ['Set --expert to 10', 'Set --expert to 6']],
  ['experts-active', 'megatron-shell', 'activeExperts', { experts: 4, activeExperts: 6 }, { activeExperts: 2 },
    'A token cannot visit 6 experts: there are 4', 'send a token to 4 experts or fewer', ['Set --activeExperts to 4']],
  ['hidden-heads', 'megatron-shell', 'heads', { hidden: 1024, heads: 12 }, { headDim: 96 },
    'A hidden size of 1,024 cannot be divided over 12 attention heads', 'use 16 or 8 heads, or give the size of a head',
    ['Set --heads to 16', 'Set --heads to 8']],
  ['kv-heads-heads', 'nemo', 'kvHeads', { heads: 24, kvHeads: 5 }, { kvHeads: 6 },
    '24 attention heads cannot share 5 key/value heads evenly', 'use 6 or 4 key/value heads', ['Set --kvHeads to 6', 'Set --kvHeads to 4']],
  ['sequence-positions', 'megatron-shell', 'maxPositions', { sequenceLength: 8192, maxPositions: 4096 }, { sequenceLength: 4096 },
    'A sequence of 8,192 tokens is longer than the 4,096 positions', 'use 8,192 positions, or sequences of 4,096 tokens or fewer',
    ['Set --maxPositions to 8192', 'Set --sequenceLength to 4096']],
  ['precision-twice', 'megatron-shell', 'secondPrecision', { precision: 'bf16', secondPrecision: 'fp16' }, { secondPrecision: undefined },
    'Both bf16 and fp16 are on', 'keep one', ['Remove --secondPrecision']],
  ['vocab-padding', 'megatron-shell', 'vocab', { vocab: 32001, tensor: 2 }, { vocab: 32256 },
    'The vocabulary of 32,001 is padded to 32,256, a multiple of 256: 255 dummy tokens', 'nothing needs to be done', []],
  ['gbs-not-divisible', 'gpt-neox', 'globalBatch', { tensor: 1, pipeline: 1, context: 1, world: 12, globalBatch: 40, microBatch: 2 }, { globalBatch: 48 },
    'A global batch of 40 cannot be divided over micro-batches of 2 on 12 replicas, which take 24 at once', 'use a global batch of 48 or 24',
    ['Set --globalBatch to 48', 'Set --globalBatch to 24']],
  ['step-batch-schedule-with-global-batch', 'megatron-shell', 'globalBatch',
    { globalBatch: 512, batchSchedule: '0:32 1B:512' },
    { batchSchedule: '32 32 100000' },
    'A schedule of batch sizes and a fixed global batch exclude each other', 'remove the global batch of 512, or the schedule',
    ['Remove --globalBatch', 'Remove --batchSchedule']],
  ['cp-seq-multiple', 'torchtitan', 'sequenceLength', { sequenceLength: 6008, context: 8, tensor: 2 }, { sequenceLength: 6016 },
    '6,008 tokens cannot be cut into 2 x 8 = 16 equal parts', 'use 6,016 or 6,000 tokens', ['Set --sequenceLength to 6016', 'Set --sequenceLength to 6000']],
  ['cp-heads', 'megatron-shell', 'context', { heads: 12, tensor: 2, context: 4, contextCommunication: 'a2a' }, { contextCommunication: 'p2p' },
    '6 attention heads on each tensor rank cannot be divided over a context size of 4', 'use a context size of 3 or 6, or p2p communication',
    ['Set --context to 3', 'Set --context to 6', 'Set --contextCommunication to p2p']],
  ['sp-tp-seq', 'megatron-shell', 'sequenceLength', { sequenceLength: 1026, tensor: 8, sequenceParallel: true }, { sequenceParallel: false },
    '1,026 tokens cannot be divided over a tensor size of 8', 'use 1,032 or 1,024 tokens', ['Set --sequenceLength to 1032', 'Set --sequenceLength to 1024']],
  ['sp-no-effect', 'megatron-yaml', 'sequenceParallel', { sequenceParallel: true, tensor: 1 }, { tensor: 4 },
    'over the tensor size, which is 1: it is turned off', 'remove it, or use a tensor size of 2 or more',
    ['Remove --sequenceParallel', 'Set --sequenceParallel to false']],
  ['microbatches-below-stages', 'megatron-shell', 'globalBatch',
    { tensor: 1, pipeline: 4, context: 1, globalBatch: 6, microBatch: 1, data: 2 },
    { globalBatch: 8 },
    '3 micro-batches for 4 stages: they idle 50 % of the time', 'use 28 micro-batches (a global batch of 56) to idle 9.68 %', ['Set --globalBatch to 56']],
  ['long-seq-chunk-candidate', 'megatron-bridge', 'sequenceLength', { sequenceLength: 65536, pipeline: 4, microBatches: 6 }, { microBatches: 16 },
    '6 micro-batches of 65,536 tokens on 4 stages idle 33.3 % of the time', 'cut each sequence into 4 slices of about 16,384 tokens (TeraPipe, Seq1F1B): 11.1 % idle',
    []],
  ['recompute-granularity', 'megatron-shell', 'recomputeMethod',
    { recomputeGranularity: 'selective', recomputeMethod: 'block' },
    { recomputeGranularity: 'full' },
    'Selective recompute takes no method, and "block" is given', 'remove the method, or recompute full layers',
    ['Remove --recomputeMethod', 'Set --recomputeGranularity to full']],
  ['selective-recompute-flash', 'nemo', 'recomputeGranularity', { recomputeGranularity: 'selective', attention: 'flash' }, { recomputeModules: ['mlp'] },
    'saves almost nothing', 'recompute mlp, moe_act or layernorm modules instead, or remove it', ['Remove --recomputeGranularity']],
  ['offload-with-pp', 'megatron-bridge', 'cpuOffloading', { cpuOffloading: true, pipeline: 2 }, { cpuOffloading: false },
    'and there are 2 stages', 'offload activations module by module', ['Remove --cpuOffloading', 'Set --cpuOffloading to false']],
  ['offload-with-recompute', 'megatron-shell', 'recomputeGranularity',
    { cpuOffloading: true, activationOffloadLayers: 8, recomputeGranularity: 'full', recomputeMethod: 'uniform', recomputeLayers: 1 },
    { recomputeGranularity: undefined, recomputeMethod: undefined, recomputeLayers: undefined },
    'works without recompute, and "full" is asked for', 'keep one of both: recompute takes time on the GPU, offload its link to the host',
    ['Remove --recomputeGranularity and --recomputeMethod and --recomputeLayers', 'Set --cpuOffloading to false']],
  ['offload-layers', 'megatron-yaml', 'activationOffloadLayers',
    { cpuOffloading: true, activationOffloadLayers: 32, layers: 32 },
    { activationOffloadLayers: 31 },
    '32 layers cannot be offloaded of 32: one has to stay on the GPU', 'offload at most 31', ['Set --activationOffloadLayers to 31']],
  ['pp-end-stage-memory', 'megatron-shell', 'pipeline',
    { layers: 32, hidden: 1024, heads: 16, vocab: 65536, pipeline: 8 },
    { hidden: 4096, heads: 32, vocab: 32768, pipeline: 4 },
    "The first and last stage hold 117M parameters (67.1M of them the vocabulary's), 2.33 times the 50.3M of a stage between", 'give the first and last stage 1 layer and the others 5, which makes it 1.27 times, or use 4 stages, which makes it 1.67 times',
    []],
  ['estimate-ignores-ep-cp', 'megatron-shell', 'context', { context: 2 }, { context: 1 },
    'counts activations of the whole sequence, 2 times those of a context rank', 'compare with the memory that is counted here', []],
  ['zero-with-pp', 'gpt-neox', 'zeroStage', { zeroStage: 2, pipeline: 2 }, { pipeline: 1 },
    'ZeRO stage 2 does not go with 2 pipeline stages', 'use ZeRO stage 1, or 1 pipeline stage', ['Set --zeroStage to 1']],
  ['ds-batch-triangle', 'deepspeed', 'globalBatch', { globalBatch: 100, microBatch: 4, gradientAccumulation: 3, data: 8 }, { globalBatch: 96 },
    'A train batch of 100 is not micro-batch 4 x accumulation 3 x 8 replicas = 96', 'use a train batch of 96, or leave out the train batch',
    ['Set --globalBatch to 96', 'Remove --globalBatch']],
  ['ds-pipeline-empty-stage', 'gpt-neox', 'pipeline', { layers: 12, pipeline: 8 }, { partitionMethod: 'uniform' },
    '12 layers on 8 stages in portions of 2 leave 2 stages without a layer', 'use 6 or 12 stages, or partition uniformly',
    ['Set --pipeline to 6', 'Set --pipeline to 12']],
  ['tt-virtual-stages', 'torchtitan', 'layersPerStage', { layers: 30, layersPerStage: 5, pipeline: 4, schedule: 'Interleaved1F1B' }, { layersPerStage: 4 },
    '5 layers a stage make 7 virtual stages, no multiple of the 4 pipeline ranks', 'use 4 or 2 layers a stage',
    ['Set --layersPerStage to 4', 'Set --layersPerStage to 2']],
  ['tt-single-stage-schedule', 'torchtitan', 'schedule', { layers: 30, layersPerStage: 4, pipeline: 4, schedule: '1F1B' }, { layersPerStage: 8 },
    'The schedule "1F1B" runs exactly 1 stage on each rank, and there are 2', 'use the schedule Interleaved1F1B, or 8 layers a stage',
    ['Set --schedule to Interleaved1F1B', 'Set --layersPerStage to 8']],
  ['hybrid-letters', 'megatron-shell', 'hybridPattern', { hybridPattern: 'M-X*' }, { hybridPattern: 'M-M*' },
    '"X" is no kind of layer', 'use M for Mamba, * for attention, - for a feed-forward network, E for experts, and | between stages', []],
  ['hybrid-layers', 'megatron-shell', 'layers', { layers: 6, hybridPattern: 'M-M*' }, { layers: 4 },
    'The pattern has 4 layers, and 6 layers are asked for', 'ask for 4 layers, or write a letter for each of 6', ['Set --layers to 4']],
  ['hybrid-ratios', 'megatron-shell', 'hybridMlpRatio', { layers: 8, hybridAttentionRatio: 0.5, hybridMlpRatio: 0.75 }, { hybridAttentionRatio: 0.25 },
    'Shares of 0.5 and 0.75 leave less than no layer for Mamba', 'lower the share of feed-forward layers to 0.5', ['Set --hybridMlpRatio to 0.5']],
  ['hybrid-stages', 'megatron-yaml', 'hybridPattern', { hybridPattern: 'M-|M*|M-|M-', pipeline: 3 }, { pipeline: 2 },
    'The pattern has 4 stages, which cannot be dealt to 3 pipeline stages', 'use 4 or 2 pipeline stages, or move the bars of the pattern',
    ['Set --pipeline to 4', 'Set --pipeline to 2']],
  ['hybrid-virtual-stages', 'megatron-shell', 'virtualStages',
    { hybridPattern: 'M-M*M-M-', pipeline: 2, virtualStages: 2 },
    { hybridPattern: 'M-|M*|M-|M-', virtualStages: undefined },
    'A hybrid has virtual stages only where bars in its pattern cut them', 'write the stages with | in --hybrid-layer-pattern, or remove the virtual stages',
    ['Remove --virtualStages']],
  ['state-tp', 'megatron-shell', 'tensor', { hybridPattern: 'M-M*', stateHeads: 24, stateGroups: 8, tensor: 16 }, { tensor: 4 },
    'The 24 heads and 8 groups of the state cannot be divided over a tensor size of 16', 'use a tensor size of 8', ['Set --tensor to 8']],
];

export const pairs: readonly Pair[] = table.map(([code, format, at, bad, change, says, remedy, fixes]) => {
  const changed = Object.entries({ ...bad, ...change }).filter(([, value]) => value !== undefined);
  return { code, format, at, bad, ok: Object.fromEntries(changed), says, remedy, fixes };
});
