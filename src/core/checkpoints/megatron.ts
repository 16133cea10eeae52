import { sentence } from '../sentence';
import { judgedAlike, type CheckpointKind, type CheckpointSettings, type Judgement, type PartVerdict } from './verdict';
import { changesAny, type LayoutChange } from './layout';
import { judgeTorch } from './megatron-torch';

/** Where the sources of a launcher on Megatron Core decide. */
interface CoreSources {
  /** Comparison of the tensor and pipeline sizes for the optimizer state. */
  readonly mismatch: string;
  /** The setting that writes optimizer state so that every layout loads it, and the one that loads weights only. */
  readonly reshardable: string;
  readonly weightsOnly: string;
}

const megatron: CoreSources = {
  mismatch: 'NVIDIA/Megatron-LM at d98e8a64, megatron/training/checkpointing.py 2649 to 2658',
  reshardable: '--dist-ckpt-optim-fully-reshardable',
  weightsOnly: '--no-load-optim',
};

const bridge: CoreSources = {
  mismatch: 'NVIDIA-NeMo/Megatron-Bridge at 067f987d, src/megatron/bridge/training/checkpointing.py 2889 to 2898',
  reshardable: 'checkpoint.dist_ckpt_optim_fully_reshardable=true',
  weightsOnly: 'checkpoint.load_optim=false',
};

const core = (lines: string): string => `NVIDIA/Megatron-LM at d98e8a64, megatron/core/${lines}`;

/** Checkpoints of Megatron-LM and of what runs its training loop. */
export const megatronCheckpoints: CheckpointKind = {
  assumed: { format: 'torch_dist', reason: sentence`Megatron-LM at d98e8a64 takes it without --ckpt-format` },
  judge: (settings, change) => judgeCore(megatron, settings, change),
};

/** Megatron-LM before Megatron Core had only files of ranks. */
export const legacyCheckpoints: CheckpointKind = {
  assumed: { format: 'torch', reason: sentence`Megatron-LM had only this one before Megatron Core` },
  judge: (settings, change) => judgeCore(megatron, settings, change),
};

/** Megatron-Bridge has its own copy of the code, with the same rules. */
export const bridgeCheckpoints: CheckpointKind = {
  assumed: { format: 'torch_dist', reason: sentence`Megatron-Bridge at 067f987d takes it without checkpoint.ckpt_format` },
  judge: (settings, change) => judgeCore(bridge, settings, change),
};

function judgeCore(sources: CoreSources, settings: CheckpointSettings, change: LayoutChange): Judgement | null {
  switch (settings.format) {
    case 'torch_dist':
      return judgeDistributed(sources, settings, change);
    case 'torch':
      return judgeTorch(settings, change);
    case 'fsdp_dtensor':
      return judgeMegatronFsdp(settings, change);
    case 'torch_dcp':
      return judgeTorchFsdp(settings, change);
    default:
      return null;
  }
}

const namedTensors: PartVerdict = {
  outcome: 'loads',
  reason: sentence`every tensor is stored whole under its name in the model`,
  source: core('dist_checkpointing/mapping.py, ShardedTensor'),
};

/** `torch_dist`: weights load at every layout, the state of a distributed optimizer only as it was written. */
function judgeDistributed(sources: CoreSources, settings: CheckpointSettings, change: LayoutChange): Judgement {
  const optimizer = settings.loadsOptimizer ? distributedOptimizer(sources, settings, change) : null;
  const { reshardable, weightsOnly } = sources;
  const conversion =
    optimizer?.outcome === 'stops'
      ? sentence`start the file once as it is with ${reshardable} and save, then load that; or load the weights only (${weightsOnly})`
      : null;
  return { weights: namedTensors, optimizer, conversion };
}

function distributedOptimizer(
  { mismatch }: CoreSources,
  { isReshardable, isSharded }: CheckpointSettings,
  { changed, after }: LayoutChange,
): PartVerdict {
  if (changed.has('zeroStage') && (isReshardable || isSharded !== true))
    return {
      outcome: 'unknown',
      reason: sentence`no rule of Megatron Core covers it`,
      source: core('optimizer/distrib_optimizer.py 1511'),
    };
  if (isSharded === false)
    return { ...namedTensors, reason: sentence`moments and fp32 weights are stored under the names of their weights` };
  if (isReshardable)
    return {
      outcome: 'loads',
      reason: sentence`"fully_reshardable" stores optimizer state under the names of the weights`,
      source: core('optimizer/distrib_optimizer.py 1479 to 1484'),
    };
  if (changed.has('tensor') || changed.has('pipeline'))
    return {
      outcome: 'stops',
      reason: sentence`optimizer state is stored in buckets of each tensor and pipeline rank: "(TP, PP) mismatch after resume: not supported for DistributedOptimizer with sharding type dp_reshardable"`,
      source: mismatch,
    };
  const isMoved = changesAny({ changed }, 'expert', 'expertTensor', 'virtualStages', 'stageLayers');
  if (isMoved || (changed.has('zeroStage') && after.zeroStage === 0))
    return {
      outcome: 'stops',
      reason: sentence`optimizer state is stored in buckets, which have other names or sizes then`,
      source: `${core('optimizer/distrib_optimizer.py 1902 to 1985')}, and create_default_local_load_plan of PyTorch`,
    };
  return {
    outcome: 'loads',
    reason: sentence`"dp_reshardable" divides the buckets over any number of replicas`,
    source: core('optimizer/distrib_optimizer.py 1474 to 1478'),
  };
}

/** Megatron FSDP. Its checkpoints name weights by their place in a stage where a rank has several. */
function judgeMegatronFsdp(settings: CheckpointSettings, change: LayoutChange): Judgement {
  const isOfStages = changesAny(change, 'virtualStages', 'stageLayers');
  const source = core('optimizer/distrib_optimizer.py 127 to 131');
  const part: PartVerdict = isOfStages
    ? { outcome: 'unknown', reason: sentence`Megatron FSDP is not tested with such stages`, source }
    : { outcome: 'loads', reason: sentence`weights and optimizer state are DTensors under their names`, source };
  return judgedAlike(part, settings);
}

/** FSDP2 of PyTorch under Megatron-LM, which takes no other parallelism with it. */
function judgeTorchFsdp(settings: CheckpointSettings, { after }: LayoutChange): Judgement {
  const isRefused = (after.tensor ?? 1) > 1 || (after.pipeline ?? 1) > 1;
  const source = 'NVIDIA/Megatron-LM at d98e8a64, megatron/training/arguments.py 1667 to 1672';
  const part: PartVerdict = isRefused
    ? { outcome: 'stops', reason: sentence`torch_dcp takes neither tensor nor pipeline parallelism`, source }
    : { outcome: 'loads', reason: sentence`weights and optimizer state are DTensors under their names`, source };
  return judgedAlike(part, settings);
}
