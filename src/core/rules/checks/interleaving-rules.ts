import type { ConfigView } from '../view';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { countOf, product } from '../../launchers/counts';
import { isInterleaved, equalLayersPerStage, microBatchesPerReplica, batchPerMicroBatch, parallelSize } from '../../launchers/layout-sizes';
import { isLauncher } from '../../launchers/registry';
import { megatronAndRuns, megatronFormats, megatronLmFormats } from '../formats';
import { isWritten, listed, many, multiplesNear, nearestFitting, remove, setTo, type Change, type Issue, type Rule } from '../rule';
import { refusalIn } from './refusal-rules';
import { sentence } from '../../sentence';

/** Interleaved 1F1B: several virtual stages on each GPU. */
export const interleavingRules: readonly Rule[] = [
  {
    code: 'vpp-layers-lost',
    severity: 'error',
    formats: megatronAndRuns,
    check: layersOfVirtualStages,
  },
  {
    code: 'vpp-needs-overlap-or-pp3',
    severity: 'error',
    formats: megatronFormats,
    check: stagesForInterleaving,
  },
  {
    code: 'vpp-microbatch-multiple',
    severity: 'error',
    formats: megatronFormats,
    check: microBatchMultiple,
  },
  {
    code: 'vpp-set-twice',
    severity: 'error',
    formats: megatronLmFormats,
    check: setTwice,
  },
];

/**
 * @finding vpp-layers-lost
 * Megatron: "number of layers per pipeline stage must be divisible number of layers per virtual pipeline stage". Older versions round down
 * and train a smaller model than the file describes. Choose a divisor of the layers of one stage.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 973
 */
function layersOfVirtualStages({ facts, format, mayBeUneven }: ConfigView): Issue | null {
  if (mayBeUneven) return null;
  const perStage = equalLayersPerStage(facts, format);
  const name = facts.layersPerVirtualStage !== undefined ? 'layersPerVirtualStage' : 'virtualStages';
  const size = countOf(facts, name);
  if (perStage === null || size === null || perStage % size === 0) return null;
  const near = nearestFitting(listDivisors(perStage), size, () => true);
  const unit = name === 'virtualStages' ? sentence`virtual stages` : sentence`layers per virtual stage`;
  const into = name === 'virtualStages' ? many(size, 'virtual stage') : sentence`virtual stages of ${many(size, 'layer')}`;
  return {
    at: [name, 'pipeline'],
    message: sentence`${many(perStage, 'layer')} on each pipeline stage cannot be cut into ${into}${isLauncher(format) ? sentence`; older versions build a model with fewer layers instead` : ''}`,
    remedy: sentence`use ${listed(near)} ${unit}`,
    changes: setTo(name, near),
  };
}

/**
 * @finding vpp-needs-overlap-or-pp3
 * Megatron: "When interleaved schedule is used and p2p communication overlap is disabled, pipeline-model-parallel size should be greater
 * than 2". With two stages the neighbour before is also the neighbour after, and sends and receives between the same two GPUs would wait
 * for each other. Without a pipeline there is nothing to interleave.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 1007
 */
function stagesForInterleaving(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const stages = parallelSize(facts, format, 'pipeline');
  if (stages === null || !isInterleaved(facts, format)) return null;
  if (stages === 1) {
    const settings = (['virtualStages', 'layersPerVirtualStage'] as const).filter((name) => facts[name] !== undefined);
    return {
      at: [...settings, 'pipeline'],
      message: sentence`Virtual stages need a pipeline, but there is 1 stage`,
      remedy: sentence`use 2 stages or more, or no virtual stages`,
      changes: remove(...settings),
    };
  }
  const refusal = refusalIn(view, 'vpp-needs-overlap-or-pp3');
  if (refusal === undefined) return null;
  const overlap: Change[] = [...setTo('overlapP2p', [true]), ...remove('overlapP2p')];
  return {
    at: ['overlapP2p', 'pipeline'],
    message: sentence`With 2 stages and virtual stages ${refusal.why}, and it is off`,
    remedy: sentence`turn communication overlap on, or use 3 stages or more`,
    changes: isWritten(facts, 'overlapP2p') ? overlap : [],
  };
}

