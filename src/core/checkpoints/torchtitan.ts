import { sentence } from '../sentence';
import type { CheckpointKind, PartVerdict } from './verdict';

const titan = (file: string): string => `pytorch/torchtitan at b5bcd76c, torchtitan/components/${file}`;

const named: PartVerdict = {
  outcome: 'loads',
  reason: sentence`PyTorch's distributed checkpoints hold each tensor whole, under its name in the model`,
  source: titan('checkpointer/dcp.py 88 to 115 and 394'),
};

const otherReplicas: PartVerdict = {
  outcome: 'stops',
  reason: sentence`each replica has its data loader: "cannot resume after changing the effective data-parallel degree"`,
  source: titan('data/loader.py 163 to 166'),
};

/** TorchTitan: distributed checkpoints of PyTorch, resumed with the state of the data loader. */
export const titanCheckpoints: CheckpointKind = {
  assumed: { format: 'DCP', reason: sentence`TorchTitan writes no other` },
  judge: ({ loadsOptimizer, loadsDataPosition }, { changed }) => {
    if (!loadsOptimizer) return { weights: named, optimizer: null, conversion: null };
    if (!loadsDataPosition || !changed.has('data')) return { weights: named, optimizer: named, conversion: null };
    const conversion = sentence`add "dataloader" to checkpoint.exclude_from_loading: the data starts again from its beginning`;
    return { weights: named, optimizer: otherReplicas, conversion };
  },
};
