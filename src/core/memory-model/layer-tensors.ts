import { boundaryBytes, hiddenShare, localTokens, scoreBytes, scoreCells, stackUnit, visits } from './unit-sizes';
import type { MemoryInputs } from '../domain/request';
import { elementBytes, inputBytes } from '../domain/number-formats';
import { usualKind, type LayerGroup } from '../model/layers';
import { hasAttention, normOfState, layerStateMixer, sublayers } from '../model/mixers';
import {
  attentionWidths,
  expertInput,
  layerExperts,
  expertTensorSize,
  feedForwardWidth,
  upProjections,
  type AttentionWidths,
} from '../model/parameters';
import { adapterSaved, readNorms, readsActivated } from './adapter-tensors';
import { activationCopies, isPlain, normCopyBytes, repeatsKeysAndValues } from './plain-modules';
import { runtimeProfile } from '../domain/runtime';
import { memoized } from '../records';
import { isRecomputed, keptInputs, wholeLayers, type RecomputeModule } from '../domain/recompute';
import type { LayerKind, ModelSpec, Stack } from '../domain/model';
import { attentionHeads } from '../model/stacks';
import type { WorkUnit } from '../schedules/schedule';
import { operationSavedBytes } from './op-recompute';
import { stateSaved, stateSizes, stateWorkingSet, type StateSizes } from './ssm-tensors';

/*
 * Tensors of one layer under Megatron-LM with Transformer Engine, counted one by one. See docs/model/memory.md, Saved for backward; refined
 * against all 8-GPU B200 runs.
 * 34 s b h of unfused attention with dropout is Korthikanti et al. 2022 (arXiv 2205.05198), equation 1. What a mixture of experts and
 * latent attention keep was read from Megatron-LM core 0.15:
 * `moe_layer`, `token_dispatcher` (all-to-all), `moe_utils` and `multi_latent_attention`. Tokens are taken to be balanced over the experts.
 */

/** What one stage holds, as far as counting needs it. */
export interface StageContents {
  readonly layers: number;
  readonly first: boolean;
  readonly last: boolean;
  /** Its layers by kind, in order; absent: all alike. */
  readonly groups?: readonly LayerGroup[];
  /** Of an encoder-decoder model: the encoder ends here, the decoder begins here. */
  readonly encoderEnd?: boolean;
  readonly decoderStart?: boolean;
  /** Part of the head and the loss that it has, where they are spread over stages; absent: all on the last. */
  readonly headShare?: number;
}

/** Part of the head and the loss that a stage has, 0..1. */
export function resolveHeadShare({ last, headShare }: StageContents): number {
  return headShare ?? (last ? 1 : 0);
}

/** A stage's layers by kind, in order. */
export function layerGroups(model: ModelSpec, { layers, groups }: StageContents): readonly LayerGroup[] {
  return groups ?? [{ kind: usualKind({ experts: model.experts }), layers }];
}

/** Equal for stages of the same shape. */
export function contentsKey(contents: StageContents): string {
  const { layers, first, last, groups, encoderEnd = false, decoderStart = false, headShare } = contents;
  const kinds = groups === undefined ? '' : memoized(groupsKeys, groups, () => JSON.stringify(groups));
  return [layers, first, last, encoderEnd, decoderStart, headShare, kinds].join();
}

const groupsKeys = new WeakMap<readonly LayerGroup[], string>();

/** Whether a stage has layers of one of the stacks. */
export function hasStack({ groups = [] }: StageContents, stack: Stack): boolean {
  return groups.some(({ kind }) => kind.stack === stack);
}

/** What one operation holds beyond everything saved. */
export interface WorkingSet {
  readonly name: string;
  readonly bytes: number;
}

/** How a layer keeps its activations. */
export interface ActivationPolicy {
  readonly kind: LayerKind;
  /** Recomputed whole, this many layers together, and the share of an input that each keeps. */
  readonly whole: boolean;
  readonly groupSize: number;
  readonly inputs: number;
  /** On the host. */
  readonly offloaded: boolean;
}

