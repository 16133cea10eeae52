import type { ClusterSpec } from '../../core/domain/cluster';
import type { Layout } from '../../core/domain/request';
import type { Translate } from '../../core/translate';
import type { Explanation } from './explanation';
import { nodeGroups, placementText } from '../../core/cluster/groups';
import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatTokens, plural } from '../../core/format';
import { tightestOf } from '../../core/memory-model/profile';
import { chosenOf } from '../../core/planner/plan';
import { stageLayersText } from '../../core/layout-search/labels';
import { elasticExplanations } from '../../features/elastic/vscode/explanations';
import { wayText } from '../../core/planner/lengths/length-reasons';
import { say } from '../../core/sentence';

/** By key as `terapipe.json` has it; a model config's keys are mapped to these by its reader. */
export const explanations: Readonly<Record<string, Explanation>> = {
  'model.layers': {
    meaning: (t) => t('Layers are assigned to pipeline stages in order; a stage takes as long as its layers together.'),
    derived: ({ request: { model, layout } }, t) => [
      layout.stageLayers === undefined
        ? t('{0} layers on {1} stages: {2} a stage.', model.layers, layout.pipeline, formatCount(model.layers / layout.pipeline))
        : t('{0} layers on {1} stages: {2}.', model.layers, layout.pipeline, say(stageLayersText({ stageLayers: layout.stageLayers }), t)),
    ],
  },
  'model.hidden': {
    meaning: (t) => t('Width of activations: P2P transfers grow with it, the time of a layer with its square.'),
    derived: ({ request: { model, training } }, t) => {
      const bytes = training.sequenceLength * model.hidden * (training.precision === 'fp32' ? 4 : 2);
      return [t('One whole sequence sends {0} from stage to stage.', formatBytes(bytes))];
    },
  },
  'model.heads': {
    meaning: (t) => t('Attention heads are split over tensor-parallel GPUs: must be divisible by the tensor size.'),
    derived: ({ request: { model, layout } }, t) => [
      t('{0} heads over {1} tensor-parallel GPUs: {2} each.', model.heads, layout.tensor, formatCount(model.heads / layout.tensor)),
    ],
  },
  'model.kvHeads': {
    meaning: (t) => t('Key/value heads; fewer than heads means grouped-query attention and a smaller KV cache.'),
  },
  'model.headDim': { meaning: (t) => t('Width of one attention head.') },
  'model.ffn': { meaning: (t) => t('Width of the feed-forward block, where most of the time of a layer goes.') },
  'model.gatedMlp': { meaning: (t) => t('Whether the feed-forward block has a gate and an up projection (SwiGLU): a third matrix.') },
  'model.experts': {
    meaning: (t) => t('Experts of every MoE layer; a router picks a few for each token. All of them are held in memory.'),
    derived: ({ request: { model, layout } }, t) =>
      model.experts === null
        ? []
        : [
            t(
              '{0} experts over {1} expert-parallel GPUs: {2} each.',
              model.experts.count,
              layout.expert,
              formatCount(model.experts.count / layout.expert),
            ),
          ],
  },
  'model.expertFfn': { meaning: (t) => t('Width of the feed-forward block of one expert.') },
  'model.activeExperts': {
    meaning: (t) => t('Experts per token (top-k). The time of a layer grows with it, weight memory does not.'),
  },
  'model.encoderLayers': {
    meaning: (t) => t('Encoder layers come first; the decoder attends to their output, which is sent along with its own.'),
  },
  'model.vocab': {
    meaning: (t) => t('The first stage has the embedding, the last the head: both take more time and memory.'),
    derived: ({ request: { model, layout } }, t) =>
      model.vocab === 0
        ? [t('0: no embedding and no head, so all stages are equal.')]
        : [t('{0} parameters in the head on each of {1} GPUs.', formatCount((model.vocab * model.hidden) / layout.tensor), layout.tensor)],
  },
  'model.tiedEmbeddings': {
    meaning: (t) => t('Whether the head shares its weights with the embedding; in a pipeline both ends keep a copy.'),
  },
  'model.maxPositions': {
    meaning: (t) => t('Longest sequence that the positions allow.'),
    derived: ({ request: { training } }, t) => [t('Planned with sequences of {0}.', formatTokens(training.sequenceLength))],
  },
  'model.modelType': {
    meaning: (t) => t('The family decides which parts a layer has and what its file leaves out.'),
    derived: ({ parameters }, t) => [t('{0} parameters.', formatCount(parameters))],
  },
  'training.sequenceLength': {
    meaning: (t) => t('Tokens per sequence. TeraPipe cuts it into slices that are pipelined through the stages.'),
    derived: (plan, t) => {
      const { scheme } = chosenOf(plan);
      const slices = scheme[0]?.tokens ?? [];
      return slices.length < 2
        ? [t('Not cut in this plan.')]
        : [t('Cut into {0}: {1}.', plural(slices.length, 'slice'), lengthsText(slices))];
    },
  },
  'training.decoderSequenceLength': {
    meaning: (t) => t('Decoder tokens per sequence. Cross-attention cost grows with both lengths.'),
    derived: ({ request: { training } }, t) => [
      t(
        '{0} of the source for {1} of the target.',
        formatTokens(training.sequenceLength),
        formatCount(training.decoderSequenceLength ?? 0),
      ),
    ],
  },
  'training.microBatch': { meaning: (t) => t('Sequences of one micro-batch of 1F1B and GPipe. TeraPipe chooses its own batch slices.') },
  'training.globalBatch': {
    meaning: (t) => t('Sequences per step over all replicas. More of them make the bubble smaller.'),
    derived: (plan, t) => {
      const { globalBatch } = plan.request.training;
      const { data } = plan.request.layout;
      const { tokensPerSecond } = chosenOf(plan);
      return [
        t('{0} on each of {1}.', plural(globalBatch / data, 'sequence'), plural(data, 'replica')),
        t('{0} a second.', formatTokens(Math.round(tokensPerSecond))),
      ];
    },
  },
  'training.precision': { meaning: (t) => t('Number format of weights and activations: decides the peak rate and the bytes of both.') },
  'training.optimizer': {
    meaning: (t) => t("The optimizer's state per parameter: Adam keeps two moments and an fp32 copy."),
    derived: (plan, t) => [
      t('{0} a GPU on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.optimizer ?? 0)),
    ],
  },
  'training.zeroStage': {
    meaning: (t) => t('What data-parallel replicas shard: 1 optimizer state, 2 also gradients, 3 also weights.'),
  },
  'training.recompute': {
    meaning: (t) => t('Activation recomputation: full keeps only layer inputs and costs about a third more time.'),
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'training.recomputeLayers': {
    meaning: (t) => t('Layers of each stage, or of each of its chunks, that are computed again; the others are kept.'),
  },
  'training.recomputeGroup': {
    meaning: (t) => t('Layers per recompute group: only its input is kept; backward holds the activations of all of them.'),
  },
  'training.recomputeEvery': { meaning: (t) => t('With recompute "every": every n-th layer is recomputed.') },
  'training.recomputeModules': { meaning: (t) => t('Modules of a layer that are recomputed in backward.') },
  'training.fp8Recipe': { meaning: (t) => t('How FP8 inputs are scaled: it decides what the casts cost.') },
  'training.fp8ParamGather': {
    meaning: (t) => t('The layers’ weights are kept only in FP8, in addition to the master weights of the optimizer.'),
  },
  'training.cudaGraphs': { meaning: (t) => t('What runs as CUDA graphs: no kernel-launch overhead.') },
  'training.expertDispatcher': {
    meaning: (t) => t('Token dispatcher: one copy per expert, or one per GPU and node.'),
  },
  'training.overlapExpertComm': { meaning: (t) => t('The all-to-all of experts overlaps with the compute of another micro-batch.') },
  'training.runtimeVersion': { meaning: (t) => t('Release of the runtime: its kernels differ from one to the next.') },
  'training.compile': { meaning: (t) => t('Whether torch.compile fuses element-wise operations: without it they move more memory.') },
  'training.attentionKernel': { meaning: (t) => t('Attention kernel: it decides the rate, most of all for long sequences.') },
  'training.asyncTensorParallel': {
    meaning: (t) => t('Tensor-parallel collectives overlap with the GEMMs that need them.'),
  },
  'training.gemmPrecision': {
    meaning: (t) => t('Number format of the layers’ GEMMs: faster but needs casts; the rest keeps the training precision.'),
  },
  'training.runtime': { meaning: (t) => t('Framework that memory is counted for: what it keeps, shards and gathers.') },
  'training.contextParallelComm': {
    meaning: (t) => t('How context-parallel GPUs communicate: all-to-all, or a ring of keys and values (P2P).'),
  },
  'training.offloadOptimizer': {
    meaning: (t) => t('Whether the optimizer and its state are on the host: less memory on the GPU, a longer step.'),
    derived: (plan, t) => [t('Optimizer: {0} a step.', formatDuration(chosenOf(plan).optimizerMs))],
  },
  'training.overlapGradReduce': {
    meaning: (t) => t('Gradient reduction overlaps with the last backward; the step waits for the rest and one bucket.'),
    derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenOf(plan).gradientExchangeMs))],
  },
  'training.overlapParamGather': {
    meaning: (t) => t('Weight all-gather overlaps with the first forward; the step waits for the rest and one bucket.'),
  },
  'training.mtpLayers': {
    meaning: (t) => t('Multi-token prediction (MTP) layers. They sit on the last stage; each runs the head once more.'),
  },
  'training.activationOffloadLayers': {
    meaning: (t) => t('Layers whose activations wait in host memory until backward: less GPU memory, more transfers.'),
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'calibration.iterationMs': {
    meaning: (t) => t('A measured step of this run. Machine constants are scaled until the launched plan takes that long.'),
    derived: ({ request: { calibration } }, t) =>
      calibration === undefined
        ? []
        : [
            ...(calibration.predictedMs === null ? [] : [t('Predicted {0} before.', formatDuration(calibration.predictedMs))]),
            t('GEMMs at {0} of peak, not {1}.', formatNumber(calibration.gemmEfficiency), formatNumber(calibration.before)),
          ],
  },
  'training.attention': {
    meaning: (t) => t('FlashAttention never stores the score matrix; unfused attention does: memory grows quadratically.'),
  },
  'training.sequenceParallel': {
    meaning: (t) => t('Splits norms and dropout over the tensor-parallel GPUs along the sequence: less memory, same time.'),
  },
  'training.fusedCrossEntropy': { meaning: (t) => t('Computes the loss without a second copy of the logits.') },
  'training.dropout': { meaning: (t) => t('Dropout costs time for its masks, and memory to keep them.') },
  'training.optimizerStateBytes': { meaning: (t) => t('Bytes that the optimizer keeps for each parameter, without its master weight.') },
  'training.masterWeightBytes': {
    meaning: (t) => t('Bytes of the master copy of each 16-bit weight; 0 if the optimizer updates the weights themselves.'),
  },
  'training.optimizerRank': { meaning: (t) => t('Rows of the projections whose states a low-rank optimizer keeps.') },
  'training.gradAccumulationFusion': {
    meaning: (t) => t('Weight-gradient GEMMs add to the main gradients themselves: no pass over the gradients after them.'),
  },
  'training.maxPendingBackward': {
    meaning: (t) => t('Pending backwards per stage in planned zero-bubble schedules: more memory, less bubble.'),
  },
  'training.lengths': {
    meaning: (t) => t('Lengths of the documents of a step, with how often they come.'),
    derived: ({ overLengths }, t) =>
      (overLengths?.ways ?? []).map((way) =>
        t('{0}: {1} expected, {2} at worst.', say(wayText(way), t), formatDuration(way.expectedMs), formatDuration(way.worstMs)),
      ),
  },
  'training.gradAccumulationFp32': { meaning: (t) => t('Accumulates gradients in fp32, twice the bytes of half precision.') },
  'layout.tensor': {
    meaning: (t) => t('GPUs that share every layer. Collectives run twice in each layer, so they should sit in one node.'),
    derived: ({ request: { layout, cluster } }, t) => {
      const perNode = Math.min(...nodeGroups(cluster).map(({ gpusPerNode }) => gpusPerNode));
      return layout.tensor > perNode ? [t('More than the {0} GPUs of a node: exchanged over the network.', perNode)] : [];
    },
  },
  'layout.pipeline': {
    meaning: (t) => t('Pipeline stages. They idle while the pipeline fills and drains: the bubble.'),
    derived: (plan, t) => {
      const chosen = chosenOf(plan);
      return [t('Bubble {0} of the step.', formatPercent(chosen.bubbleRate))];
    },
  },
  'layout.data': {
    meaning: (t) => t('Pipeline replicas. Each takes its share of the batch; gradients are all-reduced every step.'),
    derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenOf(plan).gradientExchangeMs))],
  },
  'layout.context': { meaning: (t) => t('GPUs that share one sequence inside attention.') },
  'layout.expertTensor': { meaning: (t) => t('GPUs that share every expert.') },
  'layout.expert': { meaning: (t) => t('GPUs that share the experts of a mixture-of-experts layer.') },
  'layout.order': {
    meaning: (t) => t('Rank order: replicas (tp-cp-ep-dp-pp) or pipeline stages (tp-cp-ep-pp-dp) next to each other.'),
  },
  'layout.virtualStages': { meaning: (t) => t('Chunks of layers on each stage with interleaved schedules.') },
  'layout.stageLayers': {
    meaning: (t) => t('Layers of each stage. The ends, which also have the embedding and the head, balance with fewer.'),
    derived: (plan, t) => {
      const { busyMs } = chosenOf(plan);
      return [
        t('Busy {0} on the lightest stage, {1} on the heaviest.', formatDuration(Math.min(...busyMs)), formatDuration(Math.max(...busyMs))),
      ];
    },
  },
  'layout.stageNodeGroups': {
    meaning: (t) => t('The group of nodes that each stage is on, counted from 0 in the order of cluster.groups.'),
    derived: ({ request: { layout, cluster } }, t) => placementLines(cluster, layout, t),
  },
  'cluster.groups': {
    meaning: (t) => t('Nodes of several kinds. Each takes consecutive stages; layers are cut to speed up the slowest.'),
    derived: ({ request: { layout, cluster }, cost }, t) => [
      ...placementLines(cluster, layout, t),
      ...nodeGroups(cluster).map(({ gpu }) => t('{0}: {1}.', gpu.name, gpu.source)),
      t('Times are within about {0} %: {1}.', Math.round(cost.errorPercent), say(cost.errorBecause, t)),
    ],
  },
  'cluster.instance': { meaning: (t) => t('A machine type of a cloud: its GPUs, their number and what links them.') },
  'cluster.gpu': {
    meaning: (t) => t('Peak rates, memory and bandwidth come from the preset; any figure can be overridden.'),
    derived: ({ request: { cluster }, cost }, t) => [
      t('{0}: {1}.', cluster.gpu.name, cluster.gpu.source),
      t('Times are within about {0} %: {1}.', Math.round(cost.errorPercent), say(cost.errorBecause, t)),
    ],
  },
  'cluster.nodes': {
    meaning: (t) => t('Nodes, each with the same GPUs.'),
    derived: ({ request: { cluster } }, t) => [t('{0} GPUs in all.', formatCount(cluster.nodes * cluster.gpusPerNode))],
  },
  'cluster.gpusPerNode': { meaning: (t) => t('GPUs that reach each other over the fast links inside a node.') },
  'cluster.links': { meaning: (t) => t('Bandwidth and latency inside a node and between nodes.') },
  schedule: {
    meaning: (t) => t('Pipeline schedule. Default: the fastest that fits; within 5 %, the one with the least memory.'),
    derived: (plan, t) => plan.reasons.map((reason) => say(reason, t)),
  },
  schedules: { meaning: (t) => t('Schedules that plans and searches choose from; absent: those that the runtime runs.') },
  keepFree: { meaning: (t) => t('Share of the memory of each GPU that layouts of a search keep free.') },
  'slicing.unit': {
    meaning: (t) => t('Slice lengths are multiples of this number of tokens; smaller units solve slower and gain little.'),
  },
  'slicing.scheme': { meaning: (t) => t('A fixed slicing of batch and sequences: predicted as given instead of optimized.') },
  'cost.gemmHalfSize': { meaning: (t) => t('Cube root of m n k at which a GEMM reaches half its best efficiency.') },
  'cost.issueFloorUs': { meaning: (t) => t('No operation takes less than this many microseconds.') },
  'cost.memoryEfficiency': { meaning: (t) => t('Share of the memory bandwidth that element-wise kernels reach.') },
  'cost.table': { meaning: (t) => t('Measured slice times: they replace the analytic model.') },
  ...elasticExplanations,
};

/** `704, 688, 656`; runs of equal lengths as `112 x 6`, the paper's way. */
function lengthsText(lengths: readonly number[]): string {
  const runs: { tokens: number; count: number }[] = [];
  for (const tokens of lengths) {
    const last = runs.at(-1);
    if (last?.tokens === tokens) last.count += 1;
    else runs.push({ tokens, count: 1 });
  }
  const shown = runs.slice(0, 12).map(({ tokens, count }) => (count === 1 ? String(tokens) : `${tokens} × ${count}`));
  return shown.join(', ') + (runs.length > 12 ? ', …' : '');
}

/** Which nodes the stages are on; nothing where all are alike. */
function placementLines(cluster: ClusterSpec, layout: Layout, t: Translate): string[] {
  const placement = placementText(cluster, layout);
  return placement === null ? [] : [say(placement, t)];
}
