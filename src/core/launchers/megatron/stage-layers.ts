import { sum } from '../../numbers';
import { without } from '../../records';
import type { Facts } from '../../run/facts';
import { assignedLayers, countOf, quotient } from '../counts';
import { parseHybridPattern } from './hybrid';

/** No pipeline has more stages, virtual ones counted, or layers; a layout that unrolls to more is none. */
const maximumStages = 100_000;

/**
 * The letters of each stage of a layout such as `Et*3|(tt|)*29,m|L`, unrolled as Megatron Core does
 * (`megatron/core/transformer/pipeline_parallel_layer_layout.py`, lines 288 to 301 at d98e8a64): commas mean nothing, `(...)*n` goes first,
 * then `x*n`, and `|` ends a stage, which may be empty. E is the embedding, t a layer, m one of multi-token prediction, L the loss; other
 * letters stay as they are. Null for a text that grows without end.
 */
export function unrolledLayout(written: string): readonly string[] | null {
  if (written.length > maximumStages) return null;
  const groups = unrolled(written.replace(/[,\s]/g, ''), /\(([^)]+)\)\*(\d+)/g);
  const flat = groups === null ? null : unrolled(groups, /(.)\*(\d+)/g);
  return flat === null ? null : flat.split('|');
}

function unrolled(text: string, pattern: RegExp): string | null {
  let left = maximumStages;
  const result = text.replace(pattern, (_, unit: string, times: string) => {
    left -= unit.length * Number(times);
    return left < 0 ? '' : unit.repeat(Number(times));
  });
  return left < 0 || result.length > maximumStages ? null : result;
}

/** How often a letter is in all stages. */
export function lettersIn(stages: readonly string[], letter: string): number {
  return stages.reduce((count, stage) => count + stage.split(letter).length - 1, 0);
}

/** Layers of each stage of a Megatron pipeline layout such as `Et*3|(tt|)*4tL`; null for a text that is none. */
function stagesOfLayout(written: string): readonly number[] | null {
  const stages = unrolledLayout(written);
  return stages === null || stages.some((stage) => /[^EtmL]/.test(stage)) ? null : stages.map((stage) => lettersIn([stage], 't'));
}

/**
 * Layers of each stage (virtual ones counted, in the order of the model) that Megatron assigns by these facts; null when they do not
 * decide, or cannot be.
 * @param silent the pipeline size of a file that gives none; null: unknown.
 * @param layers those of the model, where the facts leave them out.
 */
export function megatronStages(facts: Facts, silent: number | null, layers: number): readonly number[] | null {
  const pipeline = facts.pipeline === undefined ? silent : countOf(facts, 'pipeline');
  const total = facts.layers === undefined ? layers : countOf(facts, 'layers');
  if (pipeline === null || total === null) return null;
  if (facts.encoderLayers !== undefined && facts.decoderLayers !== undefined) return splitStages(facts, pipeline);
  const segments = facts.hybridPattern === undefined ? null : (parseHybridPattern(facts.hybridPattern.value)?.stages ?? null);
  if (segments !== null) return segments.length % pipeline === 0 && sum(segments) === total ? segments : null;
  if (facts.pipelineLayout !== undefined) {
    const stages = stagesOfLayout(facts.pipelineLayout.value);
    return stages !== null && stages.length % pipeline === 0 && sum(stages) === total ? stages : null;
  }
  if (facts.stageLayers !== undefined && facts.emptyLayers === undefined) {
    const { value: stages } = facts.stageLayers;
    return stages.length === pipeline && sum(stages) === total ? stages : null;
  }
  if (facts.emptyLayers !== undefined) return withEmptyLayers(facts, silent, total);
  const known: Facts = { ...facts, layers: { value: total, source: { kind: 'override' } } };
  const virtual = megatronVirtualStages(known, pipeline);
  return virtual === null || pipeline * virtual > maximumStages ? null : dividedLayers(facts, total, pipeline, virtual);
}

/**
 * Virtual stages on each GPU: as given, or from the layers of one; 1 without any setting for them. Null when settings leave it open.
 * @param pipeline the pipeline size; null: unknown.
 */
