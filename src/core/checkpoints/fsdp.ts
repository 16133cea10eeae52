import { sentence } from '../sentence';
import { judgedAlike, type CheckpointKind, type PartVerdict } from './verdict';
import { changesAny } from './layout';
import { own } from '../records';

const accelerate = (lines: string): string => `huggingface/accelerate at 16cb6eb8, src/accelerate/utils/fsdp_utils.py ${lines}`;

const parts: Readonly<Record<string, PartVerdict>> = {
  SHARDED_STATE_DICT: {
    outcome: 'loads',
    reason: sentence`PyTorch's distributed checkpoints hold each tensor under its name, whatever the number of shards`,
    source: accelerate('248 to 266 and 398 to 414'),
  },
  FULL_STATE_DICT: {
    outcome: 'loads',
    reason: sentence`rank 0 writes the whole model and optimizer state, which every rank loads its shards from`,
    source: accelerate('220 to 238'),
  },
  LOCAL_STATE_DICT: {
    outcome: 'stops',
    reason: sentence`each rank reads the shards of its own rank`,
    source: accelerate('239 to 247'),
  },
};

/** FSDP under Accelerate and the Trainer of Transformers. */
export const fsdpCheckpoints: CheckpointKind = {
  assumed: {
    format: 'FULL_STATE_DICT',
    reason: sentence`Accelerate's default for FSDP1; SHARDED_STATE_DICT for FSDP2 (dataclasses.py 2031); either loads`,
  },
  judge: (settings, change) => {
    const part = own(parts, settings.format);
    if (part === undefined) return null;
    const isResharded = changesAny(change, 'tensor', 'data', 'context', 'expert');
    const verdict: PartVerdict = part.outcome === 'stops' && !isResharded ? { ...part, outcome: 'loads' } : part;
    const conversion =
      verdict.outcome === 'stops'
        ? sentence`load it once at the old number of GPUs and save it with fsdp_state_dict_type: SHARDED_STATE_DICT`
        : null;
    return judgedAlike(verdict, settings, conversion);
  },
};

const replicated: PartVerdict = {
  outcome: 'loads',
  reason: sentence`every rank loads the same whole files`,
  source: 'huggingface/accelerate at 16cb6eb8, src/accelerate/checkpointing.py',
};

/** Without sharding every rank has everything: one file, for any number of replicas. */
export const replicatedCheckpoints: CheckpointKind = {
  assumed: { format: 'PyTorch', reason: sentence`the Trainer writes whole weights and optimizer state` },
  judge: (settings) => judgedAlike(replicated, settings),
};
