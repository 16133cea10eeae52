import type { FactName, FactValues, Facts } from '../run/facts';
import type { ConfigFormat } from '../run/config-format';
import { launcherTraitsOf } from './registry';

/** No run has more of anything counted here; larger values are unknown to every rule. */
const maximumCount = 1e9;

type CountName = { [K in FactName]: FactValues[K] extends number ? K : never }[FactName];

/**
 * The sizes that launchers take for 1 where a file leaves it open; a Megatron-Bridge file leaves them to a recipe in Python, a
 * terapipe.json to the planner.
 */
export type SizeName = 'tensor' | 'pipeline' | 'context' | 'expert';

/** A whole number from 1 to 10^9 that the facts give; null when they do not, or give something no run can have. */
export function countOf(facts: Facts, name: CountName): number | null {
  return wholeOf(facts, name, 1);
}

/** As `countOf`, 0 included. */
export function countOrZeroOf(facts: Facts, name: CountName): number | null {
  return wholeOf(facts, name, 0);
}

/** A parallel size: as given, or the launcher's default of 1; null when a recipe that is not read decides. */
export function sizeOf(facts: Facts, format: ConfigFormat, name: SizeName): number | null {
  if (facts[name] !== undefined) return countOf(facts, name);
  return launcherTraitsOf(format).leavesOpen ? null : 1;
}

/** GPUs of one replica: tensor x pipeline x context. */
export function modelGpusOf(facts: Facts, format: ConfigFormat): number | null {
  return product(sizeOf(facts, format, 'tensor'), sizeOf(facts, format, 'pipeline'), sizeOf(facts, format, 'context'));
}

/** GPUs in all: as given, or nodes x GPUs per node. */
export function worldOf(facts: Facts): number | null {
  if (facts.world !== undefined) return countOf(facts, 'world');
  return product(countOf(facts, 'nodes'), countOf(facts, 'gpusPerNode'));
}

/**
 * Data-parallel replicas: as given, as replicated x sharded, or what the other sizes leave of the GPUs; null when that is not a whole
 * number.
 */
export function dataOf(facts: Facts, format: ConfigFormat): number | null {
  if (facts.data !== undefined) return countOf(facts, 'data');
  const sharded = facts.dataShard === undefined ? null : product(countOf(facts, 'dataShard'), replicatedOf(facts));
  if (sharded !== null) return sharded;
  const world = worldOf(facts);
  const replica = modelGpusOf(facts, format);
  return world !== null && replica !== null && world % replica === 0 ? world / replica : null;
}

function replicatedOf(facts: Facts): number | null {
  return facts.dataReplicate === undefined ? 1 : countOf(facts, 'dataReplicate');
}

/** Sequences that all replicas take in one micro-batch each: micro-batch x data size. */
export function batchStepOf(facts: Facts, format: ConfigFormat): number | null {
  return product(countOf(facts, 'microBatch'), dataOf(facts, format));
}

/**
 * Micro-batches that one replica sends through the pipeline in one pass: as given, or from the batch sizes. TorchTitan cuts its local batch
 * and runs the whole schedule again for every gradient accumulation. Null when unknown or no whole number.
 */
export function microBatchesOf(facts: Facts, format: ConfigFormat): number | null {
  if (facts.microBatches !== undefined) return countOf(facts, 'microBatches');
  if (launcherTraitsOf(format).batchOfReplica === 'local') return quotient(countOf(facts, 'localBatch'), countOf(facts, 'microBatch'));
  if (facts.gradientAccumulation !== undefined) return countOf(facts, 'gradientAccumulation');
  return quotient(countOf(facts, 'globalBatch'), batchStepOf(facts, format));
}

/** Layers that are assigned to the stages: those of the model, plus one each for an embedding or a loss that counts as one. */
export function assignedLayersOf(facts: Facts): number | null {
  const layers = countOf(facts, 'layers');
  return layers === null ? null : layers + (facts.embeddingAsLayer?.value === true ? 1 : 0) + (facts.lossAsLayer?.value === true ? 1 : 0);
}

/** Layers that each stage gets when all get the same; null when a setting divides them unevenly, or they are not divisible. */
export function layersPerStageOf(facts: Facts, format: ConfigFormat): number | null {
  return hasEvenStages(facts) ? quotient(assignedLayersOf(facts), sizeOf(facts, format, 'pipeline')) : null;
}

/** Whether no setting gives some stages other numbers of layers. */
function hasEvenStages(facts: Facts): boolean {
  return facts.firstStageLayers === undefined && facts.lastStageLayers === undefined && facts.pipelineLayout === undefined;
}

