import { byDefault } from '../spec/located';
import { ExpectedError } from '../errors';
import { sentence } from '../sentence';
import type { Layer } from './composition';
import { readDeepSpeed } from './deepspeed/reader';
import type { Facts } from './facts';

/** Whether a file that a Trainer's launch names is a DeepSpeed JSON. */
export function isJson({ file }: Pick<Layer, 'file'>): boolean {
  return /\.json$/i.test(file);
}

/**
 * What the DeepSpeed JSON of a Trainer's run says of sharding; the Trainer's own arguments decide the batch and the precision. Nothing of a
 * file that is no JSON: the run's own says what it can.
 */
export function shardingOf({ file, text }: Layer): Facts {
  try {
    const { facts } = readDeepSpeed(file, text);
    const { zeroStage, offloadOptimizer, offloadParameters, gradAccumulationFp32 } = facts;
    return {
      ...(zeroStage && { zeroStage }),
      ...(offloadOptimizer && { offloadOptimizer }),
      ...(offloadParameters && { offloadParameters }),
      ...(gradAccumulationFp32 && { gradAccumulationFp32 }),
    };
  } catch (error) {
    if (error instanceof ExpectedError) return {};
    throw error;
  }
}

/** The optimizer that a DeepSpeed JSON gives goes before the one that the Trainer would make. */
export function optimizerOfDeepSpeed({ file, text }: Layer): Facts {
  try {
    const { optimizer, masterWeightBytes, firstMomentBytes, secondMomentBytes } = readDeepSpeed(file, text).facts;
    return {
      ...(optimizer && { optimizer }),
      ...(masterWeightBytes && { masterWeightBytes }),
      ...(firstMomentBytes && { firstMomentBytes }),
      ...(secondMomentBytes && { secondMomentBytes }),
    };
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
