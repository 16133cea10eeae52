import type { LayerKind, ModelSpec } from '../domain/model';
import { sameKind, usualKind } from '../model/layers';
import { hasAttention, normOfState, layerStateMixer, sublayers } from '../model/mixers';
import { isRecomputed } from '../domain/recompute';
import { attendedKeys, attentionWidths, layerExperts, feedForwardWidth, rankMatrixParameters, upProjections } from '../model/parameters';
import { fusesGradAccumulation, runtimeProfile } from '../domain/runtime';
import { attentionHeads, stackTokens } from '../model/stacks';
import { addCross, addRelativeBias, crossCollectiveSeconds } from './cross-attention';
import { attentionProjections, tensorParallelSeconds } from './tensor-parallel';
import { adapterCollectiveSeconds, addAdapters } from './adapter-time';
import { addExperts, expertSeconds } from './expert-time';
import { exposedSeconds, allToAllSeconds, collectiveBandwidth, nodeBusBandwidth } from './collectives';
import { deviceRates, type CostInputs, type DeviceRates } from './rates';
import { addState, ssmCollectiveSeconds } from './ssm-time';
import { addBackward, addOperation, addProduct, addWeightGradient, clearTally, emptyTally, idleOnFloor, type Tally } from './tally';
import { elementBytes } from '../domain/number-formats';
import { joinedGpus } from '../domain/cluster';

/** Seconds of one layer for one slice, recompute not yet added, and how much of the device time sits on the issue floor. */
interface LayerSeconds {
  readonly forward: number;
  readonly backward: number;
  /**
   * Part of backward that only makes gradients of weights: their GEMMs and adding them up. Nothing before it in the pipeline waits for it.
   */
  readonly weight: number;
  /** Forward work that a selective recompute repeats: that of its modules; of fused attention nothing, which backward repeats by itself. */
  readonly selective: number;
  /** Seconds added by the floor l over the operations' own device time, forward and backward. */
  readonly idleOnFloor: number;
}

/**
 * Time of one layer for a slice of `tokens` tokens of each of `batch` sequences after `context` earlier ones. Operations, bytes and the
 * floor:
 * docs/model/time.md, Layer operations. Split in a part that does not depend on `context`, cached by (batch, tokens), and attention, which
 * does.
 *
 * @param kind of the layer; absent: that of most layers.
 * @returns a function of (batch, tokens, context); all >= 1 but context >= 0, integers.
 */
export function layerTime(inputs: CostInputs, kind: LayerKind = usualKind(inputs.model)): LayerTime {
  const known = layerTimes.get(inputs) ?? [];
  layerTimes.set(inputs, known);
  const same = known.find((one) => sameKind(one.kind, kind));
  if (same !== undefined) return same.time;
  const time = makeLayerTime(inputs, kind);
  known.push({ kind, time });
  return time;
}

/** Seconds of a layer for `tokens` tokens of each of `batch` sequences after `context` earlier ones; `documents` as of `SliceCost`. */
type LayerTime = (batch: number, tokens: number, context: number, documents?: readonly number[]) => LayerSeconds;

/** One function a kind of layer for the same inputs, so that what it remembers serves every stage. */
const layerTimes = new WeakMap<CostInputs, { readonly kind: LayerKind; readonly time: LayerTime }[]>();

function makeLayerTime(inputs: CostInputs, kind: LayerKind): LayerTime {
  const computed = tokenwiseTime(inputs, kind);
  // A state restarts with each sequence, and a decoder's sequences have a length of their own; all else counts tokens, whosever they are.
  const ofTokens = layerStateMixer(inputs.model, kind) === null && kind.stack !== 'decoder';
  const tokenwise = ofTokens ? cachedByTokens((tokens) => computed(1, tokens)) : cachedBySlice(computed);
  const kindAttention = attentionTime(inputs, kind);
  // Stages of a pipeline are asked for the same slice one after the other.
  let last: LastSlice = { batch: NaN, tokens: NaN, context: NaN, documents: undefined, seconds: noSeconds };
  return (batch, tokens, context, documents) => {
    if (last.batch === batch && last.tokens === tokens && last.context === context && last.documents === documents) return last.seconds;
    const base = tokenwise(batch, tokens);
    const attention = kindAttention(batch, tokens, context, documents);
    const seconds = {
      forward: base.forward + attention.forward,
      backward: base.backward + attention.backward,
      weight: base.weight,
      selective: base.selective + attention.selective,
      idleOnFloor: base.idleOnFloor + attention.idleOnFloor,
    };
    last = { batch, tokens, context, documents, seconds };
    return seconds;
  };
}

interface LastSlice {
  readonly batch: number;
  readonly tokens: number;
  readonly context: number;
  readonly documents: readonly number[] | undefined;
  readonly seconds: LayerSeconds;
}

