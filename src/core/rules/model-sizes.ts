import type { Fact, FactName, Facts } from '../run/facts';
import { sentence } from '../sentence';

/** Sizes and traits of a model that a launcher may leave to a name, a flavor or a config.json. */
const modelFacts = [
  'layers',
  'hidden',
  'heads',
  'kvHeads',
  'headDim',
  'ffn',
  'experts',
  'activeExperts',
  'expertFfn',
  'sharedExpertFfn',
  'denseLayers',
  'firstDenseLayers',
  'latentAttention',
  'tiedEmbeddings',
  'kvLoraRank',
  'qLoraRank',
  'qkNopeHeadDim',
  'qkRopeHeadDim',
  'vHeadDim',
] as const satisfies readonly FactName[];

/**
 * What a launcher's file sets, with the sizes of its model where the file leaves them out: known by a name of the hub, a flavor, or a
 * config.json. They count as defaults, so that findings are at values of the file itself. Models of two stacks, and of layers with a state,
 * are left unchanged: their sizes do not mean the same to a launcher.
 */
export function withModelSizes(facts: Facts, model: Facts): Facts {
  if (model.encoderLayers !== undefined || model.stateKind !== undefined || facts.hybridPattern !== undefined) return facts;
  const source = { kind: 'default', reason: sentence`the model has it` } as const;
  const known = modelFacts.flatMap((name): [FactName, Fact<unknown>][] => {
    const fact: Fact<unknown> | undefined = model[name];
    return facts[name] !== undefined || fact === undefined ? [] : [[name, { value: fact.value, source }]];
  });
  return { ...(Object.fromEntries(known) as Facts), ...facts };
}