/** Consecutive layers of one kind that keep their activations alike. */
interface ActivationGroup extends LayerGroup, ActivationPolicy {}

/**
 * A stage's layers in order. The first ones are recomputed whole (Megatron-LM's block method) and wait on the host; layers recomputed in
 * groups share the inputs that the groups keep.
 */
export function activationGroups({ model, training }: MemoryInputs, stage: StageContents): ActivationGroup[] {
  const whole = wholeLayers(training, stage);
  const inputs = whole === 0 ? 1 : keptInputs(training, whole) / whole;
  const groupSize = Math.max(1, Math.min(training.recomputeGroup ?? 1, whole));
  const offloaded = Math.min(training.activationOffloadLayers ?? 0, stage.layers);
  const cuts = [Math.min(whole, offloaded), Math.max(whole, offloaded)];
  const runs: ActivationGroup[] = [];
  let from = 0;
  let end = 0;
  for (const { kind, layers } of layerGroups(model, stage)) {
    end += layers;
    for (const cut of [...cuts, end]) {
      const to = Math.min(cut, end);
      if (to <= from) continue;
      runs.push({ kind, layers: to - from, whole: from < whole, groupSize, inputs, offloaded: from < offloaded });
      from = to;
    }
  }
  return runs;
}

/** Saved by one layer's forward until its backward, wherever it waits. */
export function layerWaitingBytes(inputs: MemoryInputs, unit: WorkUnit, { kind, whole, inputs: kept }: ActivationPolicy): number {
  if (whole) return kept * boundaryBytes(inputs, stackUnit(inputs, unit, kind));
  return inputs.training.recompute === 'op'
    ? operationSavedBytes(inputs, unit, kind)
    : layerSavedBytes(inputs, unit, kind, (module) => isRecomputed(inputs.training, module));
}

/** Of that, what waits on the GPU. */
export function layerKeptBytes(inputs: MemoryInputs, unit: WorkUnit, policy: ActivationPolicy): number {
  return policy.offloaded ? 0 : layerWaitingBytes(inputs, unit, policy);
}

type Dropped = (module: RecomputeModule) => boolean;

export function layerSavedBytes(inputs: MemoryInputs, source: WorkUnit, kind: LayerKind, dropped: Dropped): number {
  const { model, training } = inputs;
  const unit = stackUnit(inputs, source, kind);
  const element = elementBytes(training);
  // layer input and residual; outputs of both norms, which products read; two one-byte dropout masks
  const parts = sublayers(kind);
  const normed = (dropped('layernorm') ? normOfState(kind) : readNorms(training, kind)) * inputBytes(training);
  const copies = parts * normCopyBytes(inputs);
  // plain modules read what tensor-parallel ranks gather, Megatron-LM gathers it again
  const read = isPlain(inputs) ? 1 : hiddenShare(inputs);
  const hiddenSized = model.hidden * (hiddenShare(inputs) * (parts * element + copies + (training.dropout ? parts : 0)) + read * normed);
  const state = layerStateMixer(model, kind);
  const mixed = (hasAttention(kind) ? attentionSaved(inputs, kind, dropped) : 0) + (state === null ? 0 : stateSaved(inputs, state));
  const perToken = hiddenSized + mixed + feedForwardSaved(inputs, kind, dropped) + adapterSaved(inputs, kind);
  const scores = dropped('core_attn') || !hasAttention(kind) ? 0 : scoreBytes(inputs, kind, unit, unit.tokens + unit.context);
  const cross = kind.stack === 'decoder' ? crossSaved(inputs, kind, unit, source, dropped) : 0;
  const bias = model.stacks?.relativeBias?.everyLayer === true ? relativeBiasBytes(inputs, kind, unit) : 0;
  return localTokens(inputs, unit) * perToken + scores + cross + bias;
}

