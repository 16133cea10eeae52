import { megatronTraits, type Launcher } from '../launcher';
import { hasAny, parallelSizes, type YamlHead } from '../yaml/recognise';
import { readNemo } from './nemo';

/** NeMo 1.x, as in NeMo-Framework-Launcher. */
export const nemo: Launcher = {
  file: 'a NeMo YAML',
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isNemo(yaml()),
  read: readNemo,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
};

/** NeMo 1.x: a Lightning trainer, and a model with Megatron's parallel sizes. Its speech and vision configs have none. */
function isNemo({ sections }: YamlHead): boolean {
  return sections.has('trainer') && hasAny(sections.get('model'), [...parallelSizes, 'encoder_seq_length']);
}
