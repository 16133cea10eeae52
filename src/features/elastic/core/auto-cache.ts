import { elementBytes } from '../../../core/domain/number-formats';
import type { ElasticRequest } from './request';
import { sentence, type Sentence } from '../../../core/sentence';

/** Epochs in a row that run alike. */
export interface Span {
  readonly epochs: number;
  readonly steps: number;
  /** Forward of all frozen layers for one step's batch, and of the layers that froze with this span only. */
  readonly forwardMs: number;
  readonly advanceMs: number;
  /** The span before ran the same pipelines: what its cache holds is in the right places and need only be advanced. */
  readonly follows: boolean;
  /** Samples of one step on one pipeline, and pipelines that share a node's disk. */
  readonly batch: number;
  readonly replicasPerNode: number;
}

/** Where the cached outputs of the frozen layers lie, and how long a step's take to move. */
interface CacheSize {
  readonly sampleBytes: number;
  /** On each node: all samples of its pipelines, host memory first. */
  readonly hostBytes: number;
  readonly diskBytes: number;
  /** Reading or writing one step's batch of one pipeline. */
  readonly movedMs: number;
}

/** Keeping the frozen layers' outputs instead of computing them again. Times per step of one pipeline. */
export interface CacheDecision extends CacheSize {
  /** Computing the frozen layers, which reading replaces. */
  readonly forwardMs: number;
  readonly used: boolean;
  /** Why (not), one sentence. */
  readonly reason: Sentence;
  /** First epoch: forward (or the cache of the span before, advanced), and write. */
  readonly fillMs: number;
}

/** Bytes of one sample between two layers. */
function sampleBytes({ model, training }: Pick<ElasticRequest, 'model' | 'training'>): number {
  return elementBytes(training) * training.sequenceLength * model.spec.hidden;
}

/**
 * What exceeds the host's memory lies on disk, read ahead in the background, so that only what is slower than the link to the GPU counts.
 */
export function cacheSize(request: ElasticRequest, { batch, replicasPerNode }: Pick<Span, 'batch' | 'replicasPerNode'>): CacheSize {
  const { cache, cluster, datasetSize } = request;
  const bytes = sampleBytes(request);
  const nodeBytes = Math.ceil(datasetSize / cluster.nodes) * bytes;
  const hostBytes = Math.min(nodeBytes, cache.hostMemoryBytes);
  const diskBytes = nodeBytes - hostBytes;
  const linkMs = (1e3 * bytes * batch) / cache.hostLinkBytesPerSecond;
  const diskMs = (1e3 * bytes * batch * replicasPerNode * (diskBytes / nodeBytes)) / cache.diskBytesPerSecond;
  const memoryMs = (1e3 * bytes * batch * replicasPerNode * (hostBytes / nodeBytes)) / cache.hostMemoryBytesPerSecond;
  return { sampleBytes: bytes, hostBytes, diskBytes, movedMs: Math.max(linkMs, memoryMs, diskMs) };
}

/** Steps of a span with the cache filled in its first epoch; `advanced`: from the cache of the span before. */
function fillMs({ cache }: ElasticRequest, { forwardMs, advanceMs }: Span, { movedMs }: CacheSize, advanced: boolean): number {
  if (advanced && !cache.advances) return movedMs;
  return (advanced ? movedMs + advanceMs : forwardMs) + movedMs;
}

/**
 * When caching the frozen prefix pays, over all spans of a run: in the first epoch of a span it costs a write, in the others a read
 * replaces the forward, and a span on the same pipelines starts from the cache of the one before. The choice with the least time in all
 * (dynamic program over spans). Source of the mechanism: arXiv 2102.03161, section 3.4, which turns it on from a fixed number of frozen
 * layers.
 */
export function decideCaches(request: ElasticRequest, spans: readonly Span[], enabled: boolean): CacheDecision[] {
  const sizes = spans.map((span) => cacheSize(request, span));
  const refusals = spans.map((span, index) => refusal(request, span, sizes[index], enabled));
  // Time from each span to the end, with and without a cache in the span before.
  let after = { cached: 0, bare: 0 };
  const choices: { cached: boolean; bare: boolean }[] = [];
  for (let index = spans.length - 1; index >= 0; index--) {
    const [span, size] = [spans[index], sizes[index]];
    if (span === undefined || size === undefined) continue;
    const { cached, bare } = after;
    const without = span.epochs * span.steps * span.forwardMs + bare;
    const withCache = (advanced: boolean) =>
      span.steps * (fillMs(request, span, size, advanced) + (span.epochs - 1) * size.movedMs) + cached;
    const pays = (advanced: boolean) => refusals[index] === null && withCache(advanced) < without;
    choices.unshift({ cached: pays(span.follows), bare: pays(false) });
    after = {
      cached: pays(span.follows) ? withCache(span.follows) : without,
      bare: pays(false) ? withCache(false) : without,
    };
  }
  let before = false;
  return spans.map((span, index) => {
    const size = sizes[index] ?? cacheSize(request, span);
    const advanced = before && span.follows;
    const used = choices[index]?.[before ? 'cached' : 'bare'] === true;
    before = used;
    const reason = used
      ? advanced
        ? sentence`the cache of the epochs before is advanced through the newly frozen layers`
        : sentence`reading replaces the forward of the frozen layers in later epochs`
      : (refusals[index] ??
        (span.epochs === 1 ? sentence`the pipelines change again after one epoch` : sentence`reading takes as long as computing`));
    return { ...size, forwardMs: span.forwardMs, used, reason, fillMs: fillMs(request, span, size, advanced) };
  });
}

function refusal({ cache }: ElasticRequest, { forwardMs }: Span, size: CacheSize | undefined, enabled: boolean): Sentence | null {
  if (forwardMs === 0) return sentence`no layer is frozen`;
  if (!enabled || !cache.enabled) return sentence`caching is switched off`;
  return (size?.diskBytes ?? 0) > cache.diskBytes ? sentence`the activations exceed host memory and disk` : null;
}
