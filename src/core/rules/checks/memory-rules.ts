import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { launcherTraits } from '../../launchers/registry';
import { formatCount, formatNumber } from '../../format';
import { embeddingParameters, layerParameters, rankMatrixParameters } from '../../model/parameters';
import type { ModelSpec } from '../../domain/model';
import { listDivisors, maximum } from '../../numbers';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { titanAssignedLayers } from '../../launchers/torchtitan/stage-layers';
import { megatronFormats, withTorchtitan } from '../formats';
import { fitsWorld } from './sizes';
import { many, setTo, type Change, type Issue, type Rule } from '../rule';
import { either, sentence, type Sentence } from '../../sentence';

/** What the stages hold. */
export const memoryRules: readonly Rule[] = [
  {
    code: 'pp-end-stage-memory',
    severity: 'warning',
    ofAllWeights: true,
    formats: [...withTorchtitan, 'deepspeed'],
    check: endStageMemory,
  },
  {
    code: 'estimate-ignores-ep-cp',
    severity: 'information',
    formats: megatronFormats,
    check: estimateIgnores,
  },
];

/** An end stage may hold this much more than a middle one. */
const tolerated = 1.15;
/** From here on a warning. */
const costly = 2;

/**
 * @finding pp-end-stage-memory
 * The first stage also holds the embedding and the last one the output matrix. With a large vocabulary and few layers a stage they need
 * much more memory than the stages between, and fail first. Counted are parameters, which weights, gradients and optimizer state are
 * proportional to; the finding appears above 1.15 times a middle stage, and is a warning from twice on.
 * @source Megatron-LM, `megatron/core/models/gpt/gpt_model.py`, `pre_process` and `post_process`: the first stage builds the embedding, the
 * last one the head
 * @ignore the run fits: the fullest stage decides that, and uneven ones only waste what the others have left.
 */
function endStageMemory({ facts, format }: ConfigView): Issue | null {
  const layers = countOf(facts, 'layers');
  const stages = parallelSize(facts, format, 'pipeline');
  const sizes = countLayerParameters(facts, format);
  if (layers === null || stages === null || stages < 3 || layers < stages || sizes === null) return null;
  const { layer, embedding } = sizes;
  const counts = fullestStages(facts, format, layers, stages);
  if (counts === null) return null;
  const middle = counts.middle * layer;
  const end = counts.end * layer + embedding;
  if (middle <= 0 || end <= tolerated * middle) return null;
  const { remedy, changes } = lighterEnds(facts, format, { layers, stages, layer, embedding });
  const ratio = end / middle;
  return {
    at: ['pipeline', 'vocab'],
    ...(ratio < costly && { severity: 'information' as const }),
    message: sentence`The end stages hold ${formatCount(end)} parameters (${formatCount(embedding)} for the vocabulary), ${formatNumber(ratio)} times the ${formatCount(middle)} of a middle stage`,
    remedy,
    changes,
  };
}

/** Layers of the fullest end stage and of a middle one; null where a layout sets it itself. */
function fullestStages(
  facts: Facts,
  format: ConfigFormat,
  layers: number,
  stages: number,
): { readonly end: number; readonly middle: number } | null {
  if (facts.pipelineLayout !== undefined || facts.emptyLayers !== undefined || facts.partitionMethod !== undefined) return null;
  if (facts.stageLayers !== undefined) {
    const own = facts.stageLayers.value;
    return { end: Math.max(own[0] ?? 0, own.at(-1) ?? 0), middle: maximum(own.slice(1, -1)) };
  }
  if (launcherTraits(format).countsEndsAsLayers) {
    const middle = (titanAssignedLayers(facts) ?? layers) / stages;
    return {
      middle,
      end: middle - Math.min(countOf(facts, 'firstStageLessLayers', 0) ?? 1, countOf(facts, 'lastStageLessLayers', 0) ?? 1),
    };
  }
  const given = (['firstStageLayers', 'lastStageLayers'] as const).map((name) => countOf(facts, name, 0));
  const fixed = given.filter((count) => count !== null);
  if (fixed.length > 0) {
    const middle = (layers - fixed.reduce((sum, count) => sum + count, 0)) / (stages - fixed.length);
    return { middle, end: fixed.length === 2 ? maximum(fixed) : Math.max(maximum(fixed), middle) };
  }
  const counted = [facts.embeddingAsLayer, facts.lossAsLayer].filter((fact) => fact?.value === true).length;
  const middle = (layers + counted) / stages;
  return { middle, end: counted === 2 ? middle - 1 : middle };
}

interface StageSizes {
  readonly layers: number;
  readonly stages: number;
  readonly layer: number;
  readonly embedding: number;
}

/**
 * Layer counts for the ends, or a smaller number of stages, that even the stages out or at least come nearer to it; in words, and as fixes
 * where they do.
 */
function lighterEnds(
  facts: Facts,
  format: ConfigFormat,
  sizes: StageSizes,
): { readonly remedy: Sentence; readonly changes: readonly Change[] } {
  const { layers, stages } = sizes;
  const counts = bestEnds(sizes);
  const smaller = listDivisors(layers).filter((size) => size >= 3 && size < stages && fitsWorld(facts, format, 'pipeline', size));
  const even = smaller.filter((size) => endRatio(sizes, layers / size, layers / size) <= tolerated).slice(-1);
  const fewer = even.length > 0 ? even : smaller.slice(-1);
  const remedies = [
    ...(counts === null
      ? []
      : [
          sentence`give the first and last stage ${many(counts.end, 'layer')} and the others ${formatNumber(counts.middle)}, which makes it ${formatNumber(endRatio(sizes, counts.end, counts.middle))} times`,
        ]),
    ...fewer.map(
      (size) => sentence`use ${many(size, 'stage')}, which makes it ${formatNumber(endRatio(sizes, layers / size, layers / size))} times`,
    ),
  ];
  const ends = ['firstStageLayers', 'lastStageLayers'] as const;
  const written =
    counts !== null && ends.every((name) => facts[name] !== undefined) && endRatio(sizes, counts.end, counts.middle) <= tolerated;
  return {
    remedy: remedies.length === 0 ? sentence`use 2 stages, which both hold a share of the vocabulary` : either(remedies),
    changes: [...(written ? [ends.map((name) => ({ name, value: counts.end }))] : []), ...(hasEnds(facts) ? [] : setTo('pipeline', even))],
  };
}

