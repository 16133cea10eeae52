import { setsAllExceptOrder } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import type { Capabilities } from '../../run/facts';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { isMegatronShell } from '../shell/recognise';
import { megatronTraits } from '../traits';
import { isMegatronSwift, isMegatronSwiftScript } from './recognise';

const capabilities: Capabilities = {
  ...megatronCapabilities,
  setBy: setsAllExceptOrder,
  name: 'ms-swift with Megatron Core',
  source: 'modelscope/ms-swift at 3602360a, swift/megatron/arguments/megatron_args.py 480 to 620',
};

const traits = { ...megatronTraits, ignoresIdleRecompute: true };

/** Scripts that call `megatron sft`, `pt` or `rlhf` of ModelScope's ms-swift. */
export const megatronSwift: Launcher = {
  file: sentence`a script that calls megatron sft of ms-swift`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  isIts: ({ text }) => !isMegatronShell(text) && isMegatronSwiftScript(text),
  reader: null,
  traits,
  capabilities,
  modelNamed: modelOfHub,
};

/** The same arguments in a YAML, which `megatron sft FILE` and its trainers under Ray take. */
export const megatronSwiftYaml: Launcher = {
  file: sentence`a YAML of megatron sft of ms-swift`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isMegatronSwift(yaml()),
  reader: async () => (await import('./swift-yaml')).readMegatronSwiftYaml,
  traits,
  capabilities,
  modelNamed: modelOfHub,
};
