import type { ConfigView } from '../view';
import type { Facts } from '../../formats/facts';
import { formatNumber } from '../../format';
import { countOf, countOrZeroOf, dataOf, product, quotient, sizeOf } from '../derived';
import { deepspeedFormats, isPlannedAlone, megatronLmFormats, runFormats } from '../formats';
import { listed, many, remove, setTo, type Change, type Issue, type Rule } from '../rule';
import { either, sentence, type Sentence } from '../../sentence';

/** What DeepSpeed's engine checks, or should. */
export const deepspeedRules: readonly Rule[] = [
  {
    code: 'zero-with-pp',
    alias: 'zero-with-pipeline',
    severity: 'error',
    formats: [...deepspeedFormats, ...megatronLmFormats, ...runFormats],
    check: (view) => (megatronLmFormats.some((format) => format === view.format) ? zeroWithModule(view) : zeroWithPipeline(view)),
    doc: 'DeepSpeed: "ZeRO-2 and ZeRO-3 are incompatible with pipeline parallelism". From stage 2 on gradients are divided over the replicas, which a pipeline would have to do after every micro-batch. Stage 1 goes with pipelines and keeps the saving on optimizer state. Scripts of Megatron-DeepSpeed make a pipeline module of the model, with one stage too, unless `--no-pipeline-parallel` is given.',
  },
  {
    code: 'ds-batch-triangle',
    severity: 'error',
    formats: ['deepspeed'],
    check: batchTriangle,
    doc: 'DeepSpeed: "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size". Two of the three are enough; the world here is the number of replicas. The remedy says what the third would be if it were left out.',
  },
  {
    code: 'ds-pipeline-empty-stage',
    severity: 'error',
    formats: deepspeedFormats,
    check: emptyStage,
    doc: 'A stage without a layer has no parameters, and its rank fails when the optimizer is made. DeepSpeed before 0.12 (and GPT-NeoX, which builds on it) fills stages up to the largest load and can leave the last ones empty although there are enough layers: 5 layers on 4 stages become 2, 2, 1 and 0.',
  },
];

function zeroWithPipeline({ facts, format }: ConfigView): Issue | null {
  const stages = sizeOf(facts, format, 'pipeline');
  const zero = countOrZeroOf(facts, 'zeroStage');
  if (stages === null || zero === null || zero < 2) return null;
  if (stages === 1) return null;
  return {
    at: ['zeroStage', 'pipeline'],
    severity: isPlannedAlone(format) ? 'warning' : 'error',
    message: sentence`ZeRO stage ${formatNumber(zero)} does not go with ${many(stages, 'pipeline stage')}: it would reduce gradients after every micro-batch${isPlannedAlone(format) ? sentence`, which DeepSpeed refuses` : ''}`,
    remedy: sentence`use ZeRO stage 1, or 1 pipeline stage`,
    changes: setTo('zeroStage', [1]),
  };
}

/** Megatron-DeepSpeed: `GPTModelPipe` is made unless the flag is there, and its engine asserts a stage below 2. */
function zeroWithModule({ facts, format }: ConfigView): Issue | null {
  const stages = sizeOf(facts, format, 'pipeline');
  const zero = countOrZeroOf(facts, 'zeroStage');
  if (stages === null || zero === null || zero < 2) return null;
  if (facts.pipelineModule?.value === false || facts.zeroStage?.source.kind !== 'file') return null;
  return {
    at: ['zeroStage'],
    message: sentence`ZeRO stage ${formatNumber(zero)} does not go with the pipeline module that Megatron-DeepSpeed makes of the model${stages === 1 ? sentence`, with 1 stage too` : ''}`,
    remedy:
      stages === 1
        ? sentence`add --no-pipeline-parallel, or use ZeRO stage 1`
        : sentence`use ZeRO stage 1, or 1 stage and --no-pipeline-parallel`,
    changes: setTo('zeroStage', [1]),
  };
}

const triangle = ['globalBatch', 'microBatch', 'gradientAccumulation'] as const;

