import { familiarModel } from '../../huggingface/hub-models';
import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import { parallelSizes } from '../megatron/core-keys';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** NeuronX Distributed Training of AWS, on Trainium. */
export const nxdt: Launcher = {
  file: sentence`an NxDT YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isNxdt(yaml()),
  reader: async () => (await import('./nxdt')).readNxdt,
  traits: { ...megatronTraits, accelerator: 'AWS Trainium', refusesUnevenLayers: false },
  capabilities: {
    name: 'NxDT',
    source:
      'aws-neuron/neuronx-distributed-training at 9169aa03, src/neuronx_distributed_training/lightning_modules/model/base.py 45 to 160',
    setBy: setBy(['tensor', 'pipeline', 'virtualStages', 'context', 'expert', 'microBatch', 'zeroStage', 'recompute', 'sequenceParallel']),
    refuses: [],
    recomputes: [...wholeLayersOnly, 'core'],
    hasFixedStageLayers: true,
    silent: { recomputeGranularity: 'none' },
  },
  modelNamed: (name) => ({ name, home: 'preset', config: familiarModel(name) }),
};

/** Sections of NeMo 1.x, with the parallel sizes in one of its own. */
export function isNxdt({ sections }: YamlHead): boolean {
  return sections.has('trainer') && sections.has('model') && hasAny(sections.get('distributed_strategy'), parallelSizes);
}
