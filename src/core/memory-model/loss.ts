import { elementBytes } from '../domain/number-formats';
import { overlapsInPieces } from '../domain/runtime-habits';
import { mtpDepths } from '../model/multi-token-prediction';
import { feedForwardWidth, paddedVocab } from '../model/parameters';
import type { WorkUnit } from '../schedules/schedule';
import type { StageContents } from './layer-tensors';
import { unitLayers, type UnitLayer } from './unit-layers';
import { headUnit, localTokens, stackUnit } from './unit-sizes';
import type { MemoryInputs } from '../domain/request';
import { isEager, isPlain } from './plain-modules';
import { maximum } from '../numbers';

/*
 * Logits and what the cross entropy makes of them. PyTorch's own, as TorchTitan calls it (torchtitan train.py and components/loss.py;
 * torch/distributed/tensor/parallel/loss.py). See docs/model/memory.md, Saved for backward.
 */

/**
 * Bytes a logit at the head's backward. One fused kernel works in place; `torch.compile` keeps the logits and their gradient. Not fused:
 * log-softmax, its gradient and that of its input in fp32 (12), or with tensor parallelism log-softmax, the gradient at the labels, its sum
 * with the softmax, and the product (16), and 4 where the program keeps the logits; as Megatron-LM computes it, softmax and gradient in
 * addition to the logits.
 */
export function logitBytes(inputs: MemoryInputs): number {
  const { training, layout } = inputs;
  const element = elementBytes(training);
  if (!isPlain(inputs)) return training.fusedCrossEntropy ? element : element + 8;
  if (training.fusedCrossEntropy) return 2 * element;
  return (layout.tensor > 1 ? 16 : 12) + (training.keepsLogits === true ? 4 : 0);
}

/** Logits of a unit on one rank. */
function logits(inputs: MemoryInputs, unit: WorkUnit): number {
  const { model, layout } = inputs;
  return ((1 + mtpDepths(model)) * localTokens(inputs, headUnit(inputs, unit)) * paddedVocab(model.vocab, layout.tensor)) / layout.tensor;
}

/**
 * Reserved at the head's backward by free blocks, bytes: the logits in the training precision, where those in fp32 come after them, and
 * what the forward of a layer held and no longer holds. The tensors of the loss are larger than either.
 */
export function lossBlocks(inputs: MemoryInputs, stage: StageContents, unit: WorkUnit): number {
  // a pipeline keeps them
  const cast = inputs.training.fusedCrossEntropy || inputs.layout.pipeline > 1 ? 0 : elementBytes(inputs.training) * logits(inputs, unit);
  return cast + Math.max(0, maximum(unitLayers(inputs, stage, unit).alike.map((layer) => passingBytes(inputs, unit, layer))));
}

/**
 * What the feed-forward half of a layer's forward holds and does not keep: its input and its output, gathered over tensor-parallel ranks,
 * and the widths between them. Asynchronous tensor parallelism has its own buffers for the former.
 */
function passingBytes(inputs: MemoryInputs, source: WorkUnit, { kind, whole }: UnitLayer): number {
  const { model, training, layout } = inputs;
  const isMadeAgain = whole || training.recompute === 'op';
  const activated = model.gatedMlp ? (isEager(inputs) ? 3 : 2) : 1;
  const widths = isMadeAgain ? activated + Number(whole) : 0;
  const ends = overlapsInPieces(training) ? 0 : isMadeAgain ? 2 : 1;
  const elements = ends * model.hidden + (widths * feedForwardWidth(model, kind)) / layout.tensor;
  return elementBytes(training) * localTokens(inputs, stackUnit(inputs, source, kind)) * elements;
}
