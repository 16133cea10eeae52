import { byDefault } from '../../domain/located';
import { ExpectedError } from '../../errors';
import { sentence } from '../../sentence';
import type { Layer } from '../../languages/layers';
import { readDeepSpeed } from './reader';
import type { FactName, Facts } from '../../run/facts';

/** Whether a file that a Trainer's launch names is a DeepSpeed JSON. */
export function isJson({ file }: Pick<Layer, 'file'>): boolean {
  return /\.json$/i.test(file);
}

/** What the DeepSpeed JSON of a Trainer's run sets of sharding; the Trainer's own arguments decide the batch and the precision. */
export function readShardingFacts(layer: Layer): Facts {
  return deepSpeedFacts(layer, ['zeroStage', 'offloadOptimizer', 'offloadParameters', 'gradAccumulationFp32', 'checkpointFormat']);
}

/** The optimizer of a DeepSpeed JSON, which goes before the one that the Trainer would make. */
export function optimizerOfDeepSpeed(layer: Layer): Facts {
  return deepSpeedFacts(layer, ['optimizer', 'masterWeightBytes', 'firstMomentBytes', 'secondMomentBytes']);
}

/** Some facts of a DeepSpeed JSON; none of a file that is not JSON: the run's own file sets what it can. */
function deepSpeedFacts({ file, text }: Layer, names: readonly FactName[]): Facts {
  try {
    const { facts } = readDeepSpeed(file, text);
    return Object.fromEntries(names.flatMap((name) => (facts[name] === undefined ? [] : [[name, facts[name]]])));
  } catch (error) {
    if (error instanceof ExpectedError) return {};
    throw error;
  }
}

/** With what gradient checkpointing of a Trainer means, where it is on; Megatron-LM's selective recompute has no method. */
export function withCheckpointing(facts: Facts): Facts {
  if (facts.recomputeGranularity?.value !== 'full' || facts.recomputeMethod !== undefined) return facts;
  const reason = sentence`gradient checkpointing of transformers recomputes layer by layer`;
  return { ...facts, recomputeMethod: byDefault('uniform', reason), recomputeLayers: byDefault(1, reason) };
}
