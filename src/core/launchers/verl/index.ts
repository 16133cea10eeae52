import { setsAllExceptOrder } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { megatronCapabilities, type Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { isMegatronShell } from '../shell/recognise';
import { isVerlScript } from './recognise';
import { sentence } from '../../sentence';

/** Scripts that start verl: reinforcement learning and fine-tuning of a model, with FSDP or Megatron Core. */
export const verl: Launcher = {
  file: sentence`a script that starts verl`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  isIts: ({ text }) => !isMegatronShell(text) && isVerlScript(text),
  reader: null,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: {
    ...megatronCapabilities,
    setBy: setsAllExceptOrder,
    name: 'verl',
    source: 'volcengine/verl at b178a3cd, verl/workers/config/engine.py 110 to 174',
  },
  modelNamed: modelOfHub,
};
