import { totalBytes } from '../../../src/features/elastic/core/stage-bytes';
import type { ElasticEpoch, VariantId } from '../../../src/features/elastic/core/plan';
import type { BalanceName } from '../../../src/features/elastic/core/request';
import { formatBytes, formatUsage, formatCount, formatDuration, plural } from '../../../src/core/format';
import { usablePeakBytes } from '../../../src/core/memory-model/verdict';
import type { PageElastic } from '../../../src/protocol/page';
import { capitalised, sentence } from '../../shared/sentence';
import { t } from '../../base/strings';
import type { SpanBox } from './epochs';
import { stageOn, type Zone } from './layout';
import { say } from '../../../src/core/sentence';

/** The mechanisms in the order in which the paper adds them. */
export function variantName(id: VariantId): string {
  return {
    none: t('No freezing'),
    freezing: t('Freezing only'),
    pipe: t('+ shorter pipelines'),
    'pipe-cache': t('+ shorter pipelines, cache'),
    'pipe-dp': t('+ shorter pipelines, replicas'),
    all: t('All'),
  }[id];
}

/** What is switched on in a variant, with PipeTransformer's names. */
export function variantMeaning(id: VariantId): string {
  return {
    none: t('All layers train all the time on the pipelines of the first epoch.'),
    freezing: t('Frozen layers are not trained, but pipelines stay as they are.'),
    pipe: t('What still trains is packed into fewer GPUs (AutoPipe); the others idle.'),
    'pipe-cache': t('The same, and outputs of the frozen layers are kept where that pays (AutoCache).'),
    'pipe-dp': t('GPUs that become free run more replicas (AutoDP), without a cache.'),
    all: t('AutoPipe, AutoDP and AutoCache together: the plan shown here.'),
  }[id];
}

/** How a cut into stages is called. */
export function balanceName(name: BalanceName): string {
  return { greedy: t('Greedy'), parameters: t('Exact by parameters'), time: t('Exact by time') }[name];
}

/** What a cache does in an epoch; empty without one. */
export function cacheWord({ cache: { state } }: ElasticEpoch): string {
  return { none: '', fill: t('fill'), read: t('read') }[state];
}

/** Bytes that a node's cache takes in an epoch. */
export function cacheBytes({ cache: { state, hostBytes, diskBytes } }: ElasticEpoch): number {
  return state === 'none' ? 0 : hostBytes + diskBytes;
}

/** Whether frozen layers run on a stage: on the first one before the pipeline, or on those that they pass through. */
export function runsFrozen({ frozenLayers, isFrozenInside, stageFrozenUnits }: ElasticEpoch, stage: number): boolean {
  return isFrozenInside ? (stageFrozenUnits[stage] ?? 0) > 0 : stage === 0 && frozenLayers > 0;
}

/** What a stage holds: `layer 4, attention of layer 5`. A layer is two units, attention and feed-forward, between which it may be cut. */
export function stageContent({ frozenLayers, stageUnits }: ElasticEpoch, stage: number, layers: number): string {
  const before = (frozenLayers === 0 ? 0 : 1 + 2 * frozenLayers) + stageUnits.slice(0, stage).reduce((sum, units) => sum + units, 0);
  const end = before + (stageUnits[stage] ?? 0);
  const halves = { from: Math.max(0, before - 1), until: Math.min(2 * layers, end - 1) };
  const [first, last] = [Math.ceil(halves.from / 2), Math.floor(halves.until / 2) - 1];
  const some = halves.until > halves.from;
  const parts = [
    before === 0 && end > 0 ? t('embedding') : null,
    some && halves.from % 2 === 1 ? t('feed-forward of layer {0}', first - 1) : null,
    !some || last < first ? null : first === last ? t('layer {0}', first) : t('layers {0} to {1}', first, last),
    some && halves.until % 2 === 1 ? t('attention of layer {0}', last + 1) : null,
    end > 1 + 2 * layers ? t('head') : null,
  ].filter((part) => part !== null);
  return parts.length === 0 ? t('nothing') : parts.join(', ');
}

/** `Epoch 3`, or `Epochs 3 to 9, alike`. */
export function epochsText({ first, span }: SpanBox): string {
  return span.count === 1 ? t('Epoch {0}', first) : t('Epochs {0} to {1}, alike', first, first + span.count - 1);
}