/**
 * @finding vpp-microbatch-multiple
 * Megatron: "The number of contiguous micro-batches in a virtual pipeline stage should range in [PP, M]" where there are fewer
 * micro-batches than stages, and "The remainder of M (the total micro-batches) divided by N (number of contiguous micro-batches in a
 * virtual pipeline stage) should be 0, or larger than or equal to the pipeline-parallel size" elsewhere; older versions: "number of
 * microbatches is not divisible by pipeline-parallel size when using interleaved schedule". Interleaving takes micro-batches in groups, of
 * as many as there are stages unless `--microbatch-group-size-per-virtual-pipeline-stage` sets another number.
 * @source Megatron-LM, `megatron/core/pipeline_parallel/schedules.py`, lines 1161 and 1173: fewer micro-batches than stages, and a last
 * group smaller than the pipeline, stop the run
 */
function microBatchMultiple({ facts, format }: ConfigView): Issue | null {
  const stages = parallelSize(facts, format, 'pipeline');
  const microBatches = microBatchesPerReplica(facts, format);
  if (stages === null || stages < 2 || microBatches === null || !isInterleaved(facts, format)) return null;
  const group = facts.microBatchGroup === undefined ? stages : countOf(facts, 'microBatchGroup');
  if (group === null) return null;
  const left = microBatches % group;
  if (group >= stages && group <= microBatches && (left === 0 || left >= stages)) return null;
  const step = product(batchPerMicroBatch(facts, format), stages);
  const globalBatch = countOf(facts, 'globalBatch');
  const near = step === null || globalBatch === null || isWritten(facts, 'microBatches') ? [] : multiplesNear(step, globalBatch);
  return {
    at: ['microBatches', 'globalBatch', 'microBatch', 'pipeline'],
    message:
      microBatches < stages
        ? sentence`${many(microBatches, 'micro-batch', 'micro-batches')} are fewer than the ${formatNumber(stages)} pipeline stages; interleaving needs at least one per stage`
        : group === stages
          ? sentence`${many(microBatches, 'micro-batch', 'micro-batches')} are not divisible by ${formatNumber(stages)} pipeline stages, as interleaving requires`
          : sentence`${many(microBatches, 'micro-batch', 'micro-batches')} cannot run in groups of ${formatNumber(group)} over ${formatNumber(stages)} pipeline stages`,
    remedy:
      near.length > 0
        ? sentence`use a global batch of ${listed(near)}`
        : sentence`use ${listed(multiplesNear(stages, microBatches))} micro-batches`,
    changes: near.length > 0 ? setTo('globalBatch', near) : setTo('microBatches', multiplesNear(stages, microBatches)),
  };
}

/**
 * @finding vpp-set-twice
 * Megatron: "No more than one of the following arguments can be set at the same time: --num-layers-per-virtual-pipeline-stage,
 * --num-virtual-stages-per-pipeline-rank, --pipeline-model-parallel-layout". Each of them decides the virtual stages by itself.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 933
 */
function setTwice({ facts }: ConfigView): Issue | null {
  const settings = (['layersPerVirtualStage', 'virtualStages', 'pipelineLayout'] as const).filter((name) => isWritten(facts, name));
  const names = new Set(settings.map((name) => facts[name]?.name ?? name));
  const [first, ...others] = settings;
  if (first === undefined || names.size < 2) return null;
  return {
    at: [first],
    message: sentence`The cut into virtual stages is given in ${many(names.size, 'way')}, and only one is accepted`,
    remedy: sentence`keep one of layers per virtual stage, number of virtual stages, and layout`,
    changes: [...remove(first), ...(others.length === 1 ? remove(...others) : [])],
  };
}