/** Virtual stages on each GPU: as given, or from the layers of one; 1 without any setting for them. Null when settings leave it open. */
export function virtualStagesOf(facts: Facts, format: ConfigFormat): number | null {
  if (facts.virtualStages !== undefined) return countOf(facts, 'virtualStages');
  if (launcherTraitsOf(format).countsEndsAsLayers) return titanStagesPerRankOf(facts);
  if (facts.pipelineLayout !== undefined) return null;
  if (facts.layersPerVirtualStage === undefined) return 1;
  return quotient(layersPerStageOf(facts, format), countOf(facts, 'layersPerVirtualStage'));
}

/**
 * Whether some setting asks for more than one virtual stage on each GPU; true also when their number follows from layers that do not
 * divide.
 */
export function isInterleaved(facts: Facts, format: ConfigFormat): boolean {
  if (facts.virtualStages === undefined && facts.layersPerVirtualStage === undefined) return false;
  const stages = virtualStagesOf(facts, format);
  return stages === null ? facts.virtualStages === undefined && countOf(facts, 'layersPerVirtualStage') !== null : stages > 1;
}

/**
 * TorchTitan's stages over all ranks: as listed, or ceil((layers + those that embedding and head count as) / layers per stage); null when
 * the file does not show it.
 */
export function titanStagesOf(facts: Facts): number | null {
  if (facts.totalStages !== undefined) return countOf(facts, 'totalStages');
  const layers = titanLayersOf(facts);
  const each = countOf(facts, 'layersPerStage');
  return layers === null || each === null ? null : Math.ceil(layers / each);
}

/** Layers that TorchTitan assigns to stages: those of the model and those that embedding and head count as, 1 each unless given. */
export function titanLayersOf(facts: Facts): number | null {
  const layers = countOf(facts, 'layers');
  const first = facts.firstStageLessLayers === undefined ? 1 : countOrZeroOf(facts, 'firstStageLessLayers');
  const last = facts.lastStageLessLayers === undefined ? 1 : countOrZeroOf(facts, 'lastStageLessLayers');
  return layers === null || first === null || last === null ? null : layers + first + last;
}

/** TorchTitan's stages on each rank: as given, or from all of them; null when neither is set (then the schedule decides). */
export function titanStagesPerRankOf(facts: Facts): number | null {
  if (facts.virtualStages !== undefined) return countOf(facts, 'virtualStages');
  return quotient(titanStagesOf(facts), sizeOf(facts, 'torchtitan', 'pipeline'));
}

/** Stages over all GPUs of a pipeline, virtual ones counted; where the file does not give virtual stages, at least the pipeline size. */
export function totalStagesOf(facts: Facts, format: ConfigFormat): number | null {
  return product(sizeOf(facts, format, 'pipeline'), virtualStagesOf(facts, format) ?? 1);
}

/** What the vocabulary is padded to a multiple of: the divisor (Megatron's default 128) times the tensor size. */
export function vocabStepOf(facts: Facts, format: ConfigFormat): number | null {
  return product(facts.vocabDivisor === undefined ? 128 : countOf(facts, 'vocabDivisor'), sizeOf(facts, format, 'tensor'));
}

/** The vocabulary as Megatron pads it. */
export function paddedVocabOf(facts: Facts, format: ConfigFormat): number | null {
  const vocab = countOf(facts, 'vocab');
  const step = vocabStepOf(facts, format);
  return vocab === null || step === null ? null : Math.ceil(vocab / step) * step;
}

/**
 * Part of the time that equal stages idle: (p - 1) / (v m + p - 1) for p stages of v virtual ones and m micro-batches (slices count as
 * micro-batches).
 */
export function bubbleOf(pipeline: number, virtualStages: number, microBatches: number): number {
  return (pipeline - 1) / (virtualStages * microBatches + pipeline - 1);
}

/** The product of positive whole numbers; null when one is unknown or the product is beyond any run. */
export function product(...factors: readonly (number | null)[]): number | null {
  let result = 1;
  for (const factor of factors) {
    if (factor === null) return null;
    result *= factor;
  }
  return result <= maximumCount ? result : null;
}

/** `total / part`, when both are known and it is a whole number. */
export function quotient(total: number | null, part: number | null): number | null {
  return total !== null && part !== null && part > 0 && total % part === 0 ? total / part : null;
}

function wholeOf(facts: Facts, name: CountName, minimum: number): number | null {
  const value = facts[name]?.value;
  return value !== undefined && Number.isInteger(value) && value >= minimum && value <= maximumCount ? value : null;
}
