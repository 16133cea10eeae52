import type { Fact, FactName, Facts, LauncherFile } from '../run/facts';
import { hybridLayersOf } from './megatron/hybrid';
import { lettersIn, unrolledLayout } from './megatron/pipeline-layout';
import { launcherTraitsOf } from './registry';
import type { Run } from '../run/run';
import type { ConfigFormat } from '../run/config-format';
import { sum } from '../numbers';
import { countOf, countOrZeroOf, sizeOf, titanStagesOf as titanStageCount, virtualStagesOf } from './layout-sizes';

/** No pipeline has more stages, virtual ones counted. */
const maximumStages = 100_000;

/** Layers of each stage of a Megatron pipeline layout such as `Et*3|(tt|)*4tL`; null for a text that is none. */
export function stagesOfPattern(pattern: string): readonly number[] | null {
  const stages = unrolledLayout(pattern);
  return stages === null || stages.some((stage) => /[^EtmL]/.test(stage)) ? null : stages.map((stage) => lettersIn([stage], 't'));
}

/**
 * Layers of each stage (virtual ones counted, in the order of the model) that Megatron assigns by these facts; null when they do not
 * decide, or cannot be.
 * @param layers those of the model, where the facts leave them out.
 */
export function megatronStages(facts: Facts, format: ConfigFormat, layers: number): readonly number[] | null {
  const pipeline = sizeOf(facts, format, 'pipeline');
  const total = facts.layers === undefined ? layers : countOf(facts, 'layers');
  if (pipeline === null || total === null) return null;
  if (facts.encoderLayers !== undefined && facts.decoderLayers !== undefined) return splitStages(facts, pipeline);
  const segments = facts.hybridPattern === undefined ? null : (hybridLayersOf(facts.hybridPattern.value)?.stages ?? null);
  if (segments !== null) return segments.length % pipeline === 0 && sum(segments) === total ? segments : null;
  if (facts.pipelineLayout !== undefined) {
    const stages = stagesOfPattern(facts.pipelineLayout.value);
    return stages !== null && stages.length % pipeline === 0 && sum(stages) === total ? stages : null;
  }
  if (facts.stageLayers !== undefined && facts.emptyLayers === undefined) {
    const { value: stages } = facts.stageLayers;
    return stages.length === pipeline && sum(stages) === total ? stages : null;
  }
  if (facts.emptyLayers !== undefined) return withEmptyLayers(facts, format, total);
  const known: Facts = { ...facts, layers: { value: total, source: { kind: 'override' } } };
  const virtual = virtualStagesOf(known, format);
  return virtual === null || pipeline * virtual > maximumStages ? null : dividedLayers(facts, total, pipeline, virtual);
}

/** Placeholder layers are assigned like the others, and then not built. */
function withEmptyLayers(given: Facts, format: ConfigFormat, layers: number): readonly number[] | null {
  // MindSpeed-LLM leaves a list of layers out when they are set (features_manager/pipeline_parallel/num_layer_list.py 35)
  const others: Facts = Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'emptyLayers' && name !== 'stageLayers'));
  const empty = [...new Set(given.emptyLayers?.value)];
  const all: Facts = { ...others, layers: { value: layers + empty.length, source: { kind: 'override' } } };
  const stages = megatronStages(all, format, layers);
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

/**
 * Layers of each stage that TorchTitan assigns: the embedding counts as `first` layers and the head as `last`, what does not divide goes to
 * the first stages (`generate_llm_fqn_per_model_part`, torchtitan 2025-07). Null where it refuses.
 */
export function titanStages(layers: number, stages: number, first: number, last: number): readonly number[] | null {
  if (stages === 1) return [layers];
  const all = layers + first + last;
  const each = Math.floor(all / stages);
  const extra = all % stages;
  if (each < Math.max(1, first, last)) return null;
  return Array.from(
    { length: stages },
    (_, stage) => each + (stage < extra ? 1 : 0) - (stage === 0 ? first : 0) - (stage === stages - 1 ? last : 0),
  );
}

/**
 * Layers of each stage by a TorchTitan file: see `titanStages`; or as it lists modules or the layers that begin a stage, in `text`. Null
 * when the file does not show it.
 */
