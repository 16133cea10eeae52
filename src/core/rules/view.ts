import type { ConfigFormat } from '../formats/config-format';
import type { Fact, FactName, Facts, LauncherFile } from '../formats/facts';
import type { Run } from '../formats/run';
import { traitsOf } from '../formats/traits';
import type { ModelTraits } from '../formats/written-model';
import type { Located } from '../spec/located';

/** A loaded config as rules see it: plain values with their places, in one vocabulary whatever file they stand in. */
export interface ConfigView {
  readonly facts: Facts;
  readonly format: ConfigFormat;
  /** What the model has beyond sizes: kinds of its layers, its second stack. */
  readonly traits: ModelTraits;
  /** A setting or the cluster deals the layers to the stages otherwise than evenly. */
  readonly dealsOtherwise: boolean;
}

/** Kinds of more layers than any model has are not listed. */
const mostLayers = 10_000;

/** A launcher's file as rules see it. */
export function viewOfLauncher({ facts, format }: Pick<LauncherFile, 'facts' | 'format'>): ConfigView {
  const dealsOtherwise = facts.firstStageLayers !== undefined || facts.lastStageLayers !== undefined || facts.pipelineLayout !== undefined;
  return { facts, format, traits: (facts.layers?.value ?? 0) <= mostLayers ? traitsOf(facts) : {}, dealsOtherwise };
}

/** The settings of a terapipe.json that have a fact's meaning, by the name of the fact. */
const settingKeys = {
  layers: 'model.layers',
  hidden: 'model.hidden',
  heads: 'model.heads',
  kvHeads: 'model.kvHeads',
  headDim: 'model.headDim',
  ffn: 'model.ffn',
  vocab: 'model.vocab',
  maxPositions: 'model.maxPositions',
  positions: 'model.positions',
  experts: 'model.experts',
  activeExperts: 'model.activeExperts',
  expertFfn: 'model.expertFfn',
  tensor: 'layout.tensor',
  pipeline: 'layout.pipeline',
  data: 'layout.data',
  context: 'layout.context',
  expert: 'layout.expert',
  expertTensor: 'layout.expertTensor',
  virtualStages: 'layout.virtualStages',
  sequenceLength: 'training.sequenceLength',
  microBatch: 'training.microBatch',
  globalBatch: 'training.globalBatch',
  zeroStage: 'training.zeroStage',
  recomputeGranularity: 'training.recompute',
  recomputeModules: 'training.recomputeModules',
  attention: 'training.attention',
  sequenceParallel: 'training.sequenceParallel',
  nodes: 'cluster.nodes',
  gpusPerNode: 'cluster.gpusPerNode',
} as const satisfies Partial<Record<FactName, string>>;

/** The key of terapipe.json that says what a fact does; undefined: it has none. */
export function settingOf(name: FactName): string | undefined {
  return (settingKeys as Partial<Record<FactName, string>>)[name];
}

/** Sizes that the planner takes for 1 where a terapipe.json is silent; the other ones it chooses. */
const ones = ['context', 'microBatch'] as const;

/** A run of a terapipe.json or a model config as rules see it. */
export function viewOfRun(run: Run): ConfigView {
  const sections: Readonly<Record<string, object>> = { model: run.model, layout: run.layout, training: run.training, cluster: run };
  const facts: Partial<Record<FactName, Fact<unknown>>> = {};
  for (const name of ones) facts[name] = { value: 1, source: { kind: 'default', because: 'the planner takes 1' } };
  for (const [name, key] of Object.entries(settingKeys)) {
    const [section = '', field = ''] = key.split('.');
    const given = (sections[section] as Readonly<Record<string, Located<unknown> | undefined>>)[field];
    if (given !== undefined && given.value !== null) facts[name as FactName] = { ...given, name: key };
  }
  const traits = run.traits ?? {};
  if (traits.latent !== undefined) facts.latentAttention = { value: true, source: run.model.kvHeads.source };
  const { value: layers } = run.model.layers;
  const isCutApart = run.groups !== undefined || run.model.encoderLayers.value !== null;
  const dealsOtherwise = run.layout.stageLayers !== undefined || (isCutApart && (run.layout.pipeline?.value ?? 1) <= layers);
  return { facts: facts as Facts, format: run.format, traits, dealsOtherwise };
}
