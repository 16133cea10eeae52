import { setBy, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** ServiceNow's Fast-LLM: tensor and pipeline parallelism, and ZeRO in three stages. */
export const fastLlm: Launcher = {
  file: sentence`a Fast-LLM YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isFastLlm(yaml()),
  reader: async () => (await import('./fast-llm')).readFastLlm,
  traits: { ...megatronTraits, padsVocabulary: false, repeatsKeyValueHeads: false, hasOwnChecks: true, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'Fast-LLM',
    source:
      'ServiceNow/Fast-LLM at 7d61a1ba, fast_llm/engine/distributed/config.py 170 to 243 and fast_llm/engine/multi_stage/config.py 77 to 202',
    setBy: setBy(['tensor', 'pipeline', 'context', 'microBatch', 'zeroStage']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    silent: {
      precision: 'fp32',
      zeroStage: 1,
      gradientAccumulation: 1,
      gradAccumulationFp32: true,
      recomputeGranularity: 'none',
      attention: 'flash',
      fusedCrossEntropy: true,
    },
  },
  modelNamed: modelOfHub,
};

function isFastLlm({ sections }: YamlHead): boolean {
  return (
    hasAny(sections.get('training'), ['train_iters']) &&
    hasAny(sections.get('model'), ['base_model', 'multi_stage', 'distributed']) &&
    (sections.has('batch') || sections.has('data'))
  );
}
