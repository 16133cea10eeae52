import type { ConfigView } from '../view';
import { countOf } from '../../launchers/counts';
import { megatronLmFormats } from '../formats';
import { remove, setTo, type Issue, type Rule } from '../rule';
import { counted, sentence } from '../../sentence';

/** What overlaps with computation, and what else needs the distributed optimizer. */
export const overlapRules: readonly Rule[] = [
  {
    code: 'tp-overlap-without-sp',
    severity: 'error',
    formats: megatronLmFormats,
    check: tensorOverlapWithoutSequence,
  },
  {
    code: 'param-gather-without-distributed-optimizer',
    severity: 'error',
    formats: megatronLmFormats,
    check: gatherWithoutSharding,
  },
  {
    code: 'optimizer-instances-without-distributed-optimizer',
    severity: 'error',
    formats: megatronLmFormats,
    check: instancesWithoutSharding,
  },
];

/**
 * @finding tp-overlap-without-sp
 * Megatron: "Tensor parallel communication/GEMM overlap can happen only when sequence parallelism is enabled". With a tensor size of 1
 * sequence parallelism is off, too.
 * @source Megatron-LM, `megatron/training/arguments.py`, `validate_args`
 */
function tensorOverlapWithoutSequence({ facts, launcher }: ConfigView): Issue | null {
  const tensor = countOf(facts, 'tensor');
  if (facts.asyncTensorParallel?.value !== true || launcher.leavesOpen || (facts.sequenceParallel?.value === true && tensor !== 1))
    return null;
  return {
    at: ['asyncTensorParallel'],
    message:
      tensor === 1
        ? sentence`Tensor-parallel collectives are to overlap with GEMMs, but the tensor size is 1`
        : sentence`Overlap of tensor-parallel collectives with GEMMs needs sequence parallelism, which is off`,
    remedy: tensor === 1 ? sentence`remove it` : sentence`turn sequence parallelism on, or remove it`,
    changes: [...(tensor === 1 ? [] : setTo('sequenceParallel', [true])), ...remove('asyncTensorParallel')],
  };
}

/**
 * @finding param-gather-without-distributed-optimizer
 * Megatron: "--overlap-param-gather only supported with distributed optimizer or megatron fsdp". Without them each replica has all weights,
 * and nothing is gathered.
 * @source Megatron-LM, `megatron/training/arguments.py`, `validate_args`
 */
function gatherWithoutSharding({ facts, launcher, leftOut }: ConfigView): Issue | null {
  if (facts.overlapParamGather?.value !== true || launcher.leavesOpen || shards({ facts, leftOut })) return null;
  return {
    at: ['overlapParamGather'],
    message: sentence`Gathers of weights can overlap only with the distributed optimizer, which is off`,
    remedy: sentence`turn the distributed optimizer on, or remove it`,
    changes: [...setTo('distributedOptimizer', [true]), ...remove('overlapParamGather')],
  };
}

/**
 * @finding optimizer-instances-without-distributed-optimizer
 * Megatron: "Partial DistOpt cannot be used without DistOpt". Instances of the distributed optimizer each shard its state once; without it
 * each replica has all of it.
 * @source Megatron-LM, `megatron/core/distributed/distributed_data_parallel.py`
 */
function instancesWithoutSharding({ facts, launcher, leftOut }: ConfigView): Issue | null {
  const instances = countOf(facts, 'dataReplicate') ?? 1;
  if (instances === 1 || launcher.leavesOpen || shards({ facts, leftOut })) return null;
  return {
    at: ['dataReplicate'],
    message: sentence`${counted(instances, 'instance')} of the distributed optimizer need it, and it is off`,
    remedy: sentence`turn the distributed optimizer on, or remove it`,
    changes: [...setTo('distributedOptimizer', [true]), ...remove('dataReplicate')],
  };
}

/** Whether replicas share out the optimizer's state, by the distributed optimizer or an FSDP that is left out of the plan. */
function shards({ facts: { distributedOptimizer, zeroStage }, leftOut }: Pick<ConfigView, 'facts' | 'leftOut'>): boolean {
  return distributedOptimizer?.value === true || (zeroStage?.value ?? 0) > 0 || leftOut.some((name) => /fsdp/i.test(name));
}
