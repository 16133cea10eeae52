import { layerGroups, sumOverGroups, usualKind } from './layers';
import { hasAttention, stateFlops, stateMatrixParameters, layerStateMixer, stateOtherParameters, sublayers } from './mixers';
import { embeddingNormParameters, finalNormParameters, normParameters } from './norms';
import type { Experts, LatentAttention, LayerKind, ModelSpec } from '../domain/model';
import type { TrainingSpec } from '../domain/request';
import { isFsdp, runtimeProfile } from '../domain/runtime';
import { relativeBiasParameters, stackParameters } from './stacks';

/** Weights of one layer by matrix, whole (not divided by tensor parallelism), in elements. */
interface LayerParameters {
  /** Projections to queries, keys and values whose columns tensor parallelism divides. */
  readonly qkv: number;
  /** Projections that compress queries, keys and values (latent attention), or what experts get: each tensor-parallel rank has all. */
  readonly compression: number;
  readonly attentionOutput: number;
  /** All four of the attention to the encoder's output; 0 but in a decoder that has one. */
  readonly cross: number;
  /** Matrices of a mixer with a state; 0 without one. */
  readonly state: number;
  /** Of all experts together. */
  readonly mlpUp: number;
  readonly mlpDown: number;
  /** Both matrices of the shared experts. */
  readonly shared: number;
  /** Matrix that scores the experts; 0 in a dense layer. Every tensor-parallel rank has it whole. */
  readonly router: number;
  /** Norm weights and all biases: replicated or negligible under tensor parallelism. */
  readonly normsAndBiases: number;
}

/** Up projections of a feed-forward network: gate and up, or only up. */
export function upProjections({ gatedMlp }: ModelSpec): number {
  return gatedMlp ? 2 : 1;
}

/** Feed-forward width of a layer: of one expert, or of its one network; 0 without any. */
export function feedForwardWidth(model: ModelSpec, { feedForward, stack }: LayerKind): number {
  if (feedForward === 'none') return 0;
  if (stack === 'decoder') return model.stacks?.decoderFfn ?? model.ffn;
  return feedForward === 'dense' && model.experts !== null ? (model.denseFfn ?? model.ffn) : model.ffn;
}

/** Experts of a layer; null when it has none. */
export function layerExperts(model: ModelSpec, { feedForward }: LayerKind): ModelSpec['experts'] {
  return feedForward === 'experts' ? model.experts : null;
}

/** Widths of queries, keys and values of all heads after every projection, elements a token. */
export interface AttentionWidths {
  readonly query: number;
  readonly key: number;
  readonly value: number;
  /** Of the attention's output, which the output projection reads. */
  readonly output: number;
  /** Of the gate that weighs the output, projected with the queries; 0 without one. */
  readonly gate: number;
}

/**
 * What one of `tensor` ranks holds of queries, keys and values: a share, or one whole key/value head where there are more ranks than heads.
 */
export function attentionWidths(model: ModelSpec, tensor: number): AttentionWidths {
  const heads = model.heads / tensor;
  const { latent } = model;
  if (latent) {
    const query = heads * (latent.nopeHeadDim + latent.ropeHeadDim);
    return { query, key: query, value: heads * latent.vHeadDim, output: heads * latent.vHeadDim, gate: 0 };
  }
  const query = heads * model.headDim;
  const key = keyValueHeadsPerRank(model, tensor) * model.headDim;
  return { query, key, value: key, output: query, gate: model.outputGate === true ? query : 0 };
}

/** Width of what an expert, or the one network of a dense layer, gets and gives. */
export function expertInput({ hidden }: ModelSpec, experts: Experts | null): number {
  return experts?.latent ?? hidden;
}

