import type { Facts } from '../../formats/facts';
import { formatCount, plural } from '../../format';
import { countOf } from '../../rules/launchers/derived';
import { gpusOf, type HandOver } from './launch-settings';
import { because, countWish, gone, isGiven, lacking, narrowWish, newFile, offloadWish, type Put, type Wish } from './desired-setting';

/** What a DeepSpeed JSON should say of a plan. The model, its pipeline and its attention are the script's: most of a layout is not in this file. */
export function deepspeedWishes(plan: HandOver): readonly Wish[] {
  const { tensor, pipeline, context, expert, virtualStages, sequenceLength, zeroStage, stageLayers } = plan;
  const script = 'that is up to the training script, not to this file';
  return [
    ...batchWishes(plan),
    zeroWish(plan),
    precisionWish(plan),
    ...narrowWish(plan.gemmPrecision, [], "that is up to the model's code, not to this file"),
    sizeWish('tensor parallel size', 'tensor', tensor),
    sizeWish('pipeline stages', 'pipeline', pipeline),
    recomputeWish(plan),
    // A section of its own, with settings that hang on it.
    { ...offloadWish(plan.offloadOptimizer === true), ways: () => [] },
    ...lacking(
      'offloadLayers',
      'activations on the host',
      "that hangs on the model's code: activation_checkpointing.cpu_checkpointing",
      (plan.offloadLayers ?? 0) > 0,
    ),
    ...lacking(
      'zeroStage',
      `ZeRO ${zeroStage} with a pipeline`,
      'DeepSpeed refuses ZeRO 2 and 3 in its pipeline engine',
      pipeline > 1 && zeroStage > 1,
    ),
    ...lacking('context', `context parallel size ${context}`, script, context > 1),
    ...lacking(['expert', 'expertTensor'], `expert parallel size ${expert}`, script, expert > 1),
    ...lacking(
      ['virtualStages', 'stageLayers'],
      plural(virtualStages, 'virtual stage'),
      'DeepSpeed has one stage on each GPU',
      virtualStages > 1,
    ),
    ...lacking('stageLayers', 'layers of each stage', 'DeepSpeed cuts stages by pipeline.partition_method', new Set(stageLayers).size > 1),
    ...lacking('schedule', `schedule ${plan.schedule}`, "DeepSpeed's pipeline engine runs 1F1B", pipeline > 1 && plan.schedule !== '1F1B'),
    ...lacking('sequenceLength', `sequence length ${formatCount(sequenceLength)}`, script),
    ...lacking(
      'data',
      plural(gpusOf(plan), 'GPU'),
      `the launcher says how many; start it on ${plural(plan.nodes, 'node')} of ${plural(plan.gpusPerNode, 'GPU')}`,
    ),
  ];
}

/** `train_batch_size` = `train_micro_batch_size_per_gpu` x `gradient_accumulation_steps` x data parallel size; DeepSpeed works out one that is left out. */
function batchWishes({ microBatch, globalBatch, data }: HandOver): readonly Wish[] {
  const steps = globalBatch / (data * microBatch);
  const accumulation: Wish = {
    what: plural(steps, 'gradient accumulation step'),
    facts: ['gradientAccumulation'],
    isMet: (facts) => (facts.gradientAccumulation?.value ?? steps) === steps,
    ways: () => [[{ fact: 'gradientAccumulation', value: steps }]],
    because: because.never,
  };
  return [
    countWish('global batch size', 'globalBatch', globalBatch, null),
    countWish('micro-batch size', 'microBatch', microBatch, null),
    accumulation,
  ];
}

/** Scripts that split the model themselves, as Megatron-DeepSpeed does, must not be told to by this file too: sizes go where they are, or into a new file. */
function sizeWish(what: string, fact: 'tensor' | 'pipeline', value: number): Wish {
  const wish = countWish(what, fact, value, 1);
  const ways: Wish['ways'] = (facts) => (isGiven(facts, fact) || facts === newFile ? wish.ways(facts) : []);
  return { ...wish, ways, because: 'the file does not split the model; the training script does' };
}

/** Beside a pipeline, no more than its engine takes. */
function zeroWish({ zeroStage: planned, pipeline }: HandOver): Wish {
  const zeroStage = pipeline > 1 ? Math.min(1, planned) : planned;
  return {
    what: `ZeRO ${zeroStage}`,
    facts: ['zeroStage'],
    isMet: (facts) => (countOf(facts, 'zeroStage') ?? facts.zeroStage?.value ?? 0) === zeroStage,
    ways: () => [[{ fact: 'zeroStage', value: zeroStage }]],
    because: because.never,
  };
}

function precisionWish({ precision }: HandOver): Wish {
  return {
    what: `precision ${precision}`,
    facts: ['precision'],
    isMet: (facts) => (facts.precision?.value ?? 'fp32') === precision,
    ways: () => [[{ fact: 'precision', value: precision }]],
    because: because.never,
  };
}

function recomputeWish({ pipeline, recompute: { granularity, group = 1 } }: HandOver): Wish {
  const current = (facts: Facts): string => facts.recomputeGranularity?.value ?? 'none';
  return {
    what: `recompute ${granularity}${group > 1 ? `, ${formatCount(group)} layers together` : ''}`,
    facts: ['recomputeGranularity', 'recomputeLayers'],
    isMet: (facts) => current(facts) === granularity && (granularity !== 'full' || (countOf(facts, 'recomputeLayers') ?? 1) === group),
    ways: (facts): readonly (readonly Put[])[] =>
      granularity === 'none'
        ? isGiven(facts, 'recomputeGranularity')
          ? [gone('recomputeGranularity')]
          : []
        : granularity === 'full' && pipeline > 1 && (isGiven(facts, 'pipeline') || facts === newFile)
          ? [[{ fact: 'recomputeGranularity', value: group }]]
          : [],
    because: "what is recomputed is up to the model's code; this file only says how it is kept",
  };
}
