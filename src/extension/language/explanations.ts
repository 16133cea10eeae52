import type { ClusterSpec } from '../../core/domain/cluster';
import type { Layout } from '../../core/domain/request';
import type { Translate } from '../../core/translate';
import type { Explanation } from './explanation';
import { nodeGroups, placementText } from '../../core/cluster/groups';
import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatTokens, plural } from '../../core/format';
import { tightestOf } from '../../core/memory-model/profile';
import { chosenOf } from '../../core/planner/plan';
import { stageLayersText } from '../../core/layout-search/labels';
import { elasticExplanations } from './elastic-explanations';
import { wayText } from '../../core/planner/lengths/length-reasons';
import { say } from '../../core/sentence';

/** By key as `terapipe.json` has it; a model config's keys are mapped to these by its reader. */
export const explanations: Readonly<Record<string, Explanation>> = {
  'model.layers': {
    meaning: (t) => t('Layers are dealt to the pipeline stages in order; a stage takes as long as its layers together.'),
    derived: ({ request: { model, layout } }, t) => [
      layout.stageLayers === undefined
        ? t('{0} layers on {1} stages: {2} a stage.', model.layers, layout.pipeline, formatCount(model.layers / layout.pipeline))
        : t('{0} layers on {1} stages: {2}.', model.layers, layout.pipeline, say(stageLayersText({ stageLayers: layout.stageLayers }), t)),
    ],
  },
  'model.hidden': {
    meaning: (t) => t('Width of the activations. What one stage sends to the next grows with it, time of a layer with its square.'),
    derived: ({ request: { model, training } }, t) => {
      const bytes = training.sequenceLength * model.hidden * (training.precision === 'fp32' ? 4 : 2);
      return [t('One whole sequence sends {0} from stage to stage.', formatBytes(bytes))];
    },
  },
  'model.heads': {
    meaning: (t) => t('Attention heads are split over the tensor-parallel GPUs, so their number must divide by the tensor size.'),
    derived: ({ request: { model, layout } }, t) => [
      t('{0} heads over {1} tensor-parallel GPUs: {2} each.', model.heads, layout.tensor, formatCount(model.heads / layout.tensor)),
    ],
  },
  'model.kvHeads': {
    meaning: (t) => t('Key and value heads; fewer than heads means grouped-query attention, and less to keep for later token slices.'),
  },
  'model.headDim': { meaning: (t) => t('Width of one attention head.') },
  'model.ffn': { meaning: (t) => t('Width of the feed-forward block, where most of the time of a layer goes.') },
  'model.gatedMlp': { meaning: (t) => t('Whether the feed-forward block has a gate beside its up projection (SwiGLU): a third matrix.') },
  'model.experts': {
    meaning: (t) =>
      t('Feed-forward networks of every layer between which a router chooses for each token. All of them are held, few of them run.'),
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
    meaning: (t) => t('Experts that each token visits. Time of a layer grows with it, memory of the weights does not.'),
  },
  'model.encoderLayers': {
    meaning: (t) =>
      t('Layers of the encoder, the first of all layers. Those of the decoder attend to its output, which travels along with theirs.'),
  },
  'model.vocab': {
    meaning: (t) => t('The embedding sits on the first stage and the head on the last: both take longer and hold more than the others.'),
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
    meaning: (t) => t('Tokens of one sequence. TeraPipe cuts it into slices that run down the pipeline one behind the other.'),
    derived: (plan, t) => {
      const { scheme } = chosenOf(plan);
      const slices = scheme[0]?.tokens ?? [];
      return slices.length < 2
        ? [t('Not cut in this plan.')]
        : [t('Cut into {0}: {1}.', plural(slices.length, 'slice'), lengthsText(slices))];
    },
  },
  'training.decoderSequenceLength': {
    meaning: (t) => t('Tokens that the decoder predicts of one sequence. Its attention to the encoder grows with both lengths.'),
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
    meaning: (t) => t('Sequences of one step over all replicas. The more there are, the less filling and draining the pipeline costs.'),
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
    meaning: (t) => t('What the optimizer keeps for each parameter: Adam two moments and an fp32 copy.'),
    derived: (plan, t) => [
      t('{0} a GPU on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.optimizer ?? 0)),
    ],
  },
  'training.zeroStage': {
    meaning: (t) => t('What the data-parallel replicas share out: 1 the optimizer state, 2 gradients too, 3 weights too.'),
  },
  'training.recompute': {
    meaning: (t) =>
      t(
        'What the backward pass computes again instead of keeping: full costs about a third more time and keeps only the inputs of layers.',
      ),
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'training.recomputeLayers': {
    meaning: (t) => t('Layers of each stage, or of each of its chunks, that are computed again; the others are kept.'),
  },
  'training.recomputeGroup': {
    meaning: (t) =>
      t(
        'Layers that are recomputed together: only the input of the first is kept, and the activations of all of them are held at once in backward.',
      ),
  },
  'training.recomputeEvery': { meaning: (t) => t('With recompute "every": each so many layers one is computed again.') },
  'training.recomputeModules': { meaning: (t) => t('Parts of a layer that the backward pass computes again instead of keeping.') },
  'training.fp8Recipe': { meaning: (t) => t('How FP8 inputs are scaled: it decides what the casts cost.') },
  'training.fp8ParamGather': {
    meaning: (t) => t('The layers’ weights are kept in FP8 alone, beside the master weights of the optimizer.'),
  },
  'training.cudaGraphs': { meaning: (t) => t('What is recorded as CUDA graphs: those operations wait for no host.') },
  'training.expertDispatcher': {
    meaning: (t) => t('What brings tokens to their experts: a copy for each expert, or one for each GPU and node.'),
  },
  'training.overlapExpertComm': { meaning: (t) => t('The exchange of experts runs beside the compute of another micro-batch.') },
  'training.runtimeVersion': { meaning: (t) => t('Release of the runtime: its kernels differ from one to the next.') },
  'training.compile': { meaning: (t) => t('Whether torch.compile fuses element-wise operations: without it they move more memory.') },
  'training.attentionKernel': { meaning: (t) => t('What computes attention: it decides the rate, most of all at long sequences.') },
  'training.asyncTensorParallel': {
    meaning: (t) => t('Collectives of tensor parallelism run in pieces beside the GEMMs that need them.'),
  },
  'training.gemmPrecision': {
    meaning: (t) =>
      t('Narrow number format of the layers’ GEMMs: faster, with casts before them; the rest stays in the training precision.'),
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
    meaning: (t) =>
      t('Gradients are reduced while the last micro-batch runs backward: the step waits only for what takes longer, and for one bucket.'),
    derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenOf(plan).gradientExchangeMs))],
  },
  'training.overlapParamGather': {
    meaning: (t) =>
      t('Weights are gathered while the first micro-batch runs forward: the step waits only for what takes longer, and for one bucket.'),
  },
  'training.mtpLayers': {
    meaning: (t) =>
      t('Layers of multi-token prediction (MTP). They sit on the last stage, beside the head, which each of them runs once more.'),
  },
  'training.activationOffloadLayers': {
    meaning: (t) =>
      t('Layers whose activations wait in the memory of the host between forward and backward: less on the GPU, more on its link.'),
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestOf(chosenOf(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'calibration.iterationMs': {
    meaning: (t) =>
      t(
        'A step of this very run, measured: the constants of the machine are corrected until the plan as launched takes that long. Other layouts follow.',
      ),
    derived: ({ request: { calibration } }, t) =>
      calibration === undefined
        ? []
        : [
            ...(calibration.predictedMs === null ? [] : [t('Predicted {0} before.', formatDuration(calibration.predictedMs))]),
            t('GEMMs at {0} of peak, not {1}.', formatNumber(calibration.gemmEfficiency), formatNumber(calibration.before)),
          ],
  },
  'training.attention': {
    meaning: (t) =>
      t('Flash attention never stores the score matrix; unfused attention does, and its memory grows with the square of the sequence.'),
  },
  'training.sequenceParallel': {
    meaning: (t) => t('Splits norms and dropout over the tensor-parallel GPUs along the sequence: less memory, same time.'),
  },
  'training.fusedCrossEntropy': { meaning: (t) => t('Computes the loss without a second copy of the logits.') },
  'training.dropout': { meaning: (t) => t('Dropout costs time for its masks, and memory to keep them.') },
  'training.optimizerStateBytes': { meaning: (t) => t('Bytes that the optimizer keeps for each parameter, without its master weight.') },
  'training.masterWeightBytes': {
    meaning: (t) => t('Bytes of the copy of each 16-bit weight that the optimizer updates; 0 where it updates the weights themselves.'),
  },
  'training.optimizerRank': { meaning: (t) => t('Rows of the projections whose states a low-rank optimizer keeps.') },
  'training.gradAccumulationFusion': {
    meaning: (t) => t('Weight-gradient GEMMs add to the main gradients themselves: no pass over the gradients after them.'),
  },
  'training.maxPendingBackward': {
    meaning: (t) => t('Micro-batches whose backward a stage may leave pending in planned zero-bubble schedules: more memory, less bubble.'),
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
    meaning: (t) =>
      t('Pipeline stages. All but the first wait to be filled, all but the last to be drained: that idle time is the bubble.'),
    derived: (plan, t) => {
      const chosen = chosenOf(plan);
      return [t('Bubble {0} of the step.', formatPercent(chosen.bubbleRate))];
    },
  },
  'layout.data': {
    meaning: (t) => t('Replicas of the pipeline. Each takes its share of the batch; gradients are exchanged at the end of a step.'),
    derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenOf(plan).gradientExchangeMs))],
  },
  'layout.context': { meaning: (t) => t('GPUs that share one sequence inside attention.') },
  'layout.expertTensor': { meaning: (t) => t('GPUs that share every expert.') },
  'layout.expert': { meaning: (t) => t('GPUs that share the experts of a mixture-of-experts layer.') },
  'layout.order': {
    meaning: (t) =>
      t(
        'In which order ranks are numbered, as Megatron-LM writes it: replicas next to each other (tp-cp-ep-dp-pp), or the stages of a pipeline (tp-cp-ep-pp-dp). It decides which of them lie inside a node.',
      ),
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
    meaning: (t) =>
      t('Nodes of several kinds. Each takes stages in a row; layers are cut so that the slowest stage is fastest within memory.'),
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
    meaning: (t) => t('Machines, each with the same GPUs.'),
    derived: ({ request: { cluster } }, t) => [t('{0} GPUs in all.', formatCount(cluster.nodes * cluster.gpusPerNode))],
  },
  'cluster.gpusPerNode': { meaning: (t) => t('GPUs that reach each other over the fast links inside a node.') },
  'cluster.links': { meaning: (t) => t('Bandwidth and latency inside a node and between nodes.') },
  schedule: {
    meaning: (t) =>
      t(
        'Order of the operations on each stage. Left out, the fastest that fits is chosen; of those within 5 %, the one with the least memory.',
      ),
    derived: (plan, t) => plan.reasons.map((reason) => say(reason, t)),
  },
  schedules: { meaning: (t) => t('Schedules that plans and searches choose from; absent: those that the runtime runs.') },
  keepFree: { meaning: (t) => t('Share of the memory of each GPU that layouts of a search keep free.') },
  'slicing.unit': {
    meaning: (t) => t('Slice lengths are multiples of this many tokens; smaller units are solved more slowly and gain little.'),
  },
  'slicing.scheme': { meaning: (t) => t('A fixed way to cut batch and sequences: predicted as it stands instead of optimized.') },
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
