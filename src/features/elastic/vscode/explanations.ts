import type { ElasticPlan, VariantId } from '../core/plan';
import { formatBytes, formatCount, formatDuration, formatNumber, plural } from '../../../core/format';
import type { Explanation } from '../../../extension/language/explanation';
import type { Translate } from '../../../core/sentence';

/** What a mechanism gains over the run without it. */
function gain({ variants }: ElasticPlan, id: VariantId, t: Translate): string[] {
  const found = variants.find((variant) => variant.id === id);
  return found === undefined ? [] : [t('With it {0}, {1}x of no freezing.', formatDuration(found.totalMs), formatNumber(found.speedup))];
}

const frozen: Explanation['elastic'] = ({ epochs, request }, t) => [
  t(
    'Frozen layers by epoch: {0} of {1}.',
    epochs
      .slice(0, 12)
      .map(({ frozenLayers }) => frozenLayers)
      .join(', ') + (epochs.length > 12 ? ', …' : ''),
    request.model.spec.layers,
  ),
];

const cache: Explanation['elastic'] = (plan, t) => {
  const cached = plan.epochs.find((epoch) => epoch.cache.used);
  if (cached === undefined) return [t('Caching does not pay in any epoch.')];
  const { hostBytes, diskBytes } = cached.cache;
  return [
    t(
      'It pays from epoch {0} on: {1} of host memory and {2} of disk a node.',
      cached.epoch,
      formatBytes(hostBytes),
      formatBytes(diskBytes),
    ),
  ];
};

