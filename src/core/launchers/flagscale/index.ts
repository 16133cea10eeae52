import { composing } from '../composition';
import { megatronCapabilities, type Glance, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { hasAny } from '../../languages/yaml/head';
import { parallelSizes } from '../megatron/core-keys';
import { sentence } from '../../sentence';

/** FlagScale's training: the task with its nodes, and files of the group `train`. */
export const flagScale: Launcher = {
  file: sentence`a FlagScale YAML`,
  endings: ['yaml', 'yml'],
  isIts: isFlagScale,
  reader: async () => composing((await import('./flagscale')).flagScaleFiles),
  editor: async () => (await import('./write')).flagScaleEditor,
  traits: { ...megatronTraits, takesMegatronArguments: true },
  capabilities: { ...megatronCapabilities, name: 'FlagScale', source: 'flagos-ai/FlagScale, flagscale/train, which starts Megatron-LM' },
};

function isFlagScale({ text, yaml }: Glance): boolean {
  const { sections } = yaml();
  // its layers are none of a Transformer
  if (/rwkv/i.test(text)) return false;
  const system = sections.get('system');
  if (hasAny(system, parallelSizes) && hasAny(sections.get('model'), ['num_layers', 'hidden_size'])) return true;
  return (
    hasAny(sections.get('experiment'), ['runner', 'task']) &&
    sections.has('defaults') &&
    /^[ \t]+backend:[ \t]*megatron[ \t]*(#|$)/m.test(text) &&
    /^[ \t]+type:[ \t]*train[ \t]*(#|$)/m.test(text)
  );
}
