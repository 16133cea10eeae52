import type { FactName } from '../../run/facts';
import { namesIn, spelledWith, type KeyNames } from '../writing/key-names';
import { coreKeys } from './core-keys';
import { flagTable } from './megatron-flags';

const written = [
  ...(['tensor', 'pipeline', 'context', 'expert', 'expertTensor'] as const),
  ...(['virtualStages', 'layersPerVirtualStage', 'pipelineLayout', 'firstStageLayers', 'lastStageLayers'] as const),
  ...(['sequenceLength', 'maxPositions', 'microBatch', 'globalBatch', 'distributedOptimizer', 'sequenceParallel'] as const),
  ...(['recomputeGranularity', 'recomputeMethod', 'recomputeLayers', 'recomputeModules', 'activationOffloadLayers'] as const),
  ...(['stagesBeforeReplicas', 'overlapGradReduce', 'overlapParamGather'] as const),
] satisfies FactName[];

const onlyFlags = [
  ...(['layers', 'emptyLayers', 'stageLayers', 'splitRank', 'embeddingAsLayer', 'lossAsLayer'] as const),
  ...(['contextCommunication', 'zeroStage', 'dataReplicate'] as const),
] satisfies FactName[];

const flagNames = namesIn(flagTable, [...written, ...onlyFlags], ['hybridPattern']);

/** Flags of Megatron-LM that a plan is written with. A precision is a switch of its own name. */
export const megatronFlags: KeyNames = spelledWith(flagNames, (name) => `--${name}`);

/** Megatron-LM's flags as keys. */
export const argumentNames: KeyNames = spelledWith(flagNames, (name) => name.replaceAll('-', '_'));

/** Facts that plans are written with under Megatron Core's keys. */
export const writtenFacts = [...written, 'cpuOffloading'] as const satisfies readonly FactName[];

const coreNames = namesIn(coreKeys, writtenFacts);

/** Megatron-LM's `--yaml-cfg`: the layout in `model_parallel`, lengths and batches at the root. */
export const megatronConfigKeys: KeyNames = {
  ...inSections(coreNames, 'model_parallel.', 'language_model.', ''),
  ...inSections(
    namesIn(coreKeys, ['sequenceLength', 'maxPositions', 'microBatch', 'globalBatch', 'distributedOptimizer']),
    '',
    'language_model.',
    'model_parallel.',
  ),
};

function inSections(names: KeyNames, ...prefixes: readonly string[]): KeyNames {
  return Object.fromEntries(
    Object.entries(names).map(([fact, each]) => [fact, prefixes.flatMap((prefix) => each.map((name) => prefix + name))]),
  );
}
