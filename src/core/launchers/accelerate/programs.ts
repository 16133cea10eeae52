import { setBy, zero3WithAutoTensor, zeroWithPipeline, wholeLayersOnly } from '../../domain/capabilities';
import type { Capabilities, Program } from '../../run/facts';
import { megatronCapabilities } from '../launcher';
import { own } from '../../records';

const source =
  'huggingface/accelerate at 16cb6eb8, src/accelerate/accelerator.py 799, parallelism_config.py 329 to 379, commands/launch.py 514';

/** What the file sets whatever shards: the training script has the batch. */
export const accelerateCapabilities: Capabilities = {
  name: 'Accelerate',
  source,
  setBy: setBy(['context'], ['tensor', 'expert', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer']),
  refuses: [zeroWithPipeline, zero3WithAutoTensor],
  recomputes: wholeLayersOnly,
  silent: {},
};

/** Transformers' own loss, without DeepSpeed. */
const silent: Capabilities['silent'] = { fusedCrossEntropy: false };

/** By `distributed_type`. */
const programs: Readonly<Record<string, Program>> = {
  DEEPSPEED: {
    name: 'Accelerate with DeepSpeed',
    traits: {},
    capabilities: {
      ...accelerateCapabilities,
      setBy: setBy(['zeroStage', 'offloadOptimizer'], ['tensor', 'context', 'expert', 'microBatch', 'recompute']),
    },
  },
  MULTI_GPU: {
    name: 'Accelerate with DDP',
    traits: { runtime: 'ddp' },
    capabilities: { ...accelerateCapabilities, refuses: [], silent },
  },
  FSDP: {
    name: 'Accelerate with FSDP',
    traits: { runtime: 'fsdp1' },
    capabilities: {
      ...accelerateCapabilities,
      setBy: setBy(['recompute', 'context'], ['tensor', 'expert', 'microBatch', 'zeroStage', 'offloadOptimizer']),
      refuses: [],
      silent,
    },
  },
  MEGATRON_LM: {
    name: 'Accelerate with Megatron-LM',
    traits: { runtime: 'megatron' },
    capabilities: {
      ...megatronCapabilities,
      name: 'Accelerate',
      source,
      setBy: setBy(['tensor', 'pipeline', 'context', 'expert', 'sequenceParallel', 'recompute', 'zeroStage'], ['microBatch']),
      recomputes: ['none', 'core'],
    },
  },
};

/** The program that a file of this `distributed_type` starts; undefined: as of any. */
export function accelerateProgram(type: string): Program | undefined {
  return own(programs, type);
}
