import type { CostProvenance } from '../../../core/domain/slice-cost';
import type { Placement } from './auto-dp';
import type { CacheDecision } from './auto-cache';
import type { StageUnits } from './balance';
import type { StageBytes } from './stage-bytes';
import type { BalanceName, ElasticRequest } from './request';
import { sentence, type Sentence } from '../../../core/sentence';
import { sizesText } from '../../../core/domain/sizes-text';

/** What is switched on. In the order in which the paper adds it. */
export type VariantId = 'none' | 'freezing' | 'pipe' | 'pipe-cache' | 'pipe-dp' | 'all';

/** What adds one mechanism to a run, and the run that it is added to. */
export const additions = [
  ['freezing', 'none'],
  ['pipe', 'freezing'],
  ['pipe-dp', 'pipe'],
  ['pipe-cache', 'pipe'],
] as const satisfies readonly (readonly [VariantId, VariantId])[];

/** What each is called, with PipeTransformer's names of what it adds. */
export const variantNames: Readonly<Record<VariantId, Sentence>> = {
  none: sentence`no freezing`,
  freezing: sentence`freezing only`,
  pipe: sentence`+ shorter pipelines (AutoPipe)`,
  'pipe-cache': sentence`+ shorter pipelines, cache (AutoCache)`,
  'pipe-dp': sentence`+ shorter pipelines, replicas (AutoDP)`,
  all: sentence`all`,
};

/** The same units cut in one of the three ways. */
export interface BalanceChoice {
  readonly name: BalanceName;
  readonly stageUnits: StageUnits;
  readonly largestParameters: number;
  /** Pipeline part of a step with its own best number of micro-batches. */
  readonly pipelineMs: number;
}

/** One epoch of the run. Times in ms; GPUs counted over all nodes. */
export interface ElasticEpoch extends Placement {
  readonly epoch: number;
  readonly frozenLayers: number;
  readonly microBatches: number;
  /** Samples of a step on one pipeline, steps of the epoch. */
  readonly batch: number;
  readonly steps: number;
  /** Units that train (attention, feed-forward, ends) on each stage; the frozen ones lie apart on the first GPU. */
  readonly stageUnits: StageUnits;
  /** Frozen units that pass through each stage, forward only; 0 where they run before the pipeline on its first GPU. */
  readonly stageFrozenUnits: StageUnits;
  readonly isFrozenInside: boolean;
  /** Tokens of the slices of every sequence. */
  readonly slices: readonly number[];
  readonly stageParameters: readonly number[];
  readonly stageBytes: readonly StageBytes[];
  readonly fits: boolean;
  /** The frozen layers' forward, or their cached outputs read; per step. */
  readonly frozenMs: number;
  readonly pipelineMs: number;
  readonly allReduceMs: number;
  readonly optimizerMs: number;
  /** What a step waits for its samples. */
  readonly inputMs: number;
  readonly stepMs: number;
  /** Of the pipeline part. */
  readonly bubbleRate: number;
  readonly cache: CacheDecision & { readonly state: 'none' | 'fill' | 'read' };
  /** Before the epoch: stopping, regrouping, moving weights. */
  readonly transitionMs: number;
  /** After it: what is evaluated. */
  readonly evaluationMs: number;
  /** Steps only, and with transition and evaluation. */
  readonly trainMs: number;
  readonly epochMs: number;
  readonly samplesPerSecond: number;
  /** Measured over modelled, 1 without measured rates: what the modelled step was scaled by. */
  readonly calibration: number;
}

/** The whole run with some of the mechanisms. */
export interface ElasticVariant {
  readonly id: VariantId;
  readonly totalMs: number;
  /** Against no freezing. */
  readonly speedup: number;
  /** Length `epochs`. */
  readonly epochMs: Float64Array;
}

/** A run that freezes layers, epoch by epoch. Plain data with typed arrays: crosses threads and into the page. */
export interface ElasticPlan {
  readonly request: ElasticRequest;
  readonly parameters: number;
  /** How layers freeze, in words. */
  readonly freezing: Sentence;
  readonly epochs: readonly ElasticEpoch[];
  /** By epoch: the three ways to cut, for the same pipeline length. */
  readonly balances: readonly (readonly BalanceChoice[])[];
  readonly variants: readonly ElasticVariant[];
  readonly totalMs: number;
  readonly speedup: number;
  readonly cost: Pick<CostProvenance, 'description'> & { readonly kind: 'roofline' | 'profile' | 'throughputs' };
  /** One line each: what the numbers mean. */
  readonly reasons: readonly Sentence[];
}

/** `TP1 PP8 DP2`: the layout of an epoch. Runs that freeze layers have no tensor, context or expert parallelism. */
export function epochLayout({ pipelineLength, replicas }: Pick<ElasticEpoch, 'pipelineLength' | 'replicas'>): string {
  return sizesText({ tensor: 1, pipeline: pipelineLength, data: replicas, context: 1, expert: 1 });
}
