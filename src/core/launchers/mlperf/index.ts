import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import { megatronCapabilities, type Launcher } from '../launcher';
import { isMegatronShell } from '../shell/recognise';
import { megatronTraits } from '../traits';
import { isTrainerScript } from '../trainer-shell/recognise';
import { isVerlScript } from '../verl/recognise';
import { isMlperfConfig } from './recognise';

/** `config_*.sh` of submissions to MLPerf Training: variables of a run of NeMo, which `run.sub` starts. */
export const mlperf: Launcher = {
  file: sentence`a config_*.sh of MLPerf Training`,
  endings: ['sh', 'bash'],
  isIts: ({ text }) => !isMegatronShell(text) && !isVerlScript(text) && !isTrainerScript(text) && isMlperfConfig(text),
  reader: null,
  traits: { ...megatronTraits, ignoresIdleRecompute: true },
  capabilities: {
    ...megatronCapabilities,
    name: 'NeMo for MLPerf',
    source:
      'mlcommons/training_results_v5.1 at 441d65f4, NVIDIA/benchmarks/llama31_405b/implementations/hsg_ngpu2560_ngc25.09_nemo/conf/llama31_config_custom.yaml',
  },
  modelNamed: modelOfHub,
};