/** Parameters of one layer. Source: the weight shapes of the HuggingFace implementations of each family. */
export function layerParameters(model: ModelSpec, kind: LayerKind = usualKind(model)): LayerParameters {
  const { hidden } = model;
  const ffn = feedForwardWidth(model, kind);
  const experts = layerExperts(model, kind);
  const { query, key, value, output, gate } = attentionWidths(model, 1);
  const up = upProjections(model);
  const networks = kind.feedForward === 'none' ? 0 : (experts?.count ?? 1);
  const input = expertInput(model, experts);
  const attends = hasAttention(kind);
  const attentions = kind.stack === 'decoder' ? 2 : 1;
  const keyBias = model.stacks?.keyBias === false ? 0 : key;
  const state = layerStateMixer(model, kind);
  const biases =
    attentions * (model.qkvBias && attends ? query + keyBias + value + gate : 0) +
    attentions * (model.attentionOutputBias && attends ? hidden : 0) +
    (model.mlpBias ? networks * (up * ffn + input) : 0) +
    (experts?.routerBias === true ? experts.count : 0);
  return {
    qkv: !attends ? 0 : model.latent ? latentUp(model, model.latent) : hidden * (query + key + value + gate),
    compression: (attends && model.latent ? latentDown(model, model.latent) : 0) + 2 * hidden * (experts?.latent ?? 0),
    attentionOutput: attends ? output * hidden : 0,
    state: state === null ? 0 : stateMatrixParameters(model, state, 1),
    cross: attentions === 2 ? hidden * (query + key + value + output) : 0,
    mlpUp: networks * input * up * ffn,
    mlpDown: networks * ffn * input,
    shared: (up + 1) * hidden * (experts?.sharedFfn ?? 0),
    router: experts === null ? 0 : hidden * (experts.count + (experts.sharedGate === true ? 1 : 0)),
    normsAndBiases:
      layerNorms(model, kind) +
      biases +
      (model.attentionSinks === true && attends ? model.heads : 0) +
      (state === null ? 0 : stateOtherParameters(model, state)) +
      smallParameters(model, kind) +
      (model.stacks?.relativeBias?.everyLayer === true ? relativeBiasParameters(model, kind) : 0),
  };
}

function smallParameters(model: ModelSpec, kind: LayerKind): number {
  const { layer = 0, attention = 0, experts = 0 } = model.smallParameters ?? {};
  return layer + (hasAttention(kind) ? attention : 0) + (layerExperts(model, kind) === null ? 0 : experts);
}

function latentUp({ hidden, heads }: ModelSpec, { qRank, kvRank, nopeHeadDim, ropeHeadDim, vHeadDim }: LatentAttention): number {
  return (qRank ?? hidden) * heads * (nopeHeadDim + ropeHeadDim) + kvRank * heads * (nopeHeadDim + vHeadDim);
}

function latentDown({ hidden }: ModelSpec, { qRank, kvRank, ropeHeadDim }: LatentAttention): number {
  return hidden * ((qRank ?? 0) + kvRank + ropeHeadDim);
}

function layerNorms(model: ModelSpec, kind: LayerKind): number {
  const { latent } = model;
  const perNorm = model.hidden * normParameters(model);
  const qk = model.qkNormAcrossHeads === true ? (model.heads + model.kvHeads) * model.headDim : 2 * model.headDim;
  const ofAttention = (model.qkNorm ? qk : 0) + (latent ? (latent.qRank ?? 0) + latent.kvRank : 0);
  return ((model.normsPerLayer ?? sublayers(kind)) + (kind.stack === 'decoder' ? 1 : 0)) * perNorm + (hasAttention(kind) ? ofAttention : 0);
}

/** GEMM weights of one layer: everything but norms and biases. */
export function layerMatrixParameters(model: ModelSpec, kind: LayerKind = usualKind(model)): number {
  const { qkv, compression, attentionOutput, cross, state, mlpUp, mlpDown, shared, router } = layerParameters(model, kind);
  return qkv + compression + attentionOutput + cross + state + mlpUp + mlpDown + shared + router;
}

/** GEMM weights of one layer that one token meets: all but the experts it does not visit. */
export function activeMatrixParameters(model: ModelSpec, kind: LayerKind): number {
  const whole = layerMatrixParameters(model, kind);
  const experts = layerExperts(model, kind);
  if (experts === null) return whole;
  const { mlpUp, mlpDown } = layerParameters(model, kind);
  return whole - ((mlpUp + mlpDown) * (experts.count - experts.active)) / experts.count;
}

/** Key/value heads that one rank holds: a share, or one whole head where tensor parallelism has more ranks than there are heads. */
export function keyValueHeadsPerRank({ kvHeads }: ModelSpec, tensor: number): number {
  return Math.max(1, kvHeads / tensor);
}

/**
 * Over how many ranks a layer is divided: its matrices by `tensor`, its experts by `expert` and each of them by `expertTensor` (absent:
 * `tensor`).
 */
export interface LayerDivision {
  readonly tensor: number;
  readonly expert: number;
  readonly expertTensor?: number;
}