export function megatronVirtualStages(facts: Facts, pipeline: number | null): number | null {
  if (facts.virtualStages !== undefined) return countOf(facts, 'virtualStages');
  if (facts.pipelineLayout !== undefined) return null;
  if (facts.layersPerVirtualStage === undefined) return 1;
  return quotient(megatronLayersPerStage(facts, pipeline), countOf(facts, 'layersPerVirtualStage'));
}

/** Layers that each stage gets when all get the same; null when a setting divides them unevenly, or they are not divisible. */
export function megatronLayersPerStage(facts: Facts, pipeline: number | null): number | null {
  const isEven = facts.firstStageLayers === undefined && facts.lastStageLayers === undefined && facts.pipelineLayout === undefined;
  return isEven ? quotient(assignedLayers(facts), pipeline) : null;
}

/** Placeholder layers are assigned like the others, and then not built. */
function withEmptyLayers(given: Facts, silent: number | null, layers: number): readonly number[] | null {
  // MindSpeed-LLM leaves a list of layers out when they are set (features_manager/pipeline_parallel/num_layer_list.py 35)
  const others = without(given, 'emptyLayers', 'stageLayers');
  const empty = [...new Set(given.emptyLayers?.value)];
  const all: Facts = { ...others, layers: { value: layers + empty.length, source: { kind: 'override' } } };
  const stages = megatronStages(all, silent, layers);
  if (stages === null) return null;
  let first = 0;
  return stages.map((count) => {
    const own = empty.filter((layer) => layer >= first && layer < first + count).length;
    first += count;
    return count - own;
  });
}

/** Layers of each stage of an encoder-decoder model: a stack is divided evenly over its stages (Megatron-LM core 0.8, `get_num_layers`). */
function splitStages(facts: Facts, pipeline: number): readonly number[] | null {
  const [encoder, decoder] = [countOf(facts, 'encoderLayers'), countOf(facts, 'decoderLayers')];
  if (encoder === null || decoder === null) return null;
  if (pipeline === 1) return [encoder + decoder];
  const split = countOf(facts, 'splitRank');
  if (split === null || split >= pipeline || encoder % split !== 0 || decoder % (pipeline - split) !== 0) return null;
  return Array.from({ length: pipeline }, (_, stage) => (stage < split ? encoder / split : decoder / (pipeline - split)));
}

function dividedLayers(facts: Facts, layers: number, pipeline: number, virtual: number): readonly number[] | null {
  const { firstStageLayers, lastStageLayers } = facts;
  if (firstStageLayers !== undefined || lastStageLayers !== undefined) {
    const ends = [firstStageLayers, lastStageLayers].filter((fact) => fact !== undefined);
    const middle = pipeline - ends.length;
    const left = layers - sum(ends.map(({ value }) => value));
    if (middle < 0 || left < 0 || (middle === 0 ? left > 0 : left % middle !== 0)) return null;
    const each = middle === 0 ? 0 : left / middle;
    const ranks = Array.from({ length: pipeline }, (_, rank) =>
      rank === 0 && firstStageLayers !== undefined
        ? firstStageLayers.value
        : rank === pipeline - 1 && lastStageLayers !== undefined
          ? lastStageLayers.value
          : each,
    );
    if (ranks.some((count) => count % virtual !== 0)) return null;
    return Array.from({ length: pipeline * virtual }, (_, stage) => (ranks[stage % pipeline] ?? 0) / virtual);
  }
  const [first, last] = [facts.embeddingAsLayer?.value === true ? 1 : 0, facts.lossAsLayer?.value === true ? 1 : 0];
  const stages = pipeline * virtual;
  const each = (layers + first + last) / stages;
  if (!Number.isInteger(each)) return null;
  return Array.from({ length: stages }, (_, stage) => each - (stage === 0 ? first : 0) - (stage === stages - 1 ? last : 0));
}

/** The pipeline layout that gives every stage this many layers, with `mtpLayers` of multi-token prediction before the loss. */
export function pipelineLayoutText(stageLayers: readonly number[], mtpLayers = 0): string {
  const last = stageLayers.length - 1;
  const run = (letter: string, count: number): string => (count === 0 ? '' : count === 1 ? letter : `${letter}*${count}`);
  return stageLayers
    .map((layers, stage) => (stage === 0 ? 'E' : '') + run('t', layers) + (stage === last ? `${run('m', mtpLayers)}L` : ''))
    .join('|');
}