const noSeconds: LayerSeconds = { forward: 0, backward: 0, weight: 0, selective: 0, idleOnFloor: 0 };

/** Remembers what depends on (batch, tokens) only: the solver asks for each of them at hundreds of contexts. */
export function cachedBySlice<T>(compute: (batch: number, tokens: number) => T): (batch: number, tokens: number) => T {
  // By batch and then by tokens: a key of both would be too large for a small integer, and cost more than what is remembered.
  const batches = new Map<number, Map<number, T>>();
  let of = { batch: NaN, known: new Map<number, T>() };
  return (batch, tokens) => {
    if (of.batch !== batch) {
      of = { batch, known: batches.get(batch) ?? new Map<number, T>() };
      batches.set(batch, of.known);
    }
    let value = of.known.get(tokens);
    if (value === undefined) of.known.set(tokens, (value = compute(batch, tokens)));
    return value;
  };
}

/**
 * Remembers what depends on the tokens of all sequences together: chunks of 1 to 16 sequences in slices of up to 256 lengths have a quarter
 * as many sums as sizes.
 */
export function cachedByTokens<T>(compute: (tokens: number) => T): (batch: number, tokens: number) => T {
  const known = new Map<number, T>();
  return (batch, tokens) => {
    const all = batch * tokens;
    let value = known.get(all);
    if (value === undefined) known.set(all, (value = compute(all)));
    return value;
  };
}

/** What does not depend on the context, for slices of any length: all that does not depend on the slice is worked out once. */
function tokenwiseTime(inputs: CostInputs, kind: LayerKind): (batch: number, tokens: number) => LayerSeconds {
  const { model, training, layout } = inputs;
  const rates = deviceRates(inputs);
  const { layerTraffic, floor } = rates;
  const { forwardFloors } = runtimeProfile(training);
  const h = model.hidden;
  const { query, key, value, gate } = attentionWidths(model, layout.tensor);
  const width = query + key + value;
  const attentionProducts = attentionProjections(inputs);
  const up = upProjections(model);
  const f = feedForwardWidth(model, kind) / layout.tensor;
  const experts = layerExperts(model, kind);
  const attends = hasAttention(kind);
  const state = layerStateMixer(model, kind);
  const isDense = kind.feedForward === 'dense';
  const parts = sublayers(kind);
  const norms = normOfState(kind);
  const isLatent = model.latent !== undefined && model.latent !== null;
  const sequenceShare = training.sequenceParallel ? 1 / layout.tensor : 1;
  const dropout = training.dropout ? 1 : 0;
  const repeatsNorms = isRecomputed(training, 'layernorm');
  const repeatsUp = isRecomputed(training, 'mla_up_proj');
  const repeatsMlp = isRecomputed(training, 'mlp');
  const accumulation =
    rates.frozen || fusesGradAccumulation(training) ? null : rates.moved((6 * rankMatrixParameters(model, layout, kind)) / 4);

  return (batch, tokens) => {
    const n = (batch * stackTokens(training, kind, tokens)) / layout.context;
    const cross = kind.stack === 'decoder' ? { target: n, source: (batch * tokens) / layout.context } : null;
    const sum = emptyTally(forwardFloors);
    /** Forward of the modules that are recomputed, once more. */
    let again = 0;
    let before = 0;
    const normForward = layerTraffic(4 * n * h * sequenceShare);
    const normBackward = layerTraffic(6 * n * h * sequenceShare);
    for (let i = norms; i < parts; i++) addOperation(sum, floor, normForward, normBackward);
    if (repeatsNorms) again += sum.forward - before;
    if (norms > 0) addOperation(sum, floor, normForward, normBackward);
    if (attends) {
      const { before: compressing, up: upProjected, out } = attentionProducts(n);
      for (const product of compressing) addProduct(sum, rates, product, 1, isLatent);
      before = sum.forward;
      for (const product of upProjected) addProduct(sum, rates, product, 1, false);
      if (isLatent) addOperation(sum, floor, layerTraffic(4 * n * width), layerTraffic(4 * n * width));
      if (repeatsUp) again += sum.forward - before;
      addProduct(sum, rates, out);
    }
    if (isDense) {
      before = sum.forward;
      addProduct(sum, rates, [n, up * f, h], 1, false);
      addProduct(sum, rates, [n, h, f]);
      if (repeatsMlp) again += sum.forward - before;
    }
    if (attends && !isLatent) addOperation(sum, floor, layerTraffic(4 * n * width), layerTraffic(4 * n * width));
    if (attends && gate > 0) addOperation(sum, floor, layerTraffic(6 * n * gate), layerTraffic(10 * n * gate));
    if (state !== null) addState(sum, inputs, rates, state, n, tokens);
    for (let i = 0; i < parts; i++)
      addOperation(sum, floor, layerTraffic((6 + dropout) * n * h * sequenceShare), layerTraffic((4 + dropout) * n * h * sequenceShare));
    if (isDense) {
      before = sum.forward;
      addOperation(sum, floor, layerTraffic((model.gatedMlp ? 6 : 4) * n * f), layerTraffic((model.gatedMlp ? 10 : 6) * n * f));
      if (repeatsMlp) again += sum.forward - before;
    }
    if (experts !== null)
      addExperts(sum, inputs, rates, n, experts, (modules, add) => {
        before = sum.forward;
        add();
        if (modules.some((module) => isRecomputed(training, module))) again += sum.forward - before;
      });
    if (cross !== null) addCross(sum, inputs, rates, cross);
    addAdapters(sum, inputs, rates, n, kind);
    if (accumulation !== null) for (let i = 0; i < 4; i++) addWeightGradient(sum, floor, accumulation);

    const communication = collectiveSeconds(inputs, n, kind, sum);
    const crossing = cross === null ? { forward: 0, backward: 0 } : crossCollectiveSeconds(inputs, cross);
    const adapted = adapterCollectiveSeconds(inputs, n, kind);
    return {
      forward: sum.forward + communication.forward + crossing.forward + adapted,
      backward: sum.backward + communication.backward + crossing.backward + adapted,
      weight: sum.weight,
      // of tensor parallelism it gathers again, and keeps what was scattered
      selective: training.recompute === 'op' ? opSeconds(inputs, rates, kind, n, sum) + communication.forward / 2 : again,
      idleOnFloor: idleOnFloor(sum),
    };
  };
}

