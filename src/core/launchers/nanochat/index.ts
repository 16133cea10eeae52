import { setBy, silentCheckpointing, wholeLayersOnly } from '../../domain/capabilities';
import { sentence } from '../../sentence';
import type { Launcher } from '../launcher';
import { isMegatronShell } from '../shell/recognise';
import { megatronTraits } from '../traits';
import { isNanochatScript } from './recognise';

/** Scripts that start nanochat's pretraining. */
export const nanochat: Launcher = {
  file: sentence`a script that starts scripts.base_train of nanochat`,
  endings: ['sh', 'bash', 'slurm', 'sbatch'],
  isIts: ({ text }) => !isMegatronShell(text) && isNanochatScript(text),
  reader: null,
  traits: { ...megatronTraits, runtime: 'ddp', padsVocabulary: false, repeatsKeyValueHeads: false, batchOfReplica: null },
  capabilities: {
    name: 'nanochat',
    source: 'karpathy/nanochat at 92d63d4e, scripts/base_train.py 40 to 290, nanochat/gpt.py and nanochat/optim.py',
    setBy: setBy(['microBatch']),
    refuses: [],
    recomputes: wholeLayersOnly,
    ownTraining: true,
    // weights in fp32, cast in every product; every rank keeps the states of its part, and gradients are reduced after the last backward
    silent: {
      ...silentCheckpointing(false),
      precision: 'bf16',
      zeroStage: 1,
      optimizer: 'muon',
      gradAccumulationFp32: true,
      overlapGradReduce: false,
      fusedCrossEntropy: false,
      attentionKernel: 'flash3',
      compile: true,
    },
  },
};