export function titanStagesOf(facts: Facts, text: string, stages: number, layers: number): readonly number[] | null {
  const { totalStages: listed } = facts;
  if (listed?.source.kind === 'file') {
    const { start, end } = listed.source.place.range;
    return listedStages(text.slice(start, end), listed.name?.endsWith('split_points') === true, layers);
  }
  const first = facts.firstStageLessLayers === undefined ? 1 : countOrZeroOf(facts, 'firstStageLessLayers');
  const last = facts.lastStageLessLayers === undefined ? 1 : countOrZeroOf(facts, 'lastStageLessLayers');
  return first === null || last === null ? null : titanStages(layers, stages, first, last);
}

function listedStages(written: string, points: boolean, layers: number): readonly number[] {
  if (!points) return (written.slice(1).match(/\[[^[\]]*\]/g) ?? []).map((stage) => (stage.match(/layers\.\d+/g) ?? []).length);
  const starts = [0, ...[...written.matchAll(/layers\.(\d+)/g)].map(([, layer]) => Number(layer)), layers];
  return starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
}

/** Settings that divide layers unevenly, the more exact ones first. */
const megatronSettings = [
  'splitRank',
  'hybridPattern',
  'pipelineLayout',
  'stageLayers',
  'emptyLayers',
  'firstStageLayers',
  'lastStageLayers',
  'embeddingAsLayer',
  'lossAsLayer',
] as const;
const titanSettings = ['totalStages', 'layersPerStage', 'firstStageLessLayers', 'lastStageLessLayers'] as const;

/**
 * The run with the cut that its launcher's settings make, and the virtual stages that follow from it; as it was where they
 * set none, or one that cannot be.
 */
export function withStageLayers(run: Run, { facts, format, text }: Pick<LauncherFile, 'facts' | 'format' | 'text'>): Run {
  const names: readonly FactName[] = launcherTraitsOf(format).countsEndsAsLayers ? titanSettings : megatronSettings;
  const said = names
    .map((name): Fact<unknown> | undefined => facts[name])
    .find(
      (fact) => fact !== undefined && fact.value !== false && (fact !== facts.hybridPattern || facts.hybridPattern.value.includes('|')),
    );
  const pipeline = run.layout.pipeline?.value ?? 1;
  const layers = run.model.layers.value;
  if (said === undefined || pipeline === 1) return run;
  const stages = launcherTraitsOf(format).countsEndsAsLayers ? titanCut(facts, text, layers) : megatronStages(facts, format, layers);
  const virtual = (stages?.length ?? 0) / pipeline;
  if (stages === null || virtual < 1 || !Number.isInteger(virtual) || sum(stages) !== layers) return run;
  const { source } = said;
  return {
    ...run,
    layout: {
      ...run.layout,
      stageLayers: { value: stages, source },
      ...(virtual === 1 ? {} : { virtualStages: { value: virtual, source } }),
    },
  };
}

function titanCut(facts: Facts, text: string, layers: number): readonly number[] | null {
  const known: Facts = { ...facts, layers: { value: layers, source: { kind: 'override' } } };
  const pipeline = sizeOf(facts, 'torchtitan', 'pipeline') ?? 1;
  const stages = titanStageCount(known) ?? pipeline * (countOf(facts, 'virtualStages') ?? 1);
  return titanStagesOf(known, text, stages, layers);
}

/** The pattern that gives every stage this many layers, with `mtpLayers` of multi-token prediction before the loss. */
export function patternOf(stageLayers: readonly number[], mtpLayers = 0): string {
  const last = stageLayers.length - 1;
  const run = (letter: string, count: number): string => (count === 0 ? '' : count === 1 ? letter : `${letter}*${count}`);
  return stageLayers
    .map((layers, stage) => (stage === 0 ? 'E' : '') + run('t', layers) + (stage === last ? `${run('m', mtpLayers)}L` : ''))
    .join('|');
}

/** Whether two cuts have the same stages with the same layers; null is not a cut. */
export function isSame(a: readonly number[] | null, b: readonly number[]): boolean {
  return a?.length === b.length && a.every((count, index) => count === b[index]);
}
