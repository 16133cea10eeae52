import { megatronTraits, type Glance, type Launcher } from '../launcher';
import { hasAny } from '../yaml/recognise';
import { primusFiles } from './primus';

/** AMD's Primus with its Megatron backend: experiments, and the presets of models that they build on. */
export const primus: Launcher = {
  file: 'a Primus YAML',
  endings: ['yaml', 'yml'],
  isIts: isPrimus,
  read: (file, text) => primusFiles.read([{ file, text }]),
  composition: primusFiles,
  traits: { ...megatronTraits, takesMegatronArguments: true },
};

function isPrimus({ text, yaml }: Glance): boolean {
  const { sections } = yaml();
  // images and video
  if (/^[ \t]*(model|- )[: \t]*["']?diffusion/m.test(text)) return false;
  if (sections.has('modules')) return /^[ \t]+framework:[ \t]*["']?megatron["']?[ \t]*(#|$)/m.test(text);
  return sections.has('extends') && hasAny(new Set(sections.keys()), ['num_layers', 'hidden_size']);
}