/** Ranks that share one expert. */
export function expertTensorSize({ tensor, expertTensor }: LayerDivision): number {
  return expertTensor ?? tensor;
}

/** GEMM weights of one layer on one rank, its share of the experts included. */
export function rankMatrixParameters(model: ModelSpec, division: LayerDivision, kind: LayerKind = usualKind(model)): number {
  const { tensor } = division;
  const { compression, attentionOutput, cross, mlpUp, mlpDown, shared, router } = layerParameters(model, kind);
  const state = layerStateMixer(model, kind);
  const dense = layerExperts(model, kind) === null ? mlpUp + mlpDown : 0;
  const mixer = rankProjections(model, tensor, kind) + (state === null ? 0 : stateMatrixParameters(model, state, tensor));
  const crossing = cross === 0 ? 0 : rankProjections(model, tensor, kind) + attentionOutput / tensor;
  return (
    mixer + crossing + compression + (attentionOutput + shared + dense) / tensor + router + rankExpertParameters(model, division, kind)
  );
}

/** The projections to queries, keys, values and the output's gate of one of `tensor` ranks; 0 for a layer that does not attend. */
export function rankProjections(model: ModelSpec, tensor: number, kind: LayerKind): number {
  if (!hasAttention(kind)) return 0;
  const { query, key, value, gate } = attentionWidths(model, tensor);
  return model.latent ? layerParameters(model, kind).qkv / tensor : model.hidden * (query + key + value + gate);
}

/** The part of `rankMatrixParameters` that lies in experts: only every `expert`-th replica has the same ones. 0 for a dense layer. */
export function rankExpertParameters(model: ModelSpec, division: LayerDivision, kind: LayerKind = usualKind(model)): number {
  if (layerExperts(model, kind) === null) return 0;
  const { mlpUp, mlpDown } = layerParameters(model, kind);
  return (mlpUp + mlpDown) / division.expert / expertTensorSize(division);
}

/** Ranks that hold the same experts, of `data` x `context` replicas of `tensor` ranks each. */
export function expertReplicas(division: LayerDivision & { readonly data: number; readonly context: number }): number {
  const { tensor, data, context, expert } = division;
  return Math.max(1, (tensor * data * context) / expert / expertTensorSize(division));
}

/** Ranks over which the same parameters are sharded: all that hold them, or those of one group of HSDP. */
export function shardRanks(ranks: number, { dataReplicate = 1 }: Pick<TrainingSpec, 'dataReplicate'>): number {
  return Math.max(1, ranks / dataReplicate);
}

/**
 * Whether ranks update whole tensors (`optimizerShards`), which only ZeRO 1 leaves room for: stages 2 and 3 and FSDP cut gradients or
 * weights, too, and their shards are even.
 */
export function updatesWholeTensors(training: Pick<TrainingSpec, 'optimizerShards' | 'zeroStage' | 'runtime'>): boolean {
  return training.optimizerShards === 'tensors' && training.zeroStage === 1 && !isFsdp(training);
}

/**
 * How many shares of the size of the fullest rank's make up `parameters`: the ranks of a group, or fewer where ranks update whole tensors,
 * as the fullest then has at least the largest one.
 * @param part its `parameters`, the `ranks` that hold the same ones, and the elements of its `largest` tensor
 */
export function fullestShards(
  training: Pick<TrainingSpec, 'dataReplicate' | 'optimizerShards' | 'zeroStage' | 'runtime'>,
  part: { readonly parameters: number; readonly ranks: number; readonly largest: number },
): number {
  const { parameters, ranks, largest } = part;
  const shards = shardRanks(ranks, training);
  if (largest === 0 || !updatesWholeTensors(training)) return shards;
  return Math.max(1, Math.min(shards, parameters / largest));
}

/**
 * Ranks whose number the groups of HSDP divide: the replicas of FSDP, which are groups x shards, and of Megatron-LM those of context
 * parallelism with them, and with experts those that hold the same ones (`num_distributed_optimizer_instances` in
 * `initialize_model_parallel` of megatron/core/parallel_state.py, core 0.13).
 */
export function groupedRanks(
  { experts }: Pick<ModelSpec, 'experts'>,
  training: Pick<TrainingSpec, 'runtime'>,
  layout: LayerDivision & { readonly data: number; readonly context: number },
): readonly number[] {
  if (runtimeProfile(training).id !== 'megatron') return [layout.data];
  return [layout.data * layout.context, ...(experts === null ? [] : [expertReplicas(layout)])];
}

