import type { Facts } from '../run/facts';
import type { ConfigFormat } from '../run/config-format';
import { countOf, product, quotient, worldSize } from './counts';
import { megatronLayersPerStage, megatronVirtualStages } from './megatron/stage-layers';
import { launcherTraits } from './registry';
import { titanStagesPerRank } from './torchtitan/stage-layers';
import { silentSize } from './traits';

/**
 * The sizes that launchers take for 1 where a file leaves it open; a Megatron-Bridge file leaves them to a recipe in Python, a
 * terapipe.json to the planner.
 */
export type SizeName = 'tensor' | 'pipeline' | 'context' | 'expert';

/** A parallel size: as given, or the launcher's default of 1; null when a recipe that is not read decides. */
export function parallelSize(facts: Facts, format: ConfigFormat, name: SizeName): number | null {
  return facts[name] === undefined ? silentSize(launcherTraits(format)) : countOf(facts, name);
}

/** GPUs of one replica: tensor x pipeline x context. */
export function gpusPerReplica(facts: Facts, format: ConfigFormat): number | null {
  return product(parallelSize(facts, format, 'tensor'), parallelSize(facts, format, 'pipeline'), parallelSize(facts, format, 'context'));
}

/**
 * Data-parallel replicas: as given, as replicated x sharded, or what the other sizes leave of the GPUs; null when that is not a whole
 * number.
 */
export function dataParallelSize(facts: Facts, format: ConfigFormat): number | null {
  if (facts.data !== undefined) return countOf(facts, 'data');
  const sharded = facts.dataShard === undefined ? null : product(countOf(facts, 'dataShard'), replicatedSize(facts));
  if (sharded !== null) return sharded;
  const world = worldSize(facts);
  const replica = gpusPerReplica(facts, format);
  return world !== null && replica !== null && world % replica === 0 ? world / replica : null;
}

function replicatedSize(facts: Facts): number | null {
  return facts.dataReplicate === undefined ? 1 : countOf(facts, 'dataReplicate');
}

/** Sequences that all replicas take in one micro-batch each: micro-batch x data size. */
export function batchPerMicroBatch(facts: Facts, format: ConfigFormat): number | null {
  return product(countOf(facts, 'microBatch'), dataParallelSize(facts, format));
}

/**
 * Micro-batches that one replica sends through the pipeline in one pass: as given, or from the batch sizes. TorchTitan cuts its local batch
 * and runs the whole schedule again for every gradient accumulation. Null when unknown or no whole number.
 */
export function microBatchesPerReplica(facts: Facts, format: ConfigFormat): number | null {
  if (facts.microBatches !== undefined) return countOf(facts, 'microBatches');
  if (launcherTraits(format).batchOfReplica === 'local') return quotient(countOf(facts, 'localBatch'), countOf(facts, 'microBatch'));
  if (facts.gradientAccumulation !== undefined) return countOf(facts, 'gradientAccumulation');
  return quotient(countOf(facts, 'globalBatch'), batchPerMicroBatch(facts, format));
}

/** Layers that each stage gets when all get the same; null when a setting divides them unevenly, or they are not divisible. */
export function equalLayersPerStage(facts: Facts, format: ConfigFormat): number | null {
  return megatronLayersPerStage(facts, parallelSize(facts, format, 'pipeline'));
}

/** Virtual stages on each GPU: as given, or from the layers of one; 1 without any setting for them. Null when settings leave it open. */
export function virtualStagesPerGpu(facts: Facts, format: ConfigFormat): number | null {
  if (launcherTraits(format).countsEndsAsLayers) return titanStagesPerRank(facts);
  return megatronVirtualStages(facts, parallelSize(facts, format, 'pipeline'));
}

/**
 * Whether some setting asks for more than one virtual stage on each GPU; true also when their number follows from layers that do not
 * divide.
 */
export function isInterleaved(facts: Facts, format: ConfigFormat): boolean {
  if (facts.virtualStages === undefined && facts.layersPerVirtualStage === undefined) return false;
  const stages = virtualStagesPerGpu(facts, format);
  return stages === null ? facts.virtualStages === undefined && countOf(facts, 'layersPerVirtualStage') !== null : stages > 1;
}

/** Stages over all GPUs of a pipeline, virtual ones counted; where the file does not give virtual stages, at least the pipeline size. */
export function countTotalStages(facts: Facts, format: ConfigFormat): number | null {
  return product(parallelSize(facts, format, 'pipeline'), virtualStagesPerGpu(facts, format) ?? 1);
}

/** What the vocabulary is padded to a multiple of: the divisor (Megatron's default 128) times the tensor size. */
export function vocabMultiple(facts: Facts, format: ConfigFormat): number | null {
  return product(facts.vocabDivisor === undefined ? 128 : countOf(facts, 'vocabDivisor'), parallelSize(facts, format, 'tensor'));
}

/** The vocabulary as Megatron pads it. */
export function paddedVocabSize(facts: Facts, format: ConfigFormat): number | null {
  const vocab = countOf(facts, 'vocab');
  const step = vocabMultiple(facts, format);
  return vocab === null || step === null ? null : Math.ceil(vocab / step) * step;
}

/**
 * Part of the time that equal stages idle: (p - 1) / (v m + p - 1) for p stages of v virtual ones and m micro-batches (slices count as
 * micro-batches).
 */
export function bubbleFraction(pipeline: number, virtualStages: number, microBatches: number): number {
  return (pipeline - 1) / (virtualStages * microBatches + pipeline - 1);
}