/** How an epoch's time comes about, and what the numbers rest on. */
export function timeLines({ plan }: PageElastic, epoch: ElasticEpoch): string[] {
  const { frozenMs, pipelineMs, allReduceMs, optimizerMs, stepMs, steps, epochMs, transitionMs, inputMs, evaluationMs } = epoch;
  return [
    t('{0} of {1}: {2}', plural(steps, t('step'), t('steps')), formatDuration(stepMs), formatDuration(epochMs)),
    t(
      'Frozen {0}, pipeline {1}, gradient exchange {2}, optimizer {3}',
      formatDuration(frozenMs),
      formatDuration(pipelineMs),
      formatDuration(allReduceMs),
      formatDuration(optimizerMs),
    ),
    ...(inputMs > 0 ? [t('Waits for samples {0}', formatDuration(inputMs))] : []),
    ...(evaluationMs > 0 ? [t('Evaluation after it: {0}', formatDuration(evaluationMs))] : []),
    ...(transitionMs > 0 ? [t('Change of pipelines before it: {0}', formatDuration(transitionMs))] : []),
    t('From: {0}', say(plan.cost.description, t)),
  ];
}

/** The text of a tooltip on the thing under the pointer. */
export function tooltipLines(elastic: PageElastic, box: SpanBox, epochIndex: number, zone: Zone | null): string[] {
  const { request, freezing } = elastic.plan;
  const { epoch } = box.span;
  const { layers } = request.model.spec;
  const title = t('Epoch {0}', epochIndex);
  if (zone?.kind === 'layers')
    return [`${title} · ${t('{0} of {1} layers frozen', epoch.frozenLayers, layers)}`, capitalised(say(freezing, t))];
  if (zone?.kind === 'cache') return [`${title} · ${cacheTitle(epoch)}`, sentence(say(epoch.cache.reason, t)), ...cacheLines(epoch)];
  if (zone?.kind !== 'gpu') return [title, ...timeLines(elastic, epoch)];
  const where = t('GPU {0} of node {1}', zone.gpu % request.cluster.gpusPerNode, Math.floor(zone.gpu / request.cluster.gpusPerNode));
  const on = stageOn(epoch, zone.gpu);
  if (on === null) return [`${title} · ${where}`, t('Idle: no pipeline of {0} fits here', plural(epoch.pipelineLength, 'GPU'))];
  const bytes = epoch.stageBytes[on.stage];
  return [
    `${title} · ${t('pipeline {0} of {1}, stage {2} of {3}', on.pipeline, epoch.replicas, on.stage, epoch.pipelineLength)}`,
    where,
    capitalised(stageContent(epoch, on.stage, layers)) +
      (!runsFrozen(epoch, on.stage)
        ? ''
        : epoch.isFrozenInside
          ? t(
              '; {0} of the frozen layers pass through it, forward only',
              plural(epoch.stageFrozenUnits[on.stage] ?? 0, t('unit'), t('units')),
            )
          : t('; the {0} run here too', plural(epoch.frozenLayers, t('frozen layer'), t('frozen layers')))),
    t('{0} parameters train', formatCount(epoch.stageParameters[on.stage] ?? 0)),
    ...(bytes === undefined ? [] : [t('Memory: {0}', formatUsage(totalBytes(bytes), usablePeakBytes(request.cluster.gpu.memoryBytes)))]),
    ...timeLines(elastic, epoch),
  ];
}

function cacheTitle({ cache: { state } }: ElasticEpoch): string {
  return { none: t('no cache'), fill: t('fills the cache'), read: t('reads the cache') }[state];
}

function cacheLines({ cache }: ElasticEpoch): string[] {
  const arithmetic = t(
    'A step: computing {0}, reading {1}, filling {2}',
    formatDuration(cache.forwardMs),
    formatDuration(cache.movedMs),
    formatDuration(cache.fillMs),
  );
  if (cache.state === 'none') return cache.forwardMs > 0 ? [arithmetic] : [];
  return [
    arithmetic,
    t('A node: {0} of host memory, {1} of disk', formatBytes(cache.hostBytes), formatBytes(cache.diskBytes)),
    t('{0} a sample', formatBytes(cache.sampleBytes)),
  ];
}
