import { frozenBytes, isTrained, type Adapter } from '../domain/adapter';
import { elementBytes } from '../domain/number-formats';
import { isFsdp } from '../domain/runtime';
import { adapterParameters, headAdapterParameters } from '../model/adapters';
import { paddedVocab, shardRanks } from '../model/parameters';
import { heldBytes, layerOfRank, type RankParameters, type StaticBytes } from './held';
import { layerGroups, type StageContents } from './layer-tensors';
import { hiddenShare } from './unit-sizes';
import type { MemoryInputs } from '../domain/request';
import { optimizerStates } from './optimizer-states';
import { maximum } from '../numbers';

/*
 * PyTorch's fully sharded data parallelism: FSDP2 as TorchTitan applies it (torchtitan/parallelisms/parallelize_llama.py at 3f20451,
 * 2024-12), and FSDP1. See docs/model/memory.md, Static memory.
 */

/**
 * Weights, gradients and states in fp32, all sharded. In the training precision are gathered a layer and, from the first forward to the end
 * of the backward, what is outside the layers: the root, which is not resharded. On a pipeline everything stays gathered and gradients add
 * up whole in fp32 until the last micro-batch (`reshard_after_forward` and `set_requires_gradient_sync` as TorchTitan sets them); under
 * FSDP1's SHARD_GRAD_OP (ZeRO 2) everything stays gathered.
 */
export function shardedBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters): StaticBytes {
  const { training, layout } = inputs;
  const element = elementBytes(training);
  // Weights in 16 bits stay so where no master weight is kept.
  const kept = training.masterWeightBytes === 0 ? element : 4;
  const gathered = keepsGathered(inputs)
    ? heldBytes(held, element, false)
    : element * (rootOfRank(inputs, stage) + layerOfRank(inputs, stage));
  const whole = layout.pipeline > 1 ? heldBytes(held, 4, false) : 0;
  return {
    weights: heldBytes(held, kept, true),
    gradients: heldBytes(held, kept, true),
    optimizer: optimizerStates(inputs, stage, held, true),
    dummyGradients: 0,
    workspaces: (held.shards === 1 ? 0 : gathered + whole) + pipelineBuffers(inputs, stage),
  };
}

/**
 * Buffers that `torch.distributed.pipelining` keeps for all micro-batches of a step, bytes: into which a chunk receives hidden states and
 * gradients (`args_recv_info` and `grad_recv_info`), and on the last stage the logits (`output_chunks`);
 * torch/distributed/pipelining/stage.py of PyTorch 2.6.
 */
function pipelineBuffers(inputs: MemoryInputs, { first, last }: StageContents): number {
  const { model, training, layout } = inputs;
  if (training.runtime !== 'torchtitan' || layout.pipeline === 1) return 0;
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  const tokens = (training.microBatch * training.sequenceLength) / layout.context;
  const received = (2 * layout.virtualStages - Number(first) - Number(last)) * model.hidden * hiddenShare(inputs);
  const logits = last ? paddedVocab(model.vocab, layout.tensor) / layout.tensor : 0;
  return microBatches * elementBytes(training) * tokens * (received + logits);
}

/** Whether weights stay gathered from their first forward to their last backward. */
export function keepsGathered({ training, layout }: MemoryInputs): boolean {
  return layout.pipeline > 1 || (training.runtime === 'fsdp1' && training.zeroStage === 2);
}

/** Whether the runtime shards parameters by FSDP, and there are ranks to shard them over. */
function isSharded({ training, layout }: MemoryInputs): boolean {
  return isFsdp(training) && shardRanks(layout.data * layout.context, training) > 1;
}

/** Parameters of a rank outside the layers that its stage has: embedding and head. */
function rootOfRank({ model, layout }: MemoryInputs, { first, last }: StageContents): number {
  const words = (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor;
  return model.tiedEmbeddings ? (first || last ? words : 0) : words * (Number(first) + Number(last));
}

/**
 * What the backward of a layer additionally holds, bytes: the layer's gradient in the training precision and in fp32 for the scatter; where
 * weights are gathered layer by layer, the next one ahead, and the head's gradient, which waits for the root's.
 */
export function layerExchangeBytes(inputs: MemoryInputs, stage: StageContents): number {
  if (!isSharded(inputs)) return 0;
  const element = elementBytes(inputs.training);
  if (inputs.training.adapter !== undefined) return frozenExchangeBytes(inputs, stage, inputs.training.adapter);
  if (inputs.layout.pipeline > 1) return (element + 4) * layerOfRank(inputs, stage);
  const head = stage.last && !inputs.model.tiedEmbeddings ? rootOfRank(inputs, { ...stage, first: false }) : 0;
  return (2 * element + 4) * layerOfRank(inputs, stage) + element * head;
}

/**
 * The same where weights are frozen: the next layer gathered ahead, and only the gradients of adapters, of a layer and of the head, or of
 * the whole head where that is trained.
 */
function frozenExchangeBytes(inputs: MemoryInputs, stage: StageContents, adapter: Adapter): number {
  const { model, training, layout } = inputs;
  const ahead = layout.pipeline > 1 ? 0 : frozenBytes(adapter, elementBytes(training)) * layerOfRank(inputs, stage);
  const adapted = layerGroups(model, stage).map(({ kind }) => {
    const { shared, experts } = adapterParameters(model, adapter, kind, layout);
    return shared + experts;
  });
  const words = isTrained(training, 'head') && !model.tiedEmbeddings ? rootOfRank(inputs, { ...stage, first: false }) : 0;
  const head = layout.pipeline > 1 || !stage.last ? 0 : words + headAdapterParameters(model, adapter) / layout.tensor;
  return ahead + (elementBytes(training) + 4) * Math.max(0, maximum(adapted)) + elementBytes(training) * head;
}

/**
 * At the end of the backward, bytes: gradients of the root in the training precision, and in fp32 for the scatter; 0 where the root is not
 * sharded.
 */
export function rootExchangeBytes(inputs: MemoryInputs, stage: StageContents): number {
  if (!isSharded(inputs) || inputs.layout.pipeline > 1) return 0;
  return (elementBytes(inputs.training) + 4) * rootOfRank(inputs, stage);
}

/** What FSDP's own streams reserve and nobody else can use, bytes: the buffers into which root and layer are gathered. */
export function gatherBuffers(inputs: MemoryInputs, stage: StageContents): number {
  return isSharded(inputs) ? elementBytes(inputs.training) * (rootOfRank(inputs, stage) + layerOfRank(inputs, stage)) : 0;
}
