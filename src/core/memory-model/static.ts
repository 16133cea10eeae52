import { readsFrozen } from '../domain/adapter';
import { narrowWeightBytes, elementBytes } from '../domain/number-formats';
import { stateMatrixParameters, layerStateMixer } from '../model/mixers';
import {
  layerExperts,
  layerParameters,
  paddedVocab,
  rankExpertParameters,
  rankMatrixParameters,
  rankProjections,
} from '../model/parameters';
import { mtpDepths, projectionParameters } from '../model/multi-token-prediction';
import { masterBytes, traitsOfOptimizer } from '../domain/optimizer';
import { runtimeProfile } from '../domain/runtime';
import { shardedBytes } from './fsdp';
import { withFrozen } from './frozen';
import { heldBytes, layerMatrices, layerOfRank, trainedParameters, type RankParameters, type StaticBytes } from './held';
import { layerGroups, resolveHeadShare, type StageContents } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';
import { optimizerBytes, optimizerStates } from './optimizer-states';
import { deepspeedBytes, zeroStepBytes } from './zero';

/** All that is always present. */
export function totalBytes({ weights, gradients, optimizer, dummyGradients, workspaces }: StaticBytes): number {
  return weights + gradients + optimizer + dummyGradients + workspaces;
}

/** Bytes that are always present on one rank. */
export function staticBytes(inputs: MemoryInputs, stage: StageContents): StaticBytes {
  const { training } = inputs;
  const held = trainedParameters(inputs, stage);
  const count = {
    megatron: megatronBytes,
    terapipe: megatronBytes,
    nanotron: megatronBytes,
    torchtitan: shardedBytes,
    fsdp1: shardedBytes,
    ddp: replicatedBytes,
    deepspeed: deepspeedBytes,
  }[runtimeProfile(training).id];
  const trained = count(inputs, stage, held);
  const whole = training.adapter === undefined ? trained : withFrozen(inputs, stage, training.adapter, held, trained);
  const bytes = traitsOfOptimizer(training.optimizer).dropsGradients === true ? { ...whole, gradients: 0 } : whole;
  return training.offloadOptimizer === true ? { ...bytes, optimizer: 0 } : bytes;
}

/** Held by the optimizer's step in addition to static memory, bytes. */
export function optimizerStepBytes(inputs: MemoryInputs, stage: StageContents): number {
  const { id } = runtimeProfile(inputs.training);
  if (id === 'deepspeed') return zeroStepBytes(inputs, trainedParameters(inputs, stage));
  return id === 'megatron' ? megatronStepBytes(inputs, stage, trainedParameters(inputs, stage)) : 0;
}

/**
 * Main gradients in half precision are copied to fp32 for the step (`_copy_model_grads_to_main_grads`), except by the optimizer that has
 * types of its own for its moments, which takes them as they are (`--use-precision-aware-optimizer`). Then the weights that are held in FP8
 * may be made from copies of the master weights.
 */
function megatronStepBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters): number {
  const { training } = inputs;
  const { gradAccumulationFp32, precision, optimizer, offloadOptimizer, zeroStage } = training;
  if (offloadOptimizer === true || optimizer === 'none') return 0;
  const isCopied = !gradAccumulationFp32 && precision !== 'fp32' && !readsHalfGradients(training);
  const isCast = castsMasterWeights(training) && zeroStage >= 1 && training.adapter === undefined;
  return (
    (isCopied ? heldBytes(held, 4, zeroStage >= 1) : 0) +
    (isCast ? heldBytes(layerMatrices(inputs, stage, held), elementBytes(training), true) : 0)
  );
}

/**
 * Whether the optimizer reads main gradients as they are. With FP8 it does only with delayed scaling or without fp32 master weights
 * (`use_precision_aware_optimizer_no_fp8_or_ds_fp8` of megatron/core/optimizer/optimizer_config.py).
 */
function readsHalfGradients(training: MemoryInputs['training']): boolean {
  const { optimizer, optimizerStateBytes, gemmPrecision, fp8Recipe = 'delayed' } = training;
  const isAware = optimizer === 'adam-bf16' || optimizerStateBytes !== undefined;
  return isAware && (gemmPrecision !== 'fp8' || fp8Recipe === 'delayed' || masterBytes(training) !== 4);
}

/**
 * Whether all weights in FP8 are made at once from copies of their master weights in the training precision (`quantize_master_weights` of
 * Transformer Engine). An optimizer that reads half gradients writes the weights itself (`_copy_main_params_to_model_params` of
 * distrib_optimizer.py). With MXFP8 master weights go to the buffer of the gradients, as Megatron-Bridge's recipes set and Megatron-LM
 * recommends (`--reuse-grad-buf-for-mxfp8-param-ag`).
 */
function castsMasterWeights(training: MemoryInputs['training']): boolean {
  return holdsNarrowWeights(training) && training.fp8Recipe !== 'mxfp8' && !readsHalfGradients(training);
}

/** Whether the layers' weights themselves are in FP8 (`--fp8-param-gather`). */
function holdsNarrowWeights({ fp8ParamGather, gemmPrecision, zeroStage }: MemoryInputs['training']): boolean {
  return fp8ParamGather === true && gemmPrecision === 'fp8' && zeroStage < 3;
}

function megatronBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters): StaticBytes {
  const { training } = inputs;
  const element = elementBytes(training);
  return {
    weights: heldBytes(held, element, training.zeroStage >= 3) + narrowWeights(inputs, stage, element),
    gradients: heldBytes(held, training.gradAccumulationFp32 ? 4 : element, training.zeroStage >= 2),
    optimizer: optimizerBytes(inputs, stage, held, training.zeroStage >= 1),
    dummyGradients: element * distinctParameters(inputs, stage),
    workspaces: workspaceBytes(inputs, stage) + (training.zeroStage >= 3 ? 2 * element * layerOfRank(inputs, stage) : 0),
  };
}

/**
 * Copies of the layers' weights in a narrow format, along rows and along columns or one for both, which Transformer Engine keeps from the
 * first micro-batch of a step to its end (its weight workspaces); less what they take the place of, `element` bytes each, where they are
 * the weights themselves (`--fp8-param-gather`); none of frozen weights that are held as GEMMs read them. The router is not a module of it.
 */
function narrowWeights({ model, training, layout }: MemoryInputs, stage: StageContents, element: number): number {
  if (training.gemmPrecision === undefined || readsFrozen(training)) return 0;
  const matrices = layerGroups(model, stage).reduce(
    (sum, { kind, layers }) => sum + layers * (rankMatrixParameters(model, layout, kind) - layerParameters(model, kind).router),
    0,
  );
  const replaced = holdsNarrowWeights(training) ? element : 0;
  return ((training.narrowCopies ?? 2) * narrowWeightBytes(training.gemmPrecision, training.fp8Recipe) - replaced) * matrices;
}

/**
 * Weights of each distinct shape once: the experts of a layer are alike, layers of one kind too, and a router is not a module of
 * Transformer Engine.
 */
function distinctParameters({ model, layout }: MemoryInputs, stage: StageContents): number {
  const kinds = new Map(
    layerGroups(model, stage).map(({ kind, layers }) => [
      layers > 0 ? `${kind.stack ?? ''} ${kind.feedForward} ${kind.mixer ?? 'attention'}` : '',
      kind,
    ]),
  );
  kinds.delete('');
  let attention = 0;
  let states = 0;
  let networks = 0;
  let crossed = 0;
  const alike = new Set<number>();
  for (const kind of kinds.values()) {
    const { attentionOutput, compression, cross, router } = layerParameters(model, kind);
    const state = layerStateMixer(model, kind);
    const routed = rankExpertParameters(model, layout, kind);
    const ofAttention = rankProjections(model, layout.tensor, kind) + compression + attentionOutput / layout.tensor;
    const ofState = state === null ? 0 : stateMatrixParameters(model, state, layout.tensor);
    const ofCross = cross === 0 ? 0 : rankProjections(model, layout.tensor, kind);
    crossed = Math.max(crossed, ofCross);
    const crossing = cross === 0 ? 0 : ofCross + attentionOutput / layout.tensor;
    const dense = rankMatrixParameters(model, layout, kind) - router - routed - ofAttention - ofState - crossing;
    const one = (routed * layout.expert) / (layerExperts(model, kind)?.count ?? 1);
    attention = Math.max(attention, ofAttention);
    states = Math.max(states, ofState);
    for (const size of [dense, one]) alike.add(size);
  }
  for (const size of alike) networks += size;
  const head = model.vocab > 0 ? (resolveHeadShare(stage) * paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor : 0;
  const projection = stage.last && mtpDepths(model) > 0 ? projectionParameters(model) / layout.tensor : 0;
  return attention + states + crossed + networks + head + projection;
}

/**
 * 32 MiB for Transformer Engine's cuBLAS, as much for PyTorch's where a head or a router uses it, and 4 x 32 MiB for grouped GEMMs (Hopper
 * and later).
 */
const workspace = 32 * 2 ** 20;
/** Streams over which Transformer Engine spreads the GEMMs of a rank's experts. */
const groupedStreams = 4;

function workspaceBytes({ model, layout }: MemoryInputs, stage: StageContents): number {
  const routed = layerGroups(model, stage).some(({ kind, layers }) => layers > 0 && layerExperts(model, kind) !== null);
  const head = resolveHeadShare(stage) > 0 && model.vocab > 0;
  const grouped = routed && (model.experts?.count ?? 0) > layout.expert;
  return workspace * (1 + (head || routed ? 1 : 0) + (grouped ? groupedStreams : 0));
}

/**
 * PyTorch's `DistributedDataParallel`, which shards nothing. Weights are in fp32, and their copies in the training precision are kept until
 * the backward has run (autocast's cache), unless they are in 16 bits themselves. Gradients have the type of the weights, and so have the
 * buckets that they are copied into to be all-reduced (`gradient_as_bucket_view` is off by default; torch/nn/parallel/distributed.py and
 * torch/csrc/distributed/c10d/reducer.cpp of PyTorch 2.6).
 */
function replicatedBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters): StaticBytes {
  const { training, layout } = inputs;
  const element = elementBytes(training);
  const kept = training.masterWeightBytes === 0 ? element : 4;
  const copies = kept === element ? 0 : heldBytes(held, element, false);
  const buckets = layout.data * layout.context > 1 ? heldBytes(held, kept, false) : 0;
  return {
    weights: heldBytes(held, kept, false),
    gradients: heldBytes(held, kept, false),
    optimizer: optimizerStates(inputs, stage, held, false),
    dummyGradients: 0,
    workspaces: copies + buckets,
  };
}
