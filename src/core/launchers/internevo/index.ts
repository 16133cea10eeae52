import { setBy } from '../../domain/capabilities';
import { sentence } from '../../sentence';
import { composing } from '../composition';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';

/** InternLM's trainer: tensor and pipeline parallelism, or sequence and weight parallelism, with ZeRO 1 or FSDP. */
export const internevo: Launcher = {
  file: sentence`a config of InternEvo in Python`,
  endings: [],
  namedEndings: ['py'],
  paths: /(^|[/\\])configs[/\\](?:[^/\\]+[/\\]){0,3}[^/\\]+\.py$/,
  isIts: ({ text }) => isInternevo(text),
  reader: async () => composing((await import('./internevo')).internevoFiles),
  traits: {
    ...megatronTraits,
    hasOwnChecks: true,
    padsVocabulary: false,
    refusesUnevenLayers: false,
    ignoresLoneRecompute: false,
    batchOfReplica: 'accumulated',
  },
  capabilities: {
    name: 'InternEvo',
    source: 'InternLM/InternEvo at c628a8c8, internlm/initialize/launch.py 75 to 445 and internlm/model/modeling_internlm2.py 1060 to 1096',
    setBy: setBy(['tensor', 'pipeline', 'virtualStages', 'context', 'microBatch', 'zeroStage', 'recompute', 'sequenceParallel']),
    refuses: [],
    recomputes: ['none', 'full'],
    silent: {
      precision: 'bf16',
      recomputeGranularity: 'none',
      gradientAccumulation: 1,
      gradAccumulationFp32: false,
      tensor: 1,
      pipeline: 1,
    },
  },
};

/** Sections at the start of a line, as its examples have them: the model of a base, or a run's data and parallel sizes. */
function isInternevo(text: string): boolean {
  const has = (name: string): boolean => new RegExp(`^${name}[ \\t]*=[ \\t]*dict\\(`, 'm').test(text);
  const isRun = has('data') && /\bmicro_num[ \t]*=/.test(text) && (has('hybrid_zero_optimizer') || has('parallel'));
  return isRun || (has('model') && has('parallel') && /^model_type[ \t]*=/m.test(text));
}