/**
 * Forward that TorchTitan's op-level recompute repeats: every second GEMM in the order in which a layer calls them (keys, attention output,
 * the second up projection) and all that is not a GEMM; of `sum`, a layer's tokenwise operations.
 * Attention's output is kept. Source: torchtitan `_apply_op_sac`, which keeps matmuls 1, 3, 5, 7.
 */
function opSeconds({ model, layout }: CostInputs, { linear, floor }: DeviceRates, kind: LayerKind, rows: number, sum: Tally): number {
  const { key, output } = attentionWidths(model, layout.tensor);
  const f = feedForwardWidth(model, kind) / layout.tensor;
  const attention = hasAttention(kind) && !model.latent ? linear(rows, key, model.hidden) + linear(rows, model.hidden, output) : 0;
  const up = kind.feedForward === 'dense' ? linear(rows, f, model.hidden) : 0;
  return attention + up + Math.max(floor, sum.elementwise);
}

/**
 * All collectives of one layer that do not depend on the context, for `localTokens` rows of hidden states: tensor-parallel ones, those of
 * the experts and those of a state. None is overlapped, but those of experts where that is asked for: overlapped with `compute`, which is
 * that of another micro-batch.
 */
export function collectiveSeconds(
  inputs: CostInputs,
  localTokens: number,
  kind: LayerKind = usualKind(inputs.model),
  compute: { readonly forward: number; readonly backward: number } = { forward: 0, backward: 0 },
): { forward: number; backward: number } {
  const tensor = tensorParallelSeconds(inputs, localTokens, kind);
  const routed = layerExperts(inputs.model, kind);
  const state = layerStateMixer(inputs.model, kind);
  const experts = routed === null ? 0 : expertSeconds(inputs, routed, localTokens);
  const hidden = inputs.training.overlapExpertComm === true;
  const others =
    (hidden ? exposedSeconds(2 * experts, compute.forward + compute.backward) / 2 : experts) +
    (state === null ? 0 : ssmCollectiveSeconds(inputs, state, localTokens));
  return { forward: tensor.forward + others, backward: tensor.backward + others };
}

