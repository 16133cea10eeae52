import { adaptedProducts } from '../model/adapters';
import { layersByKind } from '../model/layers';
import { paddedVocab } from '../model/parameters';
import type { Adapter } from '../domain/adapter';
import { elementBytes } from '../domain/number-formats';
import { masterBytes, stateBytes, traitsOfOptimizer, usualRank } from '../domain/optimizer';
import { heldBytes, layerMatrices, type RankParameters } from './held';
import { layerGroups, type StageContents } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';

/** Master weights and the optimizer's states of a rank, bytes. See docs/model/memory.md, Static memory. */
export function optimizerBytes(inputs: MemoryInputs, stage: StageContents, held: RankParameters, sharded: boolean): number {
  return heldBytes(held, masterBytes(inputs.training), sharded) + optimizerStates(inputs, stage, held, sharded);
}

/** The optimizer's states without master weights, bytes: what differs by the kind of parameter is counted by kind. */
export function optimizerStates(inputs: MemoryInputs, stage: StageContents, held: RankParameters, sharded: boolean): number {
  const { training } = inputs;
  const { others, embedding, projection, keepsSquares } = traitsOfOptimizer(training.optimizer);
  const state = stateBytes(training);
  const all = heldBytes(held, state, sharded);
  // Adapters are small matrices, all alike.
  if (training.adapter !== undefined || training.optimizerStateBytes !== undefined) return all;
  if (others !== undefined) return all + (others - state) * heldElements(without(held, layerMatrices(inputs, stage, held)), sharded);
  if (embedding !== undefined) return all + (embedding - state) * heldElements(wordEmbedding(inputs, stage, held), sharded);
  if (projection !== undefined) return all + projectedBytes(inputs, stage, state, projection === 'kept') / (sharded ? held.shards : 1);
  return keepsSquares === true ? all + squareBytes(inputs, stage) / (sharded ? held.shards : 1) : all;
}

function heldElements(held: RankParameters, sharded: boolean): number {
  return heldBytes(held, 1, sharded);
}

function without(held: RankParameters, part: RankParameters): RankParameters {
  return { ...held, shared: held.shared - part.shared, experts: held.experts - part.experts };
}

/** The word embedding, as far as a rank of the stage has it. */
function wordEmbedding({ model, layout }: MemoryInputs, { first }: StageContents, held: RankParameters): RankParameters {
  return { ...held, shared: first ? (paddedVocab(model.vocab, layout.tensor) * model.hidden) / layout.tensor : 0, experts: 0 };
}

/** The two sides of each dense matrix that a rank of the stage has. */
function matrixSides(
  { model, layout }: MemoryInputs,
  stage: StageContents,
): { readonly short: number; readonly long: number; layers: number }[] {
  const targets: Adapter['targets'] = [...attentionMatrices, 'gate', 'up', 'down'];
  return layersByKind(layerGroups(model, stage)).flatMap(({ kind, layers }) =>
    adaptedProducts(model, { targets }, kind, layout)
      .filter(({ of }) => of === 'layer')
      .map(({ inner, columns }) => ({ short: Math.min(inner, columns), long: Math.max(inner, columns), layers })),
  );
}

const attentionMatrices = ['query', 'key', 'value', 'queryDown', 'queryUp', 'keyValueDown', 'keyValueUp', 'output'] as const;

/**
 * What the states of dense matrices become where they are of a projection to `usualRank` rows (GaLore, APOLLO), bytes more than whole ones:
 * less than zero. A projection that is kept has the type of the weights.
 */
function projectedBytes(inputs: MemoryInputs, stage: StageContents, state: number, keepsProjection: boolean): number {
  const rank = inputs.training.optimizerRank ?? usualRank;
  const kept = keepsProjection ? elementBytes(inputs.training) : 0;
  return matrixSides(inputs, stage).reduce(
    (sum, { short, long, layers }) => sum + layers * (rank < short ? rank * (state * long + kept * short) - state * short * long : 0),
    0,
  );
}

/** Two fp32 matrices for each side of a dense matrix: SOAP's averages of its gradients' products, and their eigenvectors. */
function squareBytes(inputs: MemoryInputs, stage: StageContents): number {
  return matrixSides(inputs, stage).reduce((sum, { short, long, layers }) => sum + layers * 2 * 4 * (short ** 2 + long ** 2), 0);
}