function hasEnds(facts: Facts): boolean {
  return facts.firstStageLayers !== undefined || facts.lastStageLayers !== undefined;
}

/** What an end stage of `end` layers holds of what one of `middle` layers holds. */
function endRatio({ layer, embedding }: StageSizes, end: number, middle: number): number {
  return (end * layer + embedding) / (middle * layer);
}

/**
 * The same number of layers on both ends (at least one) and more on each stage between, all layers assigned, whose fullest stage is the
 * least full; null when an even split is.
 */
function bestEnds({ layers, stages, layer, embedding }: StageSizes): { readonly end: number; readonly middle: number } | null {
  let best: { readonly end: number; readonly middle: number } | null = null;
  const even = Math.floor(layers / stages);
  let least = (layers / stages) * layer + embedding;
  for (let end = even; end >= 1 && end > even - 256; end--) {
    const middle = (layers - 2 * end) / (stages - 2);
    const peak = Math.max(end * layer + embedding, middle * layer);
    if (!Number.isInteger(middle) || peak >= least) continue;
    best = { end, middle };
    least = peak;
  }
  return best;
}

/**
 * Parameters of one layer and of the vocabulary, before tensor parallelism (which divides both alike); null where layers differ or sizes
 * are missing.
 */
function countLayerParameters(facts: Facts, format: ConfigFormat): { readonly layer: number; readonly embedding: number } | null {
  const mixed = ['sharedExperts', 'moeLayerFrequency', 'firstDenseLayers', 'decoderSparseStep', 'hybridPattern', 'encoderLayers'] as const;
  if (
    facts.latentAttention?.value === true ||
    (facts.experts !== undefined && mixed.some((name) => facts[name] !== undefined && facts[name].value !== '1'))
  )
    return null;
  const model = countedModel(facts);
  const expert = parallelSize(facts, format, 'expert') ?? 1;
  if (model === null || facts.hybridPattern !== undefined || facts.encoderLayers !== undefined) return null;
  const layer = rankMatrixParameters(model, { tensor: 1, expert }) + layerParameters(model).normsAndBiases;
  return { layer, embedding: embeddingParameters(model) };
}

/** The model as parameters are counted. Silent files: Megatron's feed-forward of 4 x hidden, one key/value head a head, no biases. */
function countedModel(facts: Facts): ModelSpec | null {
  const [layers, hidden, vocab] = [countOf(facts, 'layers'), countOf(facts, 'hidden'), countOf(facts, 'vocab')];
  if (layers === null || hidden === null || vocab === null) return null;
  const heads = countOf(facts, 'heads') ?? 1;
  const [experts, active] = [countOf(facts, 'experts'), countOf(facts, 'activeExperts') ?? 1];
  const ffn = countOf(facts, 'ffn') ?? 4 * hidden;
  return {
    modelType: facts.modelType?.value ?? 'custom',
    layers,
    hidden,
    heads,
    vocab,
    kvHeads: countOf(facts, 'kvHeads') ?? heads,
    headDim: countOf(facts, 'headDim') ?? hidden / heads,
    ffn: experts === null ? ffn : (countOf(facts, 'expertFfn') ?? ffn),
    gatedMlp: facts.gatedMlp?.value ?? false,
    tiedEmbeddings: facts.tiedEmbeddings?.value ?? true,
    maxPositions: null,
    positions: facts.positions?.value ?? 'none',
    norm: facts.norm?.value ?? 'layernorm',
    qkvBias: false,
    attentionOutputBias: false,
    mlpBias: false,
    qkNorm: false,
    experts: experts === null ? null : { count: experts, active },
  };
}

/**
 * @finding estimate-ignores-ep-cp
 * The report of theoretical memory that Megatron prints at the start knows neither experts nor context parallelism: activations come out
 * too large with the one and wrong with the other. Only information.
 * @source Megatron-LM, `megatron/training/theoretical_memory_usage.py`, `report_theoretical_memory`
 * @ignore you do not read that report.
 */
function estimateIgnores({ facts, format, launcher }: ConfigView): Issue | null {
  if (launcher.runtime !== 'megatron') return null;
  const context = parallelSize(facts, format, 'context') ?? 1;
  const experts = countOf(facts, 'experts') ?? 1;
  if (context === 1 && experts === 1) return null;
  const reasons = [
    ...(context > 1 ? [sentence`counts activations of the whole sequence, ${formatNumber(context)} times those of a context rank`] : []),
    ...(experts > 1 ? [sentence`counts ${formatNumber(experts)} experts a layer as one dense feed-forward network`] : []),
  ];
  return {
    at: [...(context > 1 ? (['context'] as const) : []), 'experts', 'expert'],
    message: sentence`Megatron's own memory report ${reasons.reduce((a, b) => sentence`${a} and ${b}`)}`,
    remedy: sentence`compare with the memory that is counted here`,
    isNote: true,
  };
}
