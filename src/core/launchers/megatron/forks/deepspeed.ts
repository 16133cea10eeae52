import { setBy, zero3WithExperts, zeroWithModule, zeroWithPipeline, wholeLayersOnly } from '../../../domain/capabilities';
import type { Capabilities, Facts } from '../../../run/facts';
import type { MegatronFork } from '../fork';

/** Both forks have them, and no other program of the family. */
const deepspeedFlags = ['deepspeed', 'deepspeed-config', 'zero-stage', 'deepspeed-activation-checkpointing', 'universal-checkpoint'];

const sizes = ['tensor', 'pipeline', 'microBatch', 'recompute', 'zeroStage', 'offloadOptimizer'] as const;

/**
 * Microsoft's fork: layers lie in DeepSpeed's `PipelineModule`, which assigns them by weight (`partition_method='type:transformer'`,
 * megatron/model/gpt_model.py 463), so that they need not divide.
 */
export const megatronDeepSpeed: MegatronFork = {
  name: 'Megatron-DeepSpeed',
  source: 'microsoft/Megatron-DeepSpeed at f4157bea',
  signs: {
    flags: [
      ...deepspeedFlags,
      'no-pipeline-parallel',
      'ds-sequence-parallel-size',
      'moe-expert-parallel-size',
      'use-rotary-position-embeddings-deepspeed',
      'ds-inference',
    ],
    text: /Megatron-DeepSpeed/,
    repository: /microsoft[+/]Megatron-DeepSpeed/,
  },
  choices: {},
  traits: { refusesUnevenLayers: false },
};

/** BigScience's fork of it, which trained BLOOM; `--pp-partition-method` sets how layers are assigned (megatron/model/gpt_model.py 310). */
export const bigscience: MegatronFork = {
  name: "BigScience's Megatron-DeepSpeed",
  source: "BigScience's Megatron-DeepSpeed at 8387ae17",
  signs: {
    flags: [...deepspeedFlags, 'pp-partition-method', 'pad-vocab-size-to', 'embed-layernorm', 'train-weighted-split-paths-path', 'kill-switch-path', 'abort-on-unmet-fused-kernel-constraints', 'sync-tp-duplicated-parameters'], // prettier-ignore
    text: /bigscience|\bsix_ALL_CCFR/i,
    repository: /bigscience/i,
  },
  // megatron/enums.py 32 to 35
  choices: { 'position-embedding-type': ['rotary', 'absolute', 'alibi'] },
  traits: { refusesUnevenLayers: false, wholeRecomputeFlag: '--checkpoint-activations' },
  capabilities: {
    name: "BigScience's Megatron-DeepSpeed",
    source: "BigScience's Megatron-DeepSpeed at 8387ae17, megatron/arguments.py 500 to 530, megatron/model/gpt_model.py 310",
    setBy: setBy(sizes),
    refuses: [],
    recomputes: wholeLayersOnly,
    hasFixedStageLayers: true,
    silent: {},
  },
};

/** What either runs: ZeRO 2 and 3 where the model is not a pipeline module. */
export function megatronDeepSpeedCapabilities({ pipelineModule }: Facts): Capabilities {
  return {
    name: 'Megatron-DeepSpeed',
    source: 'deepspeedai/Megatron-DeepSpeed at 4efb479d, megatron/arguments.py, and deepspeed/runtime/pipe/engine.py 76',
    setBy: setBy([...sizes, 'context', 'expert', 'sequenceParallel']),
    refuses: [pipelineModule?.value === false ? zeroWithPipeline : zeroWithModule, zero3WithExperts],
    recomputes: wholeLayersOnly,
    hasFixedStageLayers: true,
    silent: {},
  };
}
