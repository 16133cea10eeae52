import { byDefault, from } from '../domain/located';
import { sentence } from '../sentence';
import { programTraitsOf, leftOpenIn } from './as-launched';
import type { LauncherFile } from '../formats/facts';
import type { Run } from '../formats/run';

/**
 * Sequences that each replica takes in a step where no global batch is given: TorchTitan's local batch, the micro-batches that DeepSpeed
 * accumulates (1 unless given), or one micro-batch of Megatron-LM (megatron/training/arguments.py 702).
 */
export function batchPerReplicaOf(launcher: LauncherFile): Pick<Run, 'batchPerReplica'> {
  const { localBatch, microBatch, gradientAccumulation } = launcher.facts;
  const { batchOfReplica, takesMegatronArguments } = programTraitsOf(launcher);
  if (takesMegatronArguments && microBatch !== undefined && takesNoBatch(launcher))
    return { batchPerReplica: byDefault(microBatch.value, sentence`one micro-batch, Megatron-LM's default without --global-batch-size`) };
  if (batchOfReplica === 'local') return localBatch === undefined ? {} : { batchPerReplica: from(localBatch, localBatch.value) };
  if (batchOfReplica === null || microBatch === undefined) return {};
  return { batchPerReplica: from(microBatch, microBatch.value * (gradientAccumulation?.value ?? 1)) };
}

/** Whether a file is a whole launch that sets no global batch, not by a flag whose value is not known either. */
function takesNoBatch(launcher: LauncherFile): boolean {
  const { globalBatch, batchSchedule } = launcher.facts;
  const { flags, isPart } = leftOpenIn(launcher);
  return globalBatch === undefined && batchSchedule === undefined && !isPart && !flags.some((flag) => flag.includes('batch'));
}
