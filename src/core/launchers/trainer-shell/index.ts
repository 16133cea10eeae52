import { trainer } from '../hf-trainer/programs';
import { modelOfHub } from '../../huggingface/hub-models';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { isMegatronShell } from '../shell/recognise';
import { isMegatronSwiftScript } from '../megatron-swift/recognise';
import { isVerlScript } from '../verl/recognise';
import { modelOfMetaseq, optOfHub } from './metaseq';
import { isTrainerScript } from './recognise';
import { sentence } from '../../sentence';

/** Scripts that start a Trainer of Hugging Face, DeepSpeed's or OpenRLHF's programs, or metaseq's launcher of OPT. */
export const trainerShell: Launcher = {
  file: sentence`a script that starts Hugging Face's Trainer or metaseq`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  isIts: ({ text }) => !isMegatronShell(text) && !isMegatronSwiftScript(text) && !isVerlScript(text) && isTrainerScript(text),
  reader: null,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: trainer,
  modelNamed: (name, facts) => modelOfMetaseq(name, facts) ?? optOfHub(name) ?? modelOfHub(name),
};
