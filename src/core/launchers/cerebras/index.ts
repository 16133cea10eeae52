import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** Cerebras' Model Zoo: replicas on wafers, which stream the weights of one layer after the other. */
export const cerebras: Launcher = {
  file: sentence`a YAML of Cerebras' Model Zoo`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isModelZoo(yaml()),
  reader: async () => (await import('./cerebras')).readCerebras,
  traits: { ...fsdpTraits, runtime: 'ddp', batchOfReplica: null, accelerator: 'Cerebras systems' },
  capabilities: {
    name: "Cerebras' Model Zoo",
    source: 'Cerebras/modelzoo at f1fd1e0, src/cerebras/modelzoo/models/nlp/gpt2/model.py and models/nlp/llama/configs',
    setBy: setBy([]),
    refuses: [],
    recomputes: wholeLayersOnly,
    silent: { precision: 'fp16', microBatch: 1, zeroStage: 0, recomputeGranularity: 'none' },
  },
};

function isModelZoo({ sections }: YamlHead): boolean {
  const trainer = sections.get('trainer');
  return hasAny(trainer, ['init']) && hasAny(trainer, ['fit', 'validate', 'validate_all']);
}
