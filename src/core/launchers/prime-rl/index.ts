import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { fsdpTraits } from '../traits';

/** Prime Intellect's prime-rl: reinforcement learning and fine-tuning with FSDP2, context and expert parallelism. */
export const primeRl: Launcher = {
  file: sentence`a prime-rl TOML`,
  endings: ['toml'],
  isIts: ({ text }) => isPrimeRl(text),
  reader: async () => (await import('./prime-rl')).readPrimeRl,
  traits: fsdpTraits,
  capabilities: {
    name: 'prime-rl',
    source: 'PrimeIntellect-ai/prime-rl at 559b4477, packages/prime-rl-configs/src/prime_rl/configs/trainer.py 175 to 262, sft.py, rl.py',
    setBy: setBy(['context', 'expert', 'recompute', 'offloadOptimizer']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    // weights and reductions in fp32; blocks are compiled
    silent: {
      ...silentCheckpointing(true),
      precision: 'bf16',
      zeroStage: 3,
      microBatch: 1,
      gradAccumulationFp32: true,
      compile: true,
      cpuCheckpointing: true,
    },
  },
  modelNamed: modelOfHub,
};

/** Sections at the head of a line: of reinforcement learning its orchestrator, of fine-tuning its data with a deployment or a renderer. */
function isPrimeRl(text: string): boolean {
  const head = text.slice(0, 100_000);
  const has = (section: string): boolean => new RegExp(`^\\[{1,2}${section}(?:\\.[\\w.-]+)?\\]`, 'm').test(head);
  if (has('training') || has('parallelism')) return false;
  return has('orchestrator') || (has('model') && has('data') && (has('deployment') || has('renderer')));
}