/** `train_batch_size` = micro-batch x accumulation x replicas: any two give the third, all three must agree. */
function batchTriangle({ facts, format }: ConfigView): Issue | null {
  const [batch, micro, steps] = triangle.map((name) => countOf(facts, name));
  const data = dataOf(facts, format);
  if (batch === null || batch === undefined) return null;
  const parts = [micro ?? null, steps ?? null, data].filter((part) => part !== null);
  const unit = product(...parts);
  if (unit === null || parts.length === 0) return null;
  const complete = parts.length === 3;
  if (complete ? batch === unit : batch % unit === 0) return null;
  const factors = [
    ...(typeof micro === 'number' ? [sentence`micro-batch ${formatNumber(micro)}`] : []),
    ...(typeof steps === 'number' ? [sentence`accumulation ${formatNumber(steps)}`] : []),
    ...(data === null ? [] : [many(data, 'replica')]),
  ].reduce((a, b) => sentence`${a} x ${b}`);
  const near = complete ? [unit] : [Math.floor(batch / unit) * unit, Math.ceil(batch / unit) * unit].filter((value) => value > 0);
  return {
    at: ['globalBatch', 'gradientAccumulation', 'microBatch'],
    message: sentence`A train batch of ${formatNumber(batch)} is ${complete ? sentence`not` : sentence`no multiple of`} ${factors}${parts.length > 1 ? sentence` = ${formatNumber(unit)}` : ''}`,
    remedy: either([sentence`use a train batch of ${listed(near)}`, ...droppable(batch, micro ?? null, steps ?? null, data)]),
    changes: [...setTo('globalBatch', near), ...removals(facts)],
  };
}

/** Which setting could be left for DeepSpeed to work out, and what it would become. */
function droppable(batch: number, micro: number | null, steps: number | null, data: number | null): Sentence[] {
  if (micro === null || steps === null || data === null) return [];
  const accumulation = quotient(batch, product(micro, data));
  const size = quotient(batch, product(steps, data));
  return [
    ...(accumulation === null ? [] : [sentence`leave out the accumulation (it becomes ${formatNumber(accumulation)})`]),
    ...(size === null ? [] : [sentence`leave out the micro-batch (it becomes ${formatNumber(size)})`]),
    sentence`leave out the train batch`,
  ];
}

/** Without a train batch DeepSpeed takes the product of the other two. */
function removals(facts: Facts): Change[] {
  return facts.microBatch !== undefined && facts.gradientAccumulation !== undefined ? remove('globalBatch') : [];
}

/**
 * Stages that `partition_balanced` of DeepSpeed before 0.12 leaves without a layer: it fills each stage up to the largest load, ceil(layers
 * / stages), so the last ones may stay empty. Seen
 * with 5 layers on 4 stages (pull request 4312) and 42 on 16 (issue 5078). A uniform partition has empty stages only with fewer layers than
 * stages.
 */
function emptyStagesOf(layers: number, stages: number, balanced: boolean): number {
  if (layers <= stages || !balanced) return Math.max(0, stages - layers);
  return stages - Math.ceil(layers / Math.ceil(layers / stages));
}

function emptyStage({ facts, format }: ConfigView): Issue | null {
  const layers = countOf(facts, 'layers');
  const stages = sizeOf(facts, format, 'pipeline');
  if (layers === null || stages === null) return null;
  const balanced = facts.partitionMethod?.value.trim().toLowerCase() !== 'uniform';
  const empty = emptyStagesOf(layers, stages, balanced);
  if (empty === 0) return null;
  const each = Math.ceil(layers / stages);
  const near = stagesNear(layers, stages);
  const old = layers > stages ? sentence` (DeepSpeed before 0.12, and GPT-NeoX on it)` : '';
  return {
    at: ['pipeline', 'partitionMethod', 'layers'],
    message: sentence`${many(layers, 'layer')} on ${many(stages, 'stage')} in portions of ${formatNumber(each)} leave ${many(empty, 'stage')} without a layer${old}`,
    remedy: sentence`use ${listed(near)} stages${layers > stages ? sentence`, or partition uniformly` : ''}`,
    changes: setTo('pipeline', near),
  };
}

/**
 * The next smaller and the next larger number of stages that all get layers: with portions of ceil(layers / stages) layers, and of one
 * fewer.
 */
function stagesNear(layers: number, stages: number): number[] {
  const portion = Math.ceil(layers / stages);
  const below = Math.ceil(layers / portion);
  return portion > 1 ? [below, Math.ceil(layers / (portion - 1))] : [below];
}