/**
 * Saved by attention to the encoder's output: residual, norm's output, queries, output and log-sum-exp of the target, keys and values of
 * the source. The encoder's output itself is one tensor for all layers of a stage; in a narrow format each layer keeps a copy of its own.
 */
function crossSaved(inputs: MemoryInputs, kind: LayerKind, target: WorkUnit, source: WorkUnit, dropped: Dropped): number {
  const { model, training, layout } = inputs;
  const element = elementBytes(training);
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const share = hiddenShare(inputs);
  const logSumExp = training.attention === 'flash' ? (4 * attentionHeads(model, kind).heads) / layout.tensor : 0;
  const narrow = inputBytes(training) < element ? inputBytes(training) : 0;
  const perTarget =
    model.hidden * share * (element + inputBytes(training) + (training.dropout ? 1 : 0)) +
    element * (query + output) +
    narrow * output +
    logSumExp;
  const perSource = element * (key + value) + narrow * model.hidden * share;
  const scores = dropped('core_attn') ? 0 : scoreBytes(inputs, kind, target, source.tokens);
  return localTokens(inputs, target) * perTarget + localTokens(inputs, source) * perSource + scores;
}

/** Bias of attention scores by distance, one for all sequences, as fused attention reads it. Derived, not measured. */
export function relativeBiasBytes({ model, training, layout }: MemoryInputs, kind: Pick<LayerKind, 'stack'>, { tokens }: WorkUnit): number {
  if (training.attention !== 'flash') return 0;
  return (elementBytes(training) * attentionHeads(model, kind).heads * tokens * tokens) / layout.tensor;
}

/**
 * Saved per token by attention: queries, keys and values as the kernel reads them (rotated, contiguous: the projection's own output is
 * freed), its output, which the output projection reads too (a narrow copy of its own where it computes in a narrow format), and the
 * log-sum-exp. Context parallelism by all-to-all, not round a ring, keeps the output twice, before and after the all-to-all. Latent
 * attention also keeps the compressed tensors and their norms. A gate on the output keeps the gate and the gated output.
 */
function attentionSaved(inputs: MemoryInputs, kind: LayerKind, dropped: Dropped): number {
  const { model, training, layout } = inputs;
  const element = elementBytes(training);
  const { query, key, value, output, gate } = attentionWidths(model, layout.tensor);
  const { latent } = model;
  const compressed = latent ? 2 * (latent.qRank ?? 0) + 2 * latent.kvRank + latent.ropeHeadDim : 0;
  const logSumExp = training.attention === 'flash' ? (4 * attentionHeads(model, kind).heads) / layout.tensor : 0;
  const copies = layout.context > 1 && training.contextParallelComm !== 'ring' ? 2 : 1;
  const narrow = inputBytes(training) < element ? inputBytes(training) * output : 0;
  const [keys, values] = repeatsKeysAndValues(inputs) ? [Math.max(key, query), Math.max(value, query)] : [key, value];
  const projected = latent && dropped('mla_up_proj') ? 0 : query + keys + values;
  return element * (projected + copies * output + compressed * hiddenShare(inputs) + 2 * gate) + narrow + logSumExp;
}

/**
 * Saved per token by the feed-forward networks: up projections and activation; of experts for every visit, with its permuted row, and what
 * routing keeps.
 */
