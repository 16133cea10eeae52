import { composing } from '../composition';
import { shardedPipeline } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import type { ModelOfLauncher } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { parallelSizes } from '../megatron/core-keys';
import { bridgeClassConfig } from './bridge-classes';
import { sentence } from '../../sentence';

/** What its overrides and its recipes have in common. */
const shared: Pick<Launcher, 'traits' | 'capabilities' | 'modelNamed'> = {
  traits: { ...megatronTraits, leavesOpen: true },
  capabilities: {
    ...megatronCapabilities,
    name: 'Megatron-Bridge',
    source: 'NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/training/config.py',
    refuses: [shardedPipeline],
  },
  modelNamed: modelOfBridge,
};

/** Overrides of a recipe of Megatron-Bridge, which is Python and decides what they leave out. */
export const megatronBridge: Launcher = {
  file: sentence`a Megatron-Bridge YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isMegatronBridge(yaml()),
  reader: async () => (await import('./megatron-bridge')).readMegatronBridge,
  editor: async () => (await import('./write')).bridgeEditor,
  exported: { id: 'nemo', name: 'Megatron-Bridge (NeMo)', what: sentence`YAML overrides`, language: 'yaml', into: ['nemo'] },
  ...shared,
};

/** Recipes of Megatron-Bridge themselves. */
export const bridgePython: Launcher = {
  ...shared,
  file: sentence`a recipe of Megatron-Bridge`,
  endings: [],
  namedEndings: ['py'],
  paths: /(^|[/\\])recipes[/\\].*\.py$/,
  isIts: ({ text }) => text.includes('megatron.bridge') && /^def [a-z]\w*\([^)]{0,400}\)\s*->\s*"?(?:\w+\.)*ConfigContainer\b/m.test(text),
  reader: async () => composing((await import('./recipe')).recipeFiles),
};

function modelOfBridge(flavor: string): ModelOfLauncher {
  const config = bridgeClassConfig(flavor);
  return config === null ? modelOfHub(flavor) : { name: flavor, home: { launcher: 'Megatron-Bridge' }, config };
}

const bridgeSections = [
  'train',
  'ddp',
  'dist',
  'dataset',
  'optimizer',
  'scheduler',
  'checkpoint',
  'logger',
  'mixed_precision',
  'comm_overlap',
];

/**
 * Overrides of a Megatron-Bridge recipe: Megatron Core's parallel sizes under `model`, or its batch sizes under `train`; no Lightning
 * trainer.
 */
function isMegatronBridge({ sections }: YamlHead): boolean {
  if (sections.has('trainer')) return false;
  const train = sections.get('train');
  const trains =
    train !== undefined &&
    train.has('micro_batch_size') &&
    train.has('global_batch_size') &&
    hasAny(train, ['train_iters', 'train_samples']);
  return trains || (hasAny(sections.get('model'), parallelSizes) && bridgeSections.some((name) => sections.has(name)));
}
