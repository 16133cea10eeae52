import { setBy, wholeLayersOnly } from '../../../domain/capabilities';
import type { MegatronFork } from '../fork';

/** Megatron-LM itself, with Megatron Core. The records of its forks have what they change. */
export const nvidia: MegatronFork = {
  name: 'Megatron-LM',
  source: 'NVIDIA/Megatron-LM at d98e8a64',
  signs: {
    flags: [
      'pipeline-model-parallel-layout',
      'decoder-first-pipeline-num-layers',
      'decoder-last-pipeline-num-layers',
      'account-for-embedding-in-pipeline-split',
      'account-for-loss-in-pipeline-split',
      'num-virtual-stages-per-pipeline-rank',
      'hybrid-layer-pattern',
      'cuda-graph-impl',
      'inference-dynamic-batching',
      'use-megatron-fsdp',
    ],
    text: null,
    repository: /(?:^|[/\\+\s"'=])(?:NVIDIA[+/])?Megatron-LM(?=[/\\\s"']|$)/,
  },
  choices: { 'position-embedding-type': ['learned_absolute', 'rope', 'mrope', 'yarn', 'relative', 'none'] },
  traits: { hasSilentBiases: true },
};

/** Megatron-LM before Core, by flags that it has dropped since; its `--checkpoint-activations` needed no other flag. */
export const legacy: MegatronFork = {
  name: 'Megatron-LM before Megatron Core',
  source: 'NVIDIA/Megatron-LM at v3.0',
  signs: {
    flags: ['checkpoint-activations', 'checkpoint-num-layers', 'activations-checkpoint-method', 'model-parallel-size', 'ddp-impl'],
    text: null,
    repository: /$^/,
  },
  choices: {},
  traits: { wholeRecomputeFlag: '--checkpoint-activations' },
  capabilities: {
    name: 'Megatron-LM before Megatron Core',
    source: 'NVIDIA/Megatron-LM at v3.0, megatron/arguments.py',
    setBy: setBy(['tensor', 'pipeline', 'virtualStages', 'microBatch', 'recompute', 'zeroStage']),
    refuses: [],
    recomputes: wholeLayersOnly,
    hasFixedStageLayers: true,
    silent: {},
  },
};
