import { sum } from '../numbers';
import type { Fact, FactName, Facts, LauncherFile } from '../run/facts';
import type { Run } from '../run/run';
import { countOf } from './counts';
import { megatronStages } from './megatron/stage-layers';
import { launcherTraits } from './registry';
import { titanPipelineSize, titanTotalStages, titanStageLayers } from './torchtitan/stage-layers';
import { silentSize } from './traits';

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
 * The run with the layers of each stage that its launcher's settings give, and the virtual stages that follow from them; unchanged where
 * they give none, or some that do not add up.
 */
export function withStageLayers(run: Run, { facts, format, text }: Pick<LauncherFile, 'facts' | 'format' | 'text'>): Run {
  const traits = launcherTraits(format);
  const names: readonly FactName[] = traits.countsEndsAsLayers ? titanSettings : megatronSettings;
  const setting = names
    .map((name): Fact<unknown> | undefined => facts[name])
    .find(
      (fact) => fact !== undefined && fact.value !== false && (fact !== facts.hybridPattern || facts.hybridPattern.value.includes('|')),
    );
  const pipeline = run.layout.pipeline?.value ?? 1;
  const layers = run.model.layers.value;
  if (setting === undefined || pipeline === 1) return run;
  const stages = traits.countsEndsAsLayers ? titanCut(facts, text, layers) : megatronStages(facts, silentSize(traits), layers);
  const virtual = (stages?.length ?? 0) / pipeline;
  if (stages === null || virtual < 1 || !Number.isInteger(virtual) || sum(stages) !== layers) return run;
  const { source } = setting;
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
  const pipeline = titanPipelineSize(facts) ?? 1;
  const stages = titanTotalStages(known) ?? pipeline * (countOf(facts, 'virtualStages') ?? 1);
  return titanStageLayers(known, text, stages, layers);
}
