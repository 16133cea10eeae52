import { launcherTraits } from '../../core/launchers/registry';
import type { FactName, Facts } from '../../core/run/facts';
import type { ConfigFormat } from '../../core/run/config-format';
import { formatCount, formatNumber, plural } from '../../core/format';
import { quotient } from '../../core/launchers/counts';
import {
  dataParallelSize,
  equalLayersPerStage,
  microBatchesPerReplica,
  gpusPerReplica,
  paddedVocabSize,
  parallelSize,
  virtualStagesPerGpu,
  vocabMultiple,
} from '../../core/launchers/layout-sizes';
import { titanTotalStages } from '../../core/launchers/torchtitan/stage-layers';
import { totalGpus } from './launcher-facts';
import type { Translate } from '../../core/sentence';

/** What numbers follow from. */
interface NumberSources {
  readonly facts: Facts;
  readonly format: ConfigFormat;
  /** Null when planning does not understand the whole model. */
  readonly parameters: number | null;
}

/** One line, or null when a number that it takes is not known. */
type NumberLine = (from: NumberSources, t: Translate) => string | null;

const replicas: NumberLine = ({ facts, format }, t) => {
  const [world, model, data] = [totalGpus(facts, format), gpusPerReplica(facts, format), dataParallelSize(facts, format)];
  if (model === null) return null;
  if (world === null || data === null) return t('One replica takes {0}.', plural(model, 'GPU'));
  return t('{0}: {1} of {2}.', plural(world, 'GPU'), plural(data, 'replica'), plural(model, 'GPU'));
};

const microBatches: NumberLine = ({ facts, format }, t) => {
  const count = microBatchesPerReplica(facts, format);
  return count === null ? null : t('{0} a step on each replica.', plural(count, 'micro-batch', 'micro-batches'));
};

const localMicroBatches: NumberLine = ({ facts, format }, t) => {
  const count = microBatchesPerReplica(facts, format);
  return count === null ? null : t('{0} a pass on each replica.', plural(count, 'micro-batch', 'micro-batches'));
};

const batch: NumberLine = (from, t) => (launcherTraits(from.format).batchOfReplica === 'local' ? localMicroBatches : microBatches)(from, t);

const layersPerStage: NumberLine = ({ facts, format }, t) => {
  const [each, pipeline] = [equalLayersPerStage(facts, format), parallelSize(facts, format, 'pipeline')];
  if (each === null || pipeline === null) return null;
  return pipeline === 1
    ? t('{0} on one stage.', plural(each, 'layer'))
    : t('{0} on each of {1}.', plural(each, 'layer'), plural(pipeline, 'stage'));
};

const layersPerChunk: NumberLine = ({ facts, format }, t) => {
  const [each, chunks] = [equalLayersPerStage(facts, format), virtualStagesPerGpu(facts, format)];
  const inChunk = chunks === 1 ? null : quotient(each, chunks);
  return inChunk === null || chunks === null ? null : t('{0} on each GPU, {1} in each.', plural(chunks, 'chunk'), plural(inChunk, 'layer'));
};

const paddedVocab: NumberLine = ({ facts, format }, t) => {
  const [padded, step] = [paddedVocabSize(facts, format), vocabMultiple(facts, format)];
  if (padded === null || step === null || !launcherTraits(format).padsVocabulary) return null;
  return t('Padded to {0}, a multiple of {1}.', formatNumber(padded), formatNumber(step));
};

const headsEach: NumberLine = ({ facts, format }, t) => {
  const tensor = parallelSize(facts, format, 'tensor');
  const heads = facts.heads?.value;
  if (tensor === null || tensor < 2 || heads === undefined) return null;
  return t('{0} heads over {1} tensor-parallel GPUs: {2} each.', heads, tensor, formatCount(heads / tensor));
};

const expertsEach: NumberLine = ({ facts, format }, t) => {
  const [experts, over] = [facts.experts?.value, parallelSize(facts, format, 'expert')];
  if (experts === undefined || over === null || over < 2) return null;
  return t('{0} experts over {1} expert-parallel GPUs: {2} each.', experts, over, formatCount(experts / over));
};

const parameters: NumberLine = ({ parameters: count }, t) => (count === null ? null : t('{0} parameters.', formatCount(count)));

/** Of nodes and their GPUs. */
const gpus: NumberLine = (from, t) => {
  const world = totalGpus(from.facts, from.format);
  return replicas(from, t) ?? (world === null ? null : t('{0} in all.', plural(world, 'GPU')));
};

const tokensPerStep: NumberLine = ({ facts }, t) => {
  const [sequences, length] = [facts.globalBatch?.value, facts.sequenceLength?.value];
  return sequences === undefined || length === undefined ? null : t('{0} tokens a step.', formatCount(sequences * length));
};

const titanStages: NumberLine = ({ facts }, t) => {
  const stages = titanTotalStages(facts);
  return stages === null ? null : t('{0} over all GPUs.', plural(stages, 'stage'));
};

const lines: Readonly<Partial<Record<FactName, readonly NumberLine[]>>> = {
  modelType: [parameters],
  flavor: [parameters],
  layers: [layersPerStage, layersPerChunk, parameters],
  hidden: [parameters],
  ffn: [parameters],
  heads: [headsEach],
  experts: [expertsEach, parameters],
  vocab: [paddedVocab],
  vocabDivisor: [paddedVocab],
  tensor: [replicas, headsEach],
  pipeline: [replicas, layersPerStage],
  context: [replicas],
  data: [replicas, batch],
  dataShard: [replicas],
  dataReplicate: [replicas],
  expert: [expertsEach],
  virtualStages: [layersPerChunk],
  layersPerVirtualStage: [layersPerChunk],
  layersPerStage: [titanStages],
  totalStages: [titanStages],
  sequenceLength: [tokensPerStep],
  microBatch: [batch],
  globalBatch: [batch, tokensPerStep],
  localBatch: [batch],
  gradientAccumulation: [batch],
  nodes: [gpus],
  gpusPerNode: [gpus],
  world: [replicas],
};

/** Lines with the numbers that follow from a value together with the others of the run. */
export function factNumbers(name: FactName, from: NumberSources, t: Translate): readonly string[] {
  return (lines[name] ?? []).map((line) => line(from, t)).filter((line) => line !== null);
}
