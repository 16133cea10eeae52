import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';

/** Hugging Face's nanotron. */
export const nanotron: Launcher = {
  file: sentence`a nanotron YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isNanotron(yaml()),
  reader: async () => (await import('./nanotron')).readNanotron,
  editor: async () => (await import('./write')).nanotronEditor,
  traits: { ...megatronTraits, runtime: 'nanotron', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'nanotron',
    source: 'huggingface/nanotron at 2411b022, src/nanotron/config/parallelism_config.py 31 to 44 and config.py 343 to 542',
    setBy: setBy(['tensor', 'pipeline', 'context', 'expert', 'microBatch', 'zeroStage', 'recompute', 'sequenceParallel']),
    refuses: [],
    recomputes: wholeLayersOnly,
    hasFixedStageLayers: true,
    ownTraining: true,
    silent: { recomputeGranularity: 'none' },
  },
};

function isNanotron({ sections }: YamlHead): boolean {
  const layout = sections.get('parallelism');
  return (
    layout !== undefined && ['dp', 'tp', 'pp'].every((name) => layout.has(name)) && hasAny(sections.get('tokens'), ['micro_batch_size'])
  );
}
