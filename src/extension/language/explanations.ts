import type { ClusterSpec } from '../../core/domain/cluster';
import type { Layout } from '../../core/domain/request';
import type { Explanation } from './explanation';
import { nodeGroups, placementText } from '../../core/cluster/groups';
import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, formatRate, formatTokens, plural } from '../../core/format';
import { tightestStage } from '../../core/memory-model/profile';
import { chosenCandidate, type Plan } from '../../core/planner/plan';
import { scenarioText } from '../../core/plan-request/scenario';
import { stageLayersText } from '../../core/layout-search/labels';
import { elasticExplanations } from '../../features/elastic/vscode/explanations';
import { wayText } from '../../core/planner/lengths/length-reasons';
import { explainSetting, settingOfKey } from '../../core/domain/settings/table';
import { say, type Translate } from '../../core/sentence';
import { maximum, minimum } from '../../core/numbers';
import { own } from '../../core/records';
import { capitalised } from '../../core/text';

/** What a plan makes of a setting, by its key in terapipe.json. */
const numbers: Readonly<Record<string, Omit<Explanation, 'meaning'>>> = {
  'model.layers': {
    derived: ({ request: { model, layout } }, t) => [
      layout.stageLayers === undefined
        ? layout.pipeline === 1
          ? t('All {0} on one stage.', plural(model.layers, t('layer')))
          : t('{0} layers on {1} stages: {2} a stage.', model.layers, layout.pipeline, formatCount(model.layers / layout.pipeline))
        : t('{0} layers on {1} stages: {2}.', model.layers, layout.pipeline, say(stageLayersText({ stageLayers: layout.stageLayers }), t)),
    ],
  },
  'model.hidden': {
    derived: ({ request: { model, training } }, t) => {
      const bytes = training.sequenceLength * model.hidden * (training.precision === 'fp32' ? 4 : 2);
      return [t('One whole sequence sends {0} from stage to stage.', formatBytes(bytes))];
    },
  },
  'model.heads': {
    derived: ({ request: { model, layout } }, t) => [
      layout.tensor === 1
        ? t('{0}, not split: TP is 1.', plural(model.heads, t('head')))
        : t('{0} heads over {1} tensor-parallel GPUs: {2} each.', model.heads, layout.tensor, formatCount(model.heads / layout.tensor)),
    ],
  },
  'model.experts': {
    derived: ({ request: { model, layout } }, t) =>
      model.experts === null || layout.expert === 1
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
  'model.vocab': {
    derived: ({ request: { model, layout } }, t) =>
      model.vocab === 0
        ? [t('0: no embedding and no head, so all stages are equal.')]
        : layout.tensor === 1
          ? [t('{0} parameters in the head.', formatCount(model.vocab * model.hidden))]
          : [
              t(
                '{0} parameters in the head, {1} on each of {2} GPUs.',
                formatCount(model.vocab * model.hidden),
                formatCount((model.vocab * model.hidden) / layout.tensor),
                layout.tensor,
              ),
            ],
  },
  'model.modelType': { derived: ({ parameters }, t) => [t('{0} parameters.', formatCount(parameters))] },
  'training.sequenceLength': {
    derived: (plan, t) => {
      const { scheme } = chosenCandidate(plan);
      const slices = scheme[0]?.tokens ?? [];
      return slices.length < 2
        ? [t('Not cut in this plan.')]
        : [t('Cut into {0}: {1}.', plural(slices.length, 'slice'), lengthsText(slices))];
    },
  },
  'training.decoderSequenceLength': {
    derived: ({ request: { training } }, t) => [
      t(
        '{0} of the source for {1} of the target.',
        formatTokens(training.sequenceLength),
        formatCount(training.decoderSequenceLength ?? 0),
      ),
    ],
  },
  'training.globalBatch': {
    derived: (plan, t) => {
      const { globalBatch } = plan.request.training;
      const { data } = plan.request.layout;
      const { tokensPerSecond } = chosenCandidate(plan);
      return [
        data === 1 ? t('All on one replica.') : t('{0} on each of {1}.', plural(globalBatch / data, 'sequence'), plural(data, 'replica')),
        t('{0} tokens/s.', formatRate(tokensPerSecond)),
      ];
    },
  },
  'training.optimizer': {
    derived: (plan, t) => [
      t('{0} a GPU on the fullest stage.', formatBytes(tightestStage(chosenCandidate(plan).memory.stages)?.parts.optimizer ?? 0)),
    ],
  },
  'training.recompute': {
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestStage(chosenCandidate(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'training.offloadOptimizer': { derived: (plan, t) => [t('Optimizer: {0} a step.', formatDuration(chosenCandidate(plan).optimizerMs))] },
  'training.overlapGradReduce': {
    derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenCandidate(plan).gradientExchangeMs))],
  },
  'training.activationOffloadLayers': {
    derived: (plan, t) => [
      t('Activations: {0} on the fullest stage.', formatBytes(tightestStage(chosenCandidate(plan).memory.stages)?.parts.activations ?? 0)),
    ],
  },
  'training.lengths': {
    derived: ({ overLengths }, t) =>
      (overLengths?.ways ?? []).map((way) =>
        t('{0}: {1} expected, {2} at worst.', say(wayText(way), t), formatDuration(way.expectedMs), formatDuration(way.worstMs)),
      ),
  },
  'layout.tensor': {
    derived: ({ request: { layout, cluster } }, t) => {
      const perNode = minimum(nodeGroups(cluster).map(({ gpusPerNode }) => gpusPerNode));
      return layout.tensor > perNode ? [t('More than the {0} GPUs of a node: exchanged over the network.', perNode)] : [];
    },
  },
  'layout.pipeline': {
    derived: (plan, t) => {
      const chosen = chosenCandidate(plan);
      return [t('Bubble {0} of the step.', formatPercent(chosen.bubbleRate))];
    },
  },
  'layout.data': { derived: (plan, t) => [t('Gradient exchange: {0}.', formatDuration(chosenCandidate(plan).gradientExchangeMs))] },
  'layout.stageLayers': {
    derived: (plan, t) => {
      const { busyMs } = chosenCandidate(plan);
      return [t('Busy {0} on the lightest stage, {1} on the heaviest.', formatDuration(minimum(busyMs)), formatDuration(maximum(busyMs)))];
    },
  },
  'layout.stageNodeGroups': { derived: ({ request: { layout, cluster } }, t) => placementLines(cluster, layout, t) },
  'cluster.nodes': { derived: ({ request: { cluster } }, t) => [t('{0} GPUs in all.', formatCount(cluster.nodes * cluster.gpusPerNode))] },
  schedule: { derived: (plan, t) => plan.reasons.map((reason) => capitalised(say(reason, t))) },
};

/** Keys of terapipe.json with parts of their own: machines, cost, calibration, what is searched, runs that freeze layers. */
const others: Readonly<Record<string, Explanation>> = {
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
  'cluster.groups': {
    meaning: (t) => t('Nodes of several kinds. Each kind runs consecutive stages; slower ones get fewer layers.'),
    derived: ({ request: { layout, cluster }, cost }, t) => [
      ...placementLines(cluster, layout, t),
      ...nodeGroups(cluster).map(({ gpu }) => t('{0}: {1}.', gpu.name, gpu.source)),
      t('Times are within about {0} %: {1}.', Math.round(cost.errorPercent), say(cost.errorBecause, t)),
    ],
  },
  'cluster.instance': { meaning: (t) => t('A cloud machine type: its GPUs, their number and what links them.') },
  'cluster.gpu': {
    meaning: (t) => t('Peak rates, memory and bandwidth come from the preset; any figure can be overridden.'),
    derived: ({ request: { cluster }, cost }, t) => [
      t('{0}: {1}.', cluster.gpu.name, cluster.gpu.source),
      t('Times are within about {0} %: {1}.', Math.round(cost.errorPercent), say(cost.errorBecause, t)),
    ],
  },
  'cluster.links': { meaning: (t) => t('Bandwidth and latency inside a node and between nodes.') },
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

/**
 * What a key of terapipe.json means and what a plan makes of it; undefined: it is a section, or unknown. A model config's keys are mapped
 * to these by its reader.
 */
export function explanationFor(key: string): Explanation | undefined {
  const setting = settingOfKey(key);
  if (setting === null) return own(others, key);
  return { meaning: (t) => say(explainSetting(setting).meaning, t), ...own(numbers, key) };
}

/** What the numbers of a plan are of. */
export function scenarioLines(plan: Plan | null, t: Translate): string[] {
  return plan === null ? [] : [t('Planned for {0}.', say(scenarioText(plan.request), t))];
}

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
