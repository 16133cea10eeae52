import { plainValues, type LocatedFields } from '../domain/located';
import type { Experts, ModelSpec, Stacks } from '../domain/model';
import type { ModelDetails } from '../domain/settings/model-details';
import { keyRules } from '../domain/settings/setting';
import { settings } from '../domain/settings/table';
import type { Rule } from '../domain/settings/rules';
import { stackKinds, usualStacks } from '../model/stacks';
import type { LocatedPartial, TrainingSettings } from './given';

type TraitName =
  | 'normsPerLayer'
  | 'normParameters'
  | 'qkNormAcrossHeads'
  | 'attentionSinks'
  | 'headBias'
  | 'embeddingNorm'
  | 'unusedPositions'
  | 'latent'
  | 'layerKinds'
  | 'mtpLayers'
  | 'state'
  | 'outputGate'
  | 'rotary'
  | 'normEpsilon'
  | 'details'
  | 'smallParameters';

/** What a model has beyond sizes that files write as numbers of their own: it follows from several of them, or from the family. */
export type ModelTraits = Pick<ModelSpec, TraitName> & {
  readonly experts?: Omit<Experts, 'count' | 'active'>;
  readonly stacks?: Omit<Stacks, 'encoderLayers'>;
};

/** A model as files write it: what describes its experts are keys of their own, each with its own place. */
export type WrittenModel = Omit<ModelSpec, 'experts' | 'ffn' | 'denseFfn' | 'stacks' | TraitName> & {
  /** Feed-forward width of dense layers, and of experts that have no width of their own. */
  readonly ffn: number;
  readonly experts: number | null;
  readonly activeExperts: number | null;
  /** Feed-forward width of one expert; null: `ffn`. */
  readonly expertFfn: number | null;
  /** Of `layers`, those of the encoder of an encoder-decoder model; null: only a decoder. */
  readonly encoderLayers: number | null;
};

/**
 * The model that is planned. A config that gives only one of the two numbers of experts is planned as a dense model; the finding
 * `experts-active` reports it.
 */
export function toModelSpec(model: LocatedFields<WrittenModel>, traits: ModelTraits = {}): ModelSpec {
  const { experts, activeExperts, expertFfn, encoderLayers, ffn, ...rest } = plainValues<WrittenModel>(model);
  const { experts: ofExperts, stacks, qkNormAcrossHeads, ...ofModel } = traits;
  // a class has it so where a config has such norms at all
  const others = { ...ofModel, ...(qkNormAcrossHeads === true && rest.qkNorm ? { qkNormAcrossHeads } : {}) };
  if (encoderLayers !== null)
    return {
      ...rest,
      ...others,
      ffn,
      experts: null,
      layerKinds: stackKinds(encoderLayers, rest.layers),
      stacks: { ...(stacks ?? usualStacks), encoderLayers },
    };
  if (experts === null || activeExperts === null) return { ...rest, ...others, ffn, experts: null };
  return {
    ...rest,
    ...others,
    ffn: expertFfn ?? ffn,
    ...(traits.layerKinds === undefined ? {} : { denseFfn: ffn }),
    experts: { count: experts, active: activeExperts, ...ofExperts },
  };
}

/** Traits of a model with some of its details replaced. */
export function withDetails(traits: ModelTraits, details: ModelDetails): ModelTraits {
  return Object.keys(details).length === 0 ? traits : { ...traits, details: { ...traits.details, ...details } };
}

/** The same with as many depths that predict further tokens as are trained. */
export function toTrainedModel({
  model,
  traits,
  training,
}: {
  readonly model: LocatedFields<WrittenModel>;
  readonly traits?: ModelTraits;
  readonly training: LocatedPartial<TrainingSettings>;
}): ModelSpec {
  const { mtpLayers, ...spec } = toModelSpec(model, traits);
  const depths = training.mtpLayers?.value ?? mtpLayers ?? 0;
  return depths > 0 && spec.stacks === undefined ? { ...spec, mtpLayers: depths } : spec;
}

/** `model` given inline. */
export const modelFields: {
  readonly [K in Exclude<keyof WrittenModel, 'modelType'>]: Rule<WrittenModel[K]>;
} = keyRules(settings.model);
