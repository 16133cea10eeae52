import { adaptedProducts } from '../model/adapters';
import { frozenBytes, readsFrozen, type Adapter } from '../domain/adapter';
import { elementBytes } from '../domain/number-formats';
import { isFsdp } from '../domain/runtime';
import { keepsGathered } from './fsdp';
import { heldBytes, heldParameters, layerOfRank, layerMatrices, trainedParameters, type RankParameters, type StaticBytes } from './held';
import { layerGroups, type StageContents } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';
import { gatheredAtOnce } from './zero';
import { maximum } from '../numbers';

/*
 * Weights that are frozen under adapters: no gradients, no optimizer states, no master copy. See docs/model/memory.md, Adapters.
 */

/**
 * What is always present on a rank that trains adapters: for what it trains as the runtime keeps it, and the frozen weights in the bytes
 * that they are held in, sharded as the runtime shards weights.
 * @param trained of `held`, as without frozen weights.
 */
export function withFrozen(
  inputs: MemoryInputs,
  stage: StageContents,
  adapter: Adapter,
  held: RankParameters,
  trained: StaticBytes,
): StaticBytes {
  const { training } = inputs;
  const all = heldParameters(inputs, stage);
  // What is quantised of a stage: embedding, head, router, norms and biases stay as they are.
  const matrices = layerMatrices(inputs, stage, all);
  const element = elementBytes(training);
  const isSharded = training.zeroStage >= 3 || isFsdp(training);
  const bytes = (sharded: boolean): number =>
    heldBytes(all, element, sharded) - heldBytes(matrices, element - frozenBytes(adapter, element), sharded);
  return {
    ...trained,
    weights: trained.weights + bytes(isSharded),
    optimizer: trained.optimizer + importanceBytes(inputs, stage, adapter, (of) => heldBytes(of, 1, isSharded), trained.weights),
    dummyGradients: 0,
    workspaces:
      trained.workspaces +
      gatheredBytes(inputs, stage, adapter, held, all) +
      unpackedBytes(inputs, stage, adapter) +
      normedBytes(inputs, stage, adapter),
  };
}

/**
 * Importance of each parameter of AdaLoRA's adapters, its average and that of its uncertainty, as the parameters are held (`RankAllocator`
 * of peft); not of what is saved whole.
 */
function importanceBytes(
  inputs: MemoryInputs,
  stage: StageContents,
  { saved = [], ...adapter }: Adapter,
  size: (parameters: RankParameters) => number,
  trainedWeights: number,
): number {
  const all = adapter.adaptive === true ? size(trainedParameters(inputs, stage)) : 0;
  if (all === 0) return 0;
  const own = saved.length === 0 ? all : size(trainedParameters({ ...inputs, training: { ...inputs.training, adapter } }, stage));
  return (3 * trainedWeights * own) / all;
}

/** Frozen weights that are gathered for the layers in use, in the bytes that they are held in, in addition to the trained. */
function gatheredBytes(inputs: MemoryInputs, stage: StageContents, adapter: Adapter, held: RankParameters, all: RankParameters): number {
  const { training } = inputs;
  const element = elementBytes(training);
  const less = element - frozenBytes(adapter, element);
  if (training.runtime === 'deepspeed')
    return training.zeroStage < 3 ? 0 : element * (gatheredAtOnce(all) - gatheredAtOnce(held)) - less * layerOfRank(inputs, stage);
  if (all.shards === 1 || !isFsdp(training)) return 0;
  return keepsGathered(inputs)
    ? heldBytes(all, element, false) - heldBytes(layerMatrices(inputs, stage, all), less, false)
    : -less * layerOfRank(inputs, stage);
}

/** The largest quantised matrix of a layer, made in the training precision for its product (`dequantize_4bit` of bitsandbytes). */
function unpackedBytes(inputs: MemoryInputs, stage: StageContents, adapter: Adapter): number {
  if (adapter.baseBits === undefined || readsFrozen(inputs.training)) return 0;
  return elementBytes(inputs.training) * largestMatrix(inputs, stage, quantisedTargets);
}

/**
 * An identity as wide as an adapter's input, the product of its low-rank matrices with it, scaled, and its sum with the frozen matrix,
 * which is normed: of the adapter where they are largest.
 */
function normedBytes(inputs: MemoryInputs, stage: StageContents, { decomposed, targets }: Adapter): number {
  const elements = ({ inner, columns }: MatrixSizes): number => inner * inner + 3 * inner * columns;
  return decomposed === true ? elementBytes(inputs.training) * largestMatrix(inputs, stage, targets, elements) : 0;
}

const quantisedTargets: Adapter['targets'] = ['query', 'queryUp', 'keyValueUp', 'output', 'up', 'down', 'stateInput'];

type MatrixSizes = Pick<ReturnType<typeof adaptedProducts>[number], 'inner' | 'columns'>;

/** Elements of the largest of these matrices that a layer of the stage has on one rank, or what else is counted of each. */
function largestMatrix(
  { model, layout }: MemoryInputs,
  stage: StageContents,
  targets: Adapter['targets'],
  elements = ({ inner, columns }: MatrixSizes): number => inner * columns,
): number {
  const sizes = layerGroups(model, stage).flatMap(({ kind }) => adaptedProducts(model, { targets }, kind, layout).map(elements));
  return Math.max(0, maximum(sizes));
}
