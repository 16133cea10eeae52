import { elementBytes } from '../../../core/domain/number-formats';
import type { LayerKind, ModelSpec } from '../../../core/domain/model';
import { formatBytes, formatDuration, formatRate, formatTokens } from '../../../core/format';
import type { PlanRequest } from '../../../core/domain/request';
import { layerGroups, resolveHeadShare, type StageContents } from '../../../core/memory-model/layer-tensors';
import { hasAttention } from '../../../core/model/mixers';
import { maximum } from '../../../core/numbers';
import { attentionWidths, layerExperts, layerMatrixParameters, layerParameters } from '../../../core/model/parameters';
import { counted, sentence, type Sentence } from '../../../core/sentence';

/** Decoding with some sequences at once, all as long as the prompt. */
interface DecodeRow {
  readonly sequences: number;
  /** From one token of a sequence to the next, ms: at the best, usual and worst share of the bandwidth. */
  readonly tokenMs: DecodeTime;
  /** Of all sequences, at the usual share. */
  readonly tokensPerSecond: number;
}

interface DecodeTime {
  readonly low: number;
  readonly usual: number;
  readonly high: number;
}

/** What a server holds and how fast it decodes: docs/model/slicing.md, Decode. */
export interface Decode {
  /** Keys and values of one token on a GPU of the stage that has most, bytes. */
  readonly tokenBytes: number;
  /** Tokens of all sequences together whose keys and values fit; Infinity: the model keeps none, and its states are not counted. */
  readonly capacityTokens: number;
  /** The longest sequence: what fits, and the model has positions for. */
  readonly longestContext: number;
  /** For one sequence, and for as many as fit; empty: not one fits, or the model keeps no keys and values. */
  readonly rows: readonly DecodeRow[];
}

/**
 * Shares of the bandwidth of memory that decoding reaches. Of gpt-fast on A100 with 2 TB/s (its README at 0f925b5, one sequence): 0.74,
 * 0.67 and 0.57 for Llama-2-70B on 2, 4 and 8 GPUs, 0.70 and 0.35 for 7B on 1 and 8.
 */
const bandwidthShares = { best: 0.74, usual: 0.65, worst: 0.35 };

/** Bytes that a layer keeps of a token on one GPU: keys and values, or their latent, which every tensor rank has (DeepSeek-V2, 2.1.2). */
function cachedTokenBytes({ model, training, layout }: Pick<PlanRequest, 'model' | 'training' | 'layout'>, kind: LayerKind): number {
  if (!hasAttention(kind)) return 0;
  const { latent } = model;
  if (latent) return elementBytes(training) * (latent.kvRank + latent.ropeHeadDim);
  const { key, value } = attentionWidths(model, layout.tensor);
  return elementBytes(training) * (key + value);
}

/**
 * What a server of this layout holds and how long a token takes: a stage reads its weights and the keys and values of its sequences, and a
 * token goes through all stages. `request.training.sequenceLength` is the length of every sequence. @param capacityTokens as `mostTokens`
 * of `PrefillMemory`.
 */
export function decodeRates(request: PlanRequest, stages: readonly StageContents[], capacityTokens: number): Decode {
  const { model, training } = request;
  const tokens = training.sequenceLength;
  const most = Math.floor(capacityTokens / tokens);
  const counts = most === 0 || most === Infinity ? [] : [...new Set([1, most])];
  return {
    tokenBytes: mostTokenBytes(request, stages),
    capacityTokens,
    longestContext: Math.min(capacityTokens, model.maxPositions ?? Infinity),
    rows: counts.map((sequences) => decodeRow(request, stages, sequences)),
  };
}

/** Keys and values of one token on a GPU of the stage that has most, bytes. */
export function mostTokenBytes(request: PlanRequest, stages: readonly StageContents[]): number {
  return maximum(stages.map((stage) => stageTokenBytes(request, stage)));
}

function stageTokenBytes(request: PlanRequest, stage: StageContents): number {
  return layerGroups(request.model, stage).reduce((sum, { kind, layers }) => sum + layers * cachedTokenBytes(request, kind), 0);
}

/** Engines divide sequences over as many batches as there are stages, each batch on another stage. */
function decodeRow(request: PlanRequest, stages: readonly StageContents[], sequences: number): DecodeRow {
  const batch = Math.max(1, sequences / stages.length);
  const tokenMs = (share: number): number => stages.reduce((sum, stage) => sum + stageMs(request, stage, batch, share), 0);
  const usual = tokenMs(bandwidthShares.usual);
  return {
    sequences,
    tokenMs: { low: tokenMs(bandwidthShares.best), usual, high: tokenMs(bandwidthShares.worst) },
    tokensPerSecond: (1e3 * sequences) / usual,
  };
}

/** Time of a stage for one token of each sequence of a batch: that of reading, or of computing where that takes longer. */
function stageMs(request: PlanRequest, stage: StageContents, batch: number, share: number): number {
  const { model, training, layout, cluster } = request;
  const { gpu } = cluster;
  const head = resolveHeadShare(stage) * model.vocab * model.hidden;
  const groups = layerGroups(model, stage);
  const read = groups.reduce((sum, { kind, layers }) => sum + layers * readParameters(model, kind, batch), head);
  const met = groups.reduce((sum, { kind, layers }) => sum + layers * readParameters(model, kind, 1), head);
  const cached = groups.reduce((sum, { kind, layers }) => {
    const kept = Math.min(training.sequenceLength, kind.window ?? Infinity);
    return sum + layers * kept * cachedTokenBytes(request, kind);
  }, 0);
  const bytes = (elementBytes(training) * read) / layout.tensor + batch * cached;
  const readMs = (1e3 * bytes) / (gpu.memoryTBps * 1e12 * share);
  const computeMs = (1e3 * 2 * batch * met) / layout.tensor / (gpu.peakTflops[training.precision] * 1e12 * gpu.gemmEfficiency);
  return Math.max(readMs, computeMs);
}

/** Weights of a layer that a batch of tokens reads: of the experts those that any of them visits, where all are visited alike. */
function readParameters(model: ModelSpec, kind: LayerKind, batch: number): number {
  const whole = layerMatrixParameters(model, kind);
  const experts = layerExperts(model, kind);
  if (experts === null) return whole;
  const { mlpUp, mlpDown } = layerParameters(model, kind);
  return whole - (mlpUp + mlpDown) * (1 - experts.active / experts.count) ** batch;
}

/** Capacity for keys and values, and the time of a token, a sentence each. */
export function decodeTexts({ capacityTokens, longestContext, tokenBytes, rows }: Decode): Sentence[] {
  if (tokenBytes === 0) return [sentence`Decode: the model keeps no keys and values; what its states take, and their time, is not counted`];
  return [
    sentence`Decode: keys and values of ${formatTokens(capacityTokens)} fit, ${formatBytes(tokenBytes)} a token on a GPU; a sequence may have ${formatTokens(longestContext)}`,
    ...rows.map(({ sequences, tokenMs: { low, usual, high }, tokensPerSecond }) => {
      const range = `${formatDuration(usual)} (${formatDuration(low)} to ${formatDuration(high)})`;
      return sentence`  ${counted(sequences, 'sequence')} at once: ${range} a token, ${formatRate(tokensPerSecond)} tokens/s`;
    }),
  ];
}
