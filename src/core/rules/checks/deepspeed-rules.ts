import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import { formatNumber } from '../../format';
import { countOf, product, quotient } from '../../launchers/counts';
import { dataParallelSize, parallelSize } from '../../launchers/layout-sizes';
import { deepSpeedEmptyStages } from '../../partition/stages';
import { deepspeedFormats } from '../formats';
import { listed, many, remove, setTo, type Change, type Issue, type Rule } from '../rule';
import { either, sentence, type Sentence } from '../../sentence';

/** What DeepSpeed's engine checks, or should. */
export const deepspeedRules: readonly Rule[] = [
  {
    code: 'ds-batch-triangle',
    severity: 'error',
    formats: ['deepspeed'],
    check: batchTriangle,
  },
  {
    code: 'ds-pipeline-empty-stage',
    severity: 'error',
    formats: deepspeedFormats,
    check: emptyStage,
  },
];

const triangle = ['globalBatch', 'microBatch', 'gradientAccumulation'] as const;

/**
 * `train_batch_size` = micro-batch x accumulation x replicas: any two give the third, all three must agree.
 *
 * @finding ds-batch-triangle
 * DeepSpeed: "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size". Two
 * of the three are enough; the world here is the number of replicas. The remedy gives the value that the third takes if it is left out.
 * @source DeepSpeed, `deepspeed/runtime/config.py`, line 938
 * @ignore the number of replicas in the file is not the one that you start.
 */
function batchTriangle({ facts, format }: ConfigView): Issue | null {
  const [batch, micro, steps] = triangle.map((name) => countOf(facts, name));
  const data = dataParallelSize(facts, format);
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
    message: sentence`A train batch of ${formatNumber(batch)} is ${complete ? sentence`not` : sentence`not a multiple of`} ${factors}${parts.length > 1 ? sentence` = ${formatNumber(unit)}` : ''}`,
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
 * @finding ds-pipeline-empty-stage
 * A stage without a layer has no parameters, and its rank fails when the optimizer is made. DeepSpeed before 0.12 (and GPT-NeoX, which
 * builds on it) fills stages up to the largest load and can leave the last ones empty although there are enough layers: 5 layers on 4
 * stages become 2, 2, 1 and 0.
 * @source DeepSpeed, `deepspeed/runtime/utils.py`, `partition_balanced` (line 627), which newer versions fixed
 * @ignore your DeepSpeed is 0.12 or newer.
 */
function emptyStage({ facts, format }: ConfigView): Issue | null {
  const layers = countOf(facts, 'layers');
  const stages = parallelSize(facts, format, 'pipeline');
  if (layers === null || stages === null) return null;
  const balanced = facts.partitionMethod?.value.trim().toLowerCase() !== 'uniform';
  const empty = deepSpeedEmptyStages(layers, stages, balanced);
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