function feedForwardSaved(inputs: MemoryInputs, kind: LayerKind, dropped: Dropped): number {
  const { model, training, layout } = inputs;
  const element = elementBytes(training);
  const gated = isPlain(inputs) && training.compile === true ? 3 : runtimeProfile(training).gatedWidths;
  const wide = (model.gatedMlp ? gated : 2) + activationCopies(inputs);
  const experts = layerExperts(model, kind);
  if (kind.feedForward === 'none') return 0;
  /**
   * Bytes kept for each element of a network's width: outputs of the up projections, and the activated one, which the down projection
   * reads.
   */
  const perWidth = element * (wide - 1) + (readsActivated(training, kind) ? inputBytes(training) : 0);
  if (experts === null) return dropped('mlp') ? 0 : (perWidth * feedForwardWidth(model, kind)) / layout.tensor;
  if (dropped('moe')) return 0;
  const { rows } = visits(inputs, experts.active);
  const perRoutedWidth = dropped('moe_act') ? element * (wide - 1) : perWidth;
  const routed = rows * (inputBytes(training) * expertInput(model, experts) + (perRoutedWidth * model.ffn) / expertTensorSize(layout));
  const combined = inputBytes(training) * (experts.latent ?? 0) * hiddenShare(inputs);
  const shared = dropped('shared_experts') ? 0 : (perWidth * (experts.sharedFfn ?? 0)) / layout.tensor;
  return routed + combined + shared + routingBytes * experts.count * hiddenShare(inputs);
}

/**
 * Kept per token and expert by the router: its probabilities and those of the balancing loss in fp32 (8), two one-byte masks, and the map
 * of rows to their permuted places (8).
 */
const routingBytes = 18;

/** Bytes of the tensors that operations of one layer handle, on one rank. */
export interface LayerSizes {
  /** Hidden states of all tokens of the rank, gathered over tensor-parallel ranks, and as they cross from layer to layer. */
  readonly hidden: number;
  readonly boundary: number;
  /** As `hidden` where sequence parallelism makes gathering necessary, else 0: the tensor exists anyway. */
  readonly gathered: number;
  /** What experts get of the hidden states once per visit, as sent and as they get it; null for a dense layer. */
  readonly experts: { readonly sent: number; readonly rows: number } | null;
  /** Input of the second feed-forward matrix, of the experts where there are any, and output of the first (both up projections). */
  readonly activated: number;
  readonly up: number;
  readonly attention: AttentionWidths;
  /** Gradients of unfused attention's scores. */
  readonly scores: number;
  /** The same of attention to the encoder's output, and that output gathered over tensor-parallel ranks; null where there is none. */
  readonly cross: { readonly attention: AttentionWidths; readonly scores: number; readonly source: number } | null;
  /** Null without a mixer that has a state. */
  readonly state: StateSizes | null;
}

/** Bytes of the tensors that one layer of a kind makes of a work unit on one rank, in the training precision. */
export function layerSizes(inputs: MemoryInputs, source: WorkUnit, kind: LayerKind): LayerSizes {
  const { model, training, layout } = inputs;
  const unit = stackUnit(inputs, source, kind);
  const element = elementBytes(training);
  const tokens = localTokens(inputs, unit);
  const hidden = element * tokens * model.hidden;
  const experts = layerExperts(model, kind);
  const visited = experts === null ? null : visits(inputs, experts.active);
  const sent = element * tokens * expertInput(model, experts);
  const width = visited === null ? feedForwardWidth(model, kind) / layout.tensor : (visited.rows * model.ffn) / expertTensorSize(layout);
  const activated = element * tokens * width;
  const { query, key, value, output, gate } = attentionWidths(model, layout.tensor);
  const bytes = (elements: number): number => element * tokens * elements;
  const state = layerStateMixer(model, kind);
  return {
    hidden,
    boundary: boundaryBytes(inputs, unit),
    gathered: layout.tensor > 1 && training.sequenceParallel ? hidden : 0,
    experts: visited === null ? null : { sent: sent * visited.sent, rows: sent * visited.rows },
    activated,
    up: upProjections(model) * activated,
    attention: { query: bytes(query), key: bytes(key), value: bytes(value), output: bytes(output), gate: bytes(gate) },
    scores: gradientsOfScores(inputs, kind, unit, unit.tokens + unit.context),
    cross: kind.stack === 'decoder' ? crossSizes(inputs, kind, unit, source) : null,
    state: state === null ? null : stateSizes(inputs, state, tokens, unit.tokens),
  };
}