/** @returns a function whose answer holds until its next call. */
function attentionTime(inputs: CostInputs, kind: LayerKind): LayerTime {
  const { model, training, layout } = inputs;
  if (!hasAttention(kind)) return () => noSeconds;
  const rates = deviceRates(inputs);
  const { scores: headProducts, traffic, moved, fused, floor } = rates;
  const { softmaxBytes, forwardFloors, cachePasses } = runtimeProfile(training);
  const { key, value } = attentionWidths(model, layout.tensor);
  const { heads, headDim } = attentionHeads(model, kind);
  const [scored, summed] = model.latent ? headSizes(model) : [headDim, headDim];
  const exchange = layout.context === 1 ? () => 0 : cachedByTokens((tokens) => contextParallelSeconds(inputs, tokens / layout.context));
  const isRepeated = repeatsScores(training);
  /** Adds the scores of `ofSequence` tokens for `keys` tokens, of `pairs` pairs, for `headBatches` heads of sequences. */
  const addScores = (sum: Tally, headBatches: number, ofSequence: number, keys: number, pairs: number): void => {
    if (training.attention === 'flash') {
      const seconds = fused((2 * headBatches * (scored + summed) * pairs) / layout.context);
      addOperation(sum, floor, seconds, 2.5 * seconds);
      return;
    }
    const queries = ofSequence / layout.context;
    const scores = headProducts(queries, keys, scored, headBatches, scored);
    const sums = summed === scored ? scores : headProducts(queries, keys, summed, headBatches, summed);
    const cells = headBatches * queries * keys;
    // backward GEMMs have the same sizes, cube root and matrices included
    addOperation(sum, floor, scores, scores, scores);
    addOperation(sum, floor, sums, sums, sums);
    if (softmaxBytes === undefined) addOperation(sum, floor, traffic(4 * cells), traffic(6 * cells));
    else addOperation(sum, floor, moved(softmaxBytes.forward * cells), moved(softmaxBytes.backward * cells));
    if (training.dropout) addOperation(sum, floor, traffic(5 * cells), traffic(5 * cells));
  };
  // A solver asks for a hundred thousand slices: one tally and one answer serve them all.
  const sum = emptyTally(forwardFloors);
  const answer = { forward: 0, backward: 0, weight: 0, selective: 0, idleOnFloor: 0 };
  return (batch, tokens, context, documents) => {
    const headBatches = (batch * heads) / layout.tensor;
    const own = stackTokens(training, kind, tokens);
    clearTally(sum);
    const pairs =
      documents !== undefined
        ? documents.reduce((all, length) => all + attendedKeys(length, 0, kind.window), 0)
        : kind.stack === 'encoder'
          ? own * own
          : attendedKeys(own, context, kind.window);
    addScores(sum, headBatches, own, own + context, pairs);
    if (model.stacks?.relativeBias !== undefined) addRelativeBias(sum, inputs, rates, kind, own);
    if (kind.stack === 'decoder') addScores(sum, headBatches, own, tokens, own * tokens);
    if (cachePasses !== undefined)
      for (const width of [key, value]) addBackward(sum, floor, moved(2 * cachePasses * batch * training.sequenceLength * width));
    const exchanged = exchange(batch, tokens);
    // a ring's keys and values travel during the attention of those already received; their gradients too, in backward
    const ring = training.contextParallelComm === 'ring';
    const forward = sum.forward + (ring ? Math.max(0, exchanged - sum.forward) : exchanged);
    answer.forward = forward;
    answer.backward = sum.backward + (ring ? Math.max(0, 2 * exchanged - sum.backward) : exchanged);
    answer.selective = isRepeated ? forward : 0;
    answer.idleOnFloor = idleOnFloor(sum);
    return answer;
  };
}

/**
 * Whether attention runs again before its backward. Megatron-LM and Transformer Engine checkpoint it whatever computes it
 * (`_checkpointed_attention_forward`), exchanges between ranks of a context included; what TorchTitan recomputes selectively leaves fused
 * attention out (its `op` option saves the output).
 */
function repeatsScores(training: CostInputs['training']): boolean {
  return isRecomputed(training, 'core_attn') && (training.attention === 'unfused' || runtimeProfile(training).id !== 'torchtitan');
}

/** Elements of a head over which scores are summed, and of the values it sums. */
export function headSizes({ latent, headDim }: ModelSpec): readonly [number, number] {
  return latent ? [latent.nopeHeadDim + latent.ropeHeadDim, latent.vHeadDim] : [headDim, headDim];
}

/**
 * Context parallelism by all-to-all of q, k, v and the output (heads for tokens), or round a ring, which every rank's keys and values go;
 * one pass. A group that leaves the GPUs that a node or NVLink joins runs at the network's speed, which the GPUs of a node share.
 */
function contextParallelSeconds({ model, training, layout, cluster }: CostInputs, localTokens: number): number {
  const ranks = layout.context;
  if (ranks <= 1) return 0;
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const element = elementBytes(training);
  if (training.contextParallelComm === 'ring') {
    const bandwidth =
      layout.tensor * ranks <= joinedGpus(cluster)
        ? nodeBusBandwidth(cluster.links, 2)
        : collectiveBandwidth(cluster) / cluster.gpusPerNode;
    return ((ranks - 1) * element * localTokens * (key + value)) / bandwidth;
  }
  const bytes = element * localTokens * (query + key + value + output);
  if (layout.tensor * ranks > joinedGpus(cluster)) return allToAllSeconds(bytes, ranks, layout.tensor, cluster);
  return ((ranks - 1) / ranks) * (bytes / nodeBusBandwidth(cluster.links, ranks));
}
