import { shardedPipeline } from '../../domain/capabilities';
import { composing } from '../composition';
import { familiarModel, hubModel, modelOfHub } from '../../huggingface/hub-models';
import { megatronCapabilities, type Glance, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import type { ModelOfLauncher } from '../../huggingface/hub-models';
import { torchtitan } from '../torchtitan';
import { flavorConfig, flavorDetails, flavorOfPreset } from '../torchtitan/flavors';
import { hasAny } from '../../languages/yaml/head';
import { sentence } from '../../sentence';

/** AMD's Primus with its Megatron backend: experiments, and the presets of models that they build on. */
export const primus: Launcher = {
  file: sentence`a Primus YAML`,
  endings: ['yaml', 'yml'],
  isIts: isPrimus,
  reader: async () => composing((await import('./primus')).primusFiles),
  editor: async () => (await import('./write')).primusEditor,
  traits: { ...megatronTraits, takesMegatronArguments: true, modelSetsTraining: true },
  capabilities: { ...megatronCapabilities, name: 'Primus', source: 'AMD-AGI/Primus, primus/backends/megatron, which starts Megatron-LM' },
  modelNamed: modelOfPreset,
};

/** Primus with TorchTitan. */
export const primusTorchtitan: Launcher = {
  file: sentence`a Primus YAML for TorchTitan`,
  endings: ['yaml', 'yml'],
  isIts: (glance) => isExperiment(glance, 'torchtitan'),
  reader: async () => composing((await import('./backends')).primusTitanFiles),
  editor: async () => (await import('./write')).primusTorchtitanEditor,
  traits: torchtitan.traits,
  capabilities: torchtitan.capabilities,
  modelNamed: (flavor, facts) => {
    const known = torchtitan.modelNamed?.(flavor, facts);
    if (facts.modelType !== undefined && known !== undefined) return known;
    const preset = flavorOfPreset(flavor);
    if (preset === null) return { name: flavor, home: 'preset', config: null };
    return { name: flavor, home: 'preset', config: flavorConfig(...preset), details: flavorDetails(...preset) };
  },
};

/** Primus with Megatron-Bridge. */
export const primusBridge: Launcher = {
  file: sentence`a Primus YAML for Megatron-Bridge`,
  endings: ['yaml', 'yml'],
  isIts: (glance) => isExperiment(glance, 'megatron_bridge'),
  reader: async () => composing((await import('./backends')).primusBridgeFiles),
  editor: async () => (await import('./write')).primusBridgeEditor,
  traits: { ...megatronTraits, leavesOpen: true },
  capabilities: {
    ...megatronCapabilities,
    name: 'Primus',
    source: 'AMD-AGI/Primus, primus/backends/megatron_bridge',
    refuses: [shardedPipeline],
  },
  modelNamed: (flavor) => (hubModel(flavor) === null ? modelOfPreset(flavor) : modelOfHub(flavor)),
};

function modelOfPreset(flavor: string): ModelOfLauncher {
  return { name: flavor, home: 'preset', config: familiarModel(flavor) };
}

function isPrimus(glance: Glance): boolean {
  const { text, yaml } = glance;
  const { sections } = yaml();
  // images and video
  if (/^[ \t]*(model|- )[: \t]*["']?diffusion/m.test(text)) return false;
  if (sections.has('modules')) return isExperiment(glance, 'megatron');
  if (sections.has('num_joint_layers') || sections.has('num_single_layers')) return false;
  const builds = sections.has('extends') || sections.has('bases');
  return builds && hasAny(new Set(sections.keys()), ['num_layers', 'hidden_size']);
}

function isExperiment({ text, yaml }: Glance, backend: string): boolean {
  if (!yaml().sections.has('modules')) return false;
  return [...text.matchAll(/^[ \t]+framework:[ \t]*["']?(\w+)["']?[ \t]*(?:#|\r?$)/gm)].some(([, name]) => name === backend);
}