function crossSizes(inputs: MemoryInputs, kind: LayerKind, target: WorkUnit, source: WorkUnit): LayerSizes['cross'] {
  const { model, training, layout } = inputs;
  const { query, key, value, output } = attentionWidths(model, layout.tensor);
  const asking = elementBytes(training) * localTokens(inputs, target);
  const asked = elementBytes(training) * localTokens(inputs, source);
  return {
    attention: { query: asking * query, key: asked * key, value: asked * value, output: asking * output, gate: 0 },
    scores: gradientsOfScores(inputs, kind, target, source.tokens),
    source: asked * model.hidden,
  };
}

function gradientsOfScores(inputs: MemoryInputs, kind: LayerKind, unit: WorkUnit, keys: number): number {
  return inputs.training.attention === 'unfused' ? 2 * elementBytes(inputs.training) * scoreCells(inputs, kind, unit, keys) : 0;
}

/**
 * Operations of a layer that can make the peak, each with what it holds in addition to everything saved of its unit and of the layers
 * before it.
 */
export function layerWorkingSets(
  inputs: MemoryInputs,
  group: { readonly kind: LayerKind; readonly sizes: LayerSizes; readonly recreated: number },
): { forward: WorkingSet[]; backward: WorkingSet[] } {
  const { recreated } = group;
  const { boundary, gathered, experts, activated, up, attention: widths, scores, state, cross } = group.sizes;
  const { query, key, value, output, gate } = widths;
  const mixers = [
    ...(state === null ? [] : [{ name: 'state backward', bytes: recreated + stateWorkingSet(state) }]),
    ...(hasAttention(group.kind)
      ? [{ name: 'attention backward', bytes: recreated + query + key + value + output + 2 * gate + scores }]
      : []),
  ];
  if (group.kind.feedForward === 'none') return { forward: [], backward: mixers };
  if (experts === null)
    return {
      forward: [],
      backward: [
        { name: 'second feed-forward backward', bytes: recreated + gathered + activated },
        { name: 'activation backward', bytes: recreated + up + boundary },
        { name: 'first feed-forward backward', bytes: recreated + up + 2 * gathered },
        ...(cross === null ? [] : [{ name: 'cross-attention backward', bytes: recreated + crossBytes(cross) }]),
        ...mixers,
      ],
    };
  const { sent, rows } = experts;
  return {
    forward: [{ name: 'expert combination', bytes: recreated + combinationBytes(inputs, sent, rows, boundary) }],
    backward: [
      { name: 'second feed-forward backward', bytes: recreated + rows + activated },
      { name: 'activation backward', bytes: recreated + up + boundary },
      { name: 'first feed-forward backward', bytes: recreated + up + rows },
      ...(inputs.layout.expert > 1 ? [{ name: 'expert exchange backward', bytes: recreated + sent + rows }] : []),
      ...mixers,
    ],
  };
}

/**
 * Held by the backward of attention to the encoder's output in addition to what it saved: gradients of its queries, keys, values, output
 * and scores.
 */
export function crossBytes({ attention: { query, key, value, output }, scores }: NonNullable<LayerSizes['cross']>): number {
  return query + key + value + output + scores;
}

/**
 * The end of a mixture's forward, usually the peak of its stage: Megatron-LM's layer function still names the permuted rows and, with
 * expert parallelism, those received, while the experts' output, the same put back in order and, at last, the sum for every token in
 * addition to the shared experts' come into being.
 */
function combinationBytes({ layout }: MemoryInputs, sent: number, received: number, boundary: number): number {
  const named = layout.expert > 1 ? 2 * sent : sent;
  const putInOrder = named + 2 * received;
  const summed = named + (layout.expert > 1 ? 2 * sent : sent) + boundary;
  return Math.max(putInOrder, summed) + boundary;
}
