import type { Facts } from '../../run/facts';
import { countOf, quotient } from '../counts';

/**
 * TorchTitan's stages over all ranks: as listed, or ceil((layers + those that embedding and head count as) / layers per stage); null when
 * the file does not show it.
 */
export function titanTotalStages(facts: Facts): number | null {
  if (facts.totalStages !== undefined) return countOf(facts, 'totalStages');
  const layers = titanAssignedLayers(facts);
  const each = countOf(facts, 'layersPerStage');
  return layers === null || each === null ? null : Math.ceil(layers / each);
}

/** Layers that TorchTitan assigns to stages: those of the model and those that embedding and head count as. */
export function titanAssignedLayers(facts: Facts): number | null {
  const layers = countOf(facts, 'layers');
  const [first, last] = endLayers(facts);
  return layers === null || first === null || last === null ? null : layers + first + last;
}

/** Layers that the embedding and the head count as, 1 each unless given; null: given, but not a count. */
function endLayers(facts: Facts): readonly [first: number | null, last: number | null] {
  return [
    facts.firstStageLessLayers === undefined ? 1 : countOf(facts, 'firstStageLessLayers', 0),
    facts.lastStageLessLayers === undefined ? 1 : countOf(facts, 'lastStageLessLayers', 0),
  ];
}

/** TorchTitan's stages on each rank: as given, or from all of them; null when neither is set (then the schedule decides). */
export function titanStagesPerRank(facts: Facts): number | null {
  if (facts.virtualStages !== undefined) return countOf(facts, 'virtualStages');
  return quotient(titanTotalStages(facts), titanPipelineSize(facts));
}

/** TorchTitan's pipeline size: 1 unless given. */
export function titanPipelineSize(facts: Facts): number | null {
  return facts.pipeline === undefined ? 1 : countOf(facts, 'pipeline');
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
export function titanStageLayers(facts: Facts, text: string, stages: number, layers: number): readonly number[] | null {
  const { totalStages: listed } = facts;
  if (listed?.source.kind === 'file') {
    const { start, end } = listed.source.place.range;
    return listedStages(text.slice(start, end), listed.name?.endsWith('split_points') === true, layers);
  }
  const [first, last] = endLayers(facts);
  return first === null || last === null ? null : titanStages(layers, stages, first, last);
}

function listedStages(written: string, points: boolean, layers: number): readonly number[] {
  if (!points) return (written.slice(1).match(/\[[^[\]]*\]/g) ?? []).map((stage) => (stage.match(/layers\.\d+/g) ?? []).length);
  const starts = [0, ...[...written.matchAll(/layers\.(\d+)/g)].map(([, layer]) => Number(layer)), layers];
  return starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
}
