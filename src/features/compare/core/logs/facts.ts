import { parameterCount } from '../../../../core/model/parameters';
import { gpusUsed, type PlanRequest } from '../../../../core/domain/request';
import { runtimeProfile, type Runtime } from '../../../../core/domain/runtime';
import { sentence, type Sentence } from '../../../../core/sentence';

/** Facts of logs on their run, by the keys of terapipe.json where it has one. */
export interface LogFacts {
  readonly gpus?: number;
  readonly 'cluster.gpu'?: string;
  readonly 'layout.tensor'?: number;
  readonly 'layout.pipeline'?: number;
  readonly 'layout.data'?: number;
  readonly 'layout.context'?: number;
  readonly 'layout.expert'?: number;
  readonly 'layout.virtualStages'?: number;
  readonly 'training.microBatch'?: number;
  readonly 'training.globalBatch'?: number;
  readonly 'training.sequenceLength'?: number;
  readonly 'training.runtime'?: Runtime;
  readonly 'training.precision'?: string;
  readonly 'training.recompute'?: string;
  readonly 'training.zeroStage'?: number;
  readonly 'model.layers'?: number;
  readonly 'model.hidden'?: number;
  readonly 'model.heads'?: number;
  readonly 'model.kvHeads'?: number;
  readonly 'model.ffn'?: number;
  readonly 'model.experts'?: number;
  readonly parameters?: number;
  /** Micro-batches that a replica accumulates gradients over. */
  readonly accumulation?: number;
  /** Iterations that a line of the log is the mean of. */
  readonly logInterval?: number;
}

type ComparedFact = Exclude<keyof LogFacts, 'accumulation' | 'logInterval'>;
export type NumberFact = Exclude<keyof LogFacts, 'cluster.gpu' | 'training.runtime' | 'training.precision' | 'training.recompute'>;

interface Fact {
  readonly name: Sentence;
  /** The same of a planned run; null: it cannot be compared. */
  readonly of: (request: PlanRequest) => number | string | null;
  readonly same?: (log: number | string, plan: number | string) => boolean;
  /** A run that differs only in it runs the same passes: more replicas, or more micro-batches. */
  readonly isOfReplicas?: true;
}

const ofOneStack =
  (value: (request: PlanRequest) => number | null) =>
  (request: PlanRequest): number | null =>
    request.model.stacks === undefined ? value(request) : null;
const isDense = ({ model: { experts } }: PlanRequest): boolean => experts === null;
/** What trainers call selective recomputes little or nothing with fused attention. */
const isWhole = (mode: number | string): boolean => mode === 'full' || mode === 'every';
/** Parameters are printed rounded, and with a padded vocabulary. */
const nearParameters = (log: number | string, plan: number | string): boolean =>
  Math.abs(Number(log) - Number(plan)) <= 0.03 * Number(plan) + 5e6;

/** In the order in which differences are shown: the model first. */
export const comparedFacts: Readonly<Record<ComparedFact, Fact>> = {
  parameters: { name: sentence`parameters`, of: ({ model }) => parameterCount(model), same: nearParameters },
  'model.layers': { name: sentence`layers`, of: ofOneStack(({ model }) => model.layers) },
  'model.hidden': { name: sentence`hidden size`, of: ({ model }) => model.hidden },
  'model.heads': { name: sentence`attention heads`, of: ofOneStack(({ model }) => model.heads) },
  'model.kvHeads': { name: sentence`query groups`, of: ofOneStack(({ model }) => (model.latent ? null : model.kvHeads)) },
  'model.ffn': { name: sentence`feed-forward size`, of: ofOneStack((request) => (isDense(request) ? request.model.ffn : null)) },
  'model.experts': { name: sentence`experts`, of: ({ model }) => model.experts?.count ?? 0 },
  'training.sequenceLength': { name: sentence`sequence length`, of: ofOneStack(({ training }) => training.sequenceLength) },
  'cluster.gpu': { name: sentence`GPU`, of: ({ cluster }) => (cluster.groups === undefined ? cluster.gpu.name : null) },
  'layout.tensor': { name: sentence`tensor parallel size`, of: ({ layout }) => layout.tensor },
  'layout.pipeline': { name: sentence`pipeline parallel size`, of: ({ layout }) => layout.pipeline },
  'layout.context': { name: sentence`context parallel size`, of: ({ layout }) => layout.context },
  'layout.expert': { name: sentence`expert parallel size`, of: (request) => (isDense(request) ? null : request.layout.expert) },
  'layout.virtualStages': {
    name: sentence`virtual stages`,
    of: ({ layout, freeVirtualStages }) => (freeVirtualStages ? null : layout.virtualStages),
  },
  'training.microBatch': {
    name: sentence`micro-batch`,
    of: ({ training, slicing }) => (slicing.scheme === null ? training.microBatch : null),
  },
  'training.runtime': {
    name: sentence`runtime`,
    of: ({ training }) => runtimeProfile(training).id,
    // forks of Megatron-LM for DeepSpeed and for TeraPipe log as it does
    same: (log, plan) => log === plan || (log === 'megatron' && (plan === 'deepspeed' || plan === 'terapipe')),
  },
  'training.precision': { name: sentence`precision`, of: ({ training }) => training.precision },
  'training.recompute': {
    name: sentence`recompute`,
    of: ({ training }) => training.recompute,
    same: (log, plan) => isWhole(log) === isWhole(plan),
  },
  'training.zeroStage': {
    name: sentence`ZeRO stage`,
    of: ({ training, layout }) => (layout.data * layout.context > 1 ? training.zeroStage : null),
  },
  gpus: { name: sentence`GPUs`, of: ({ layout }) => gpusUsed(layout), isOfReplicas: true },
  'layout.data': { name: sentence`data parallel size`, of: ({ layout }) => layout.data, isOfReplicas: true },
  'training.globalBatch': { name: sentence`global batch`, of: ({ training }) => training.globalBatch, isOfReplicas: true },
};

/** One thing in which the run of a log differs from the one that is planned. */
export interface LogDifference {
  readonly key: ComparedFact;
  readonly log: number | string;
  readonly plan: number | string;
}

/** With the replicas that the batch is a product of, where the log leaves them out. */
export function withReplicas(facts: LogFacts): LogFacts {
  const { 'training.globalBatch': batch, 'training.microBatch': micro, accumulation } = facts;
  if (facts['layout.data'] !== undefined || batch === undefined || micro === undefined || accumulation === undefined) return facts;
  const replicas = batch / (micro * accumulation);
  return Number.isInteger(replicas) ? { ...facts, 'layout.data': replicas } : facts;
}

/** In what the run of a log differs from a planned one, as far as the log shows; the model first. */
export function logDifferences(facts: LogFacts, request: PlanRequest): readonly LogDifference[] {
  return (Object.keys(comparedFacts) as ComparedFact[]).flatMap((key) => {
    const { of, same = Object.is } = comparedFacts[key];
    const [log, plan] = [facts[key], of(request)];
    return log === undefined || plan === null || same(log, plan) ? [] : [{ key, log, plan }];
  });
}