/** Whether the replicas of a layout divide into the groups of HSDP; see `groupedRanks`. */
export function dividesIntoGroups(
  model: Pick<ModelSpec, 'experts'>,
  training: Pick<TrainingSpec, 'runtime' | 'dataReplicate'>,
  layout: LayerDivision & { readonly data: number; readonly context: number },
): boolean {
  const { dataReplicate = 1 } = training;
  return dataReplicate === 1 || groupedRanks(model, training, layout).every((ranks) => ranks % dataReplicate === 0);
}

/** Token embedding plus learned positions, elements. */
export function embeddingParameters(model: ModelSpec): number {
  if (model.vocab === 0) return 0;
  const positions = model.positions === 'learned' && model.maxPositions !== null ? model.maxPositions + (model.unusedPositions ?? 0) : 0;
  return (model.vocab + positions) * model.hidden;
}

/**
 * All parameters, tied embeddings counted once; equals what the HuggingFace class reports, tables of sinusoids with them where it counts
 * them (Marian, Pegasus, the encoder of Whisper), though they are not learned.
 */
export function parameterCount(model: ModelSpec): number {
  const layers = sumOverGroups(
    layerGroups(model),
    (kind) => layerMatrixParameters(model, kind) + layerParameters(model, kind).normsAndBiases,
  );
  const head = model.vocab === 0 || model.tiedEmbeddings ? 0 : model.vocab * model.hidden;
  const bias = model.headBias === true ? model.vocab : 0;
  const norms = finalNormParameters(model) + embeddingNormParameters(model);
  const ofStacks =
    model.stacks === undefined ? 0 : finalNormParameters(model) + stackParameters(model, 'encoder') + stackParameters(model, 'decoder');
  return layers + norms + embeddingParameters(model) + head + bias + ofStacks + (model.smallParameters?.model ?? 0);
}

/**
 * Vocabulary padded for even kernels: to a multiple of 128 (Megatron-LM's `--make-vocab-size-divisible-by` default, and what the measured
 * B200 runs used) that the tensor parallel size divides. Megatron-LM itself may pad further, to 128 times that size: under 0.3 % of a 100 k
 * vocabulary.
 */
export function paddedVocab(vocab: number, tensor: number): number {
  const multiple = 128 % tensor === 0 ? 128 : 128 * tensor;
  return Math.ceil(vocab / multiple) * multiple;
}

/**
 * FLOPs the model needs for one sequence, forward and backward, no recompute: 6 per GEMM weight that a token meets (of the experts, the
 * active ones) and token plus attention scores and context over the causal half, or the window (PaLM appendix B, with the causal half:
 * docs/model/time.md, Throughput and MFU), and three times what a state takes forward; of the depths that predict further tokens their
 * layer, projection and head.
 */
export function modelFlopsPerSequence(model: ModelSpec, sequenceLength: number): number {
  const { query, output } = attentionWidths(model, 1);
  const mtp = { kind: model.layerKinds?.at(-1) ?? usualKind(model), layers: model.mtpLayers ?? 0 };
  const perToken = sumOverGroups([...layerGroups(model), mtp], (kind) => {
    const keys = hasAttention(kind) ? attendedKeys(sequenceLength, 0, kind.window) / sequenceLength : 0;
    const state = layerStateMixer(model, kind);
    const scan = state === null ? 0 : 3 * stateFlops(state);
    return 6 * activeMatrixParameters(model, kind) + 6 * (query + output) * keys + scan;
  });
  const depths = model.mtpLayers ?? 0;
  return sequenceLength * (perToken + 6 * (1 + depths) * model.vocab * model.hidden + 12 * depths * model.hidden ** 2);
}

/**
 * Keys that `tokens` tokens after `context` earlier ones attend to, all tokens together: the causal half of their own (tokens^2 / 2, the
 * diagonal left out as everywhere here) and all earlier ones, at most `window` each.
 */
export function attendedKeys(tokens: number, context: number, window: number | null): number {
  const whole = tokens * (context + tokens / 2);
  if (window === null || context + tokens <= window) return whole;
  const growing = Math.max(0, window - context);
  return growing * (context + growing / 2) + (tokens - growing) * window;
}