/** Values of the `elastic` section of a terapipe.json: a run that freezes layers from the bottom (PipeTransformer). */
export const elasticExplanations: Readonly<Record<string, Explanation>> = {
  'elastic.epochs': {
    meaning: (t) => t('Passes over the data set that are planned, each with its own frozen layers and pipelines.'),
    elastic: ({ totalMs, speedup }, t) => [t('{0} in all, {1}x of no freezing.', formatDuration(totalMs), formatNumber(speedup))],
  },
  'elastic.datasetSize': {
    meaning: (t) => t('Samples of one epoch. The cache keeps one activation of each.'),
    elastic: ({ epochs }, t) => epochs.slice(0, 1).map(({ steps }) => t('{0} in the first epoch.', plural(steps, 'step'))),
  },
  'elastic.dataset': { meaning: (t) => t('A data set whose numbers of samples and classes are known.') },
  'elastic.batch': { meaning: (t) => t('Samples of one step on every pipeline at the start.') },
  'elastic.batchScaling': {
    meaning: (t) => t('With more replicas, pipelines keep their batch and steps grow (scaled), or share it (kept).'),
  },
  'elastic.freezing': {
    meaning: (t) => t('What freezes layers: a fraction (alpha), gradient norms (gradients, changes), or a list (given).'),
    elastic: frozen,
  },
  'elastic.alpha': {
    meaning: (t) => t('Fraction of the remaining layers that is frozen after every epoch, from the bottom.'),
    elastic: frozen,
  },
  'elastic.gradientNorms': {
    meaning: (t) => t('Gradient norms by epoch and layer (CSV, JSON, JSONL): layers up to the smallest norm freeze.'),
    elastic: frozen,
  },
  'elastic.frozenLayers': { meaning: (t) => t('Frozen layers of each epoch; the last number also holds for later ones.'), elastic: frozen },
  'elastic.pipelineLength': {
    meaning: (t) => t('GPUs per pipeline in the first epoch. As layers freeze it is halved; free GPUs become replicas.'),
    elastic: ({ epochs }, t) =>
      epochs
        .slice(-1)
        .map(({ pipelineLength, replicas }) => t('Ends with {0} of {1}.', plural(replicas, 'pipeline'), plural(pipelineLength, 'GPU'))),
  },
  'elastic.balance': {
    meaning: (t) => t("How layers are cut into stages: PipeTransformer's greedy rule, or balanced by parameters or time."),
    elastic: ({ balances }, t) =>
      (balances[0] ?? []).map(({ name, pipelineMs }) =>
        t('{0}: {1} of pipeline a step in the first epoch.', name, formatDuration(pipelineMs)),
      ),
  },
  'elastic.microBatches': { meaning: (t) => t('Micro-batches of a step: a number, the fastest one, or that of the published table.') },
  'elastic.schedule': {
    meaning: (t) => t('Schedule of a pipeline: GPipe (all forwards first) or 1F1B (holds fewer activations).'),
  },
  'elastic.tokenSlices': {
    meaning: (t) => t('Slices of every sequence of a causal model, or search for the fastest number in every epoch.'),
    elastic: ({ epochs }, t) => [t('Slices by epoch: {0}.', epochs.slice(0, 12).map(({ slices }) => slices.length).join(', '))], // prettier-ignore
  },
  'elastic.shrink': {
    meaning: (t) => t('Pipelines are halved as PipeTransformer halves them, or get the length that is fastest and fits.'),
  },
  'elastic.cache': {
    meaning: (t) => t('Whether outputs of the frozen layers may be kept instead of computed again, where that pays.'),
    elastic: cache,
  },
  'elastic.hostMemoryGB': { meaning: (t) => t('Memory of a node that the cache may take; the rest of it goes to disk.'), elastic: cache },
  'elastic.diskGB': { meaning: (t) => t('Disk of a node that the cache may take.'), elastic: cache },
  'elastic.diskGBps': { meaning: (t) => t('How fast a node reads its cache from disk, GB/s.') },
  'elastic.hostLinkGBps': { meaning: (t) => t('Bandwidth from host memory to one GPU, GB/s.') },
  'elastic.hostMemoryGBps': { meaning: (t) => t('Host memory bandwidth of a node, shared by its GPUs, GB/s.') },
  'elastic.loaderSamplesPerSecond': {
    meaning: (t) => t('Samples that one worker loads and decodes in a second: no step is faster than its samples come.'),
    elastic: ({ epochs }, t) => [
      t('Steps wait {0} for samples in all.', formatDuration(epochs.reduce((sum, { steps, inputMs }) => sum + steps * inputMs, 0))),
    ],
  },
  'elastic.loaderWorkers': {
    meaning: (t) => t('Data-loader workers per process; with 0 the process loads samples itself, and its GPUs wait.'),
  },
  'elastic.evaluationSamples': {
    meaning: (t) => t('Samples of the evaluation data set, forward only.'),
    elastic: ({ epochs }, t) => [
      t('Evaluation takes {0} in all.', formatDuration(epochs.reduce((sum, { evaluationMs }) => sum + evaluationMs, 0))),
    ],
  },
  'elastic.evaluationEvery': { meaning: (t) => t('After how many epochs the model is evaluated, and after the last; 0 is never.') },
  'elastic.trainingEvaluationEvery': {
    meaning: (t) => t('After how many epochs the training data is evaluated on, and after the last; 0 is never.'),
  },
  'elastic.frozenSamplesPerSecond': {
    meaning: (t) => t('Measured samples per second that one GPU runs forward through all layers; prices frozen layers.'),
  },
  'elastic.transitionSeconds': {
    meaning: (t) => t('Seconds to stop, regroup the processes and continue with other pipelines.'),
    elastic: ({ epochs }, t) => {
      const changes = epochs.filter(({ transitionMs }) => transitionMs > 0);
      return [
        t(
          '{0} between epochs, {1} in all.',
          plural(changes.length, 'change'),
          formatDuration(changes.reduce((sum, { transitionMs }) => sum + transitionMs, 0)),
        ),
      ];
    },
  },
  'elastic.classes': { meaning: (t) => t('Classes that the head of the model distinguishes.') },
  'elastic.throughputs': {
    meaning: (t) => t('Measured samples/s by frozen layers and pipeline length; replace or scale the predicted step.'),
    elastic: (plan, t) => gain(plan, 'all', t),
  },
  'elastic.fillingThroughputs': {
    meaning: (t) => t('The same, measured in the first epoch after a change, while the cache is filled.'),
    elastic: (plan, t) => [t('{0} samples an epoch.', formatCount(plan.request.datasetSize))],
  },
};
