import { modelOfHub } from '../../huggingface/hub-models';
import { own } from '../../records';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { isMegatronShell } from '../shell/recognise';
import { megatronTraits } from '../traits';
import { isModelZooScript } from './recognise';

/** Scripts of Megatron-MoE-ModelZoo, which start Megatron-LM on a model by its name. */
export const moeModelZoo: Launcher = {
  file: sentence`a script that starts sbatch_benchmarking.sh of Megatron-MoE-ModelZoo`,
  endings: ['sh', 'bash'],
  isIts: ({ text }) => !isMegatronShell(text) && isModelZooScript(text),
  reader: null,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: {
    ...megatronCapabilities,
    name: 'Megatron-MoE-ModelZoo',
    source: 'yanring/Megatron-MoE-ModelZoo at e8650517, sbatch_benchmarking.sh and runtime_configs/benchmarking/runtime.conf',
  },
  modelNamed: (name) => modelOfHub(`${own(owners, /^[a-z]+/i.exec(name)?.[0] ?? '') ?? ''}${name}`),
};

/** Whose models its names are. */
const owners: Readonly<Record<string, string>> = {
  DeepSeek: 'deepseek-ai/',
  Kimi: 'moonshotai/',
  Mixtral: 'mistralai/',
  Qwen: 'Qwen/',
};
