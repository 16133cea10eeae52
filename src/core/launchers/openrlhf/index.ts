import { setBy, silentCheckpointing, wholeLayersOnly, zero3WithAutoTensor } from '../../domain/capabilities';
import { modelOfHub } from '../../huggingface/hub-models';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { isMegatronShell } from '../shell/recognise';
import { megatronTraits } from '../traits';
import { isOpenRlhfScript } from './recognise';

/** Scripts that start OpenRLHF: PPO and its kin over Ray, SFT, reward models and DPO, all under DeepSpeed. */
export const openRlhf: Launcher = {
  file: sentence`a script that starts OpenRLHF`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  isIts: ({ text }) => !isMegatronShell(text) && isOpenRlhfScript(text),
  reader: null,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated' },
  capabilities: {
    name: 'OpenRLHF',
    source:
      'OpenRLHF/OpenRLHF at 3c3be623, openrlhf/cli/train_ppo_ray.py 200 to 520, train_sft.py 166 to 284, utils/deepspeed/deepspeed.py 78',
    setBy: setBy(['microBatch', 'recompute', 'zeroStage', 'tensor', 'context', 'offloadOptimizer']),
    refuses: [zero3WithAutoTensor],
    recomputes: wholeLayersOnly,
    silent: {
      ...silentCheckpointing(false),
      precision: 'bf16',
      zeroStage: 2,
      globalBatch: 128,
      sequenceLength: 2048,
      fusedCrossEntropy: false,
      attentionKernel: 'flash2',
    },
  },
  modelNamed: modelOfHub,
};
