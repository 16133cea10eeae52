import { memoized } from '../../records';
import type { SliceMs } from '../../slicing/problem';
import type { PlanRequest } from '../../domain/request';
import type { Pipeline } from '../predict/pipeline';
import { blockingSends } from '../predict/transfers';
import { maximum, minimum } from '../../numbers';

/** What the dynamic program knows of the stages. */
export interface SlicingStages {
  /**
   * `equal`: every stage takes `cost`; `proportional`: its factor times `cost`; `nearly`: proportional to within `apart`, the simulation
   * corrects for the difference; `slowest`: `cost` is of whichever stage is slowest for a slice, and the simulation judges.
   */
  readonly kind: 'equal' | 'proportional' | 'nearly' | 'slowest';
  readonly cost: SliceMs;
  /** How many times `cost` each stage takes; null where nothing but the slowest counts. */
  readonly factors: readonly number[] | null;
  /** Stage that `cost` is of; null where it is of several. */
  readonly stage: number | null;
  /** By which share of itself a stage's time lies off its factor at most. */
  readonly apart: number;
}

/** Stages this close to a proportion are in it: rounding. */
const exactly = 1e-9;
/** On nodes of several kinds stages count as nearly proportional up to this share. */
const nearly = 0.02;

/** The same functions whenever a pipeline is asked, so that what is kept of them serves every batch and unit that is solved for. */
const knownCosts = new WeakMap<Pipeline, readonly SliceMs[]>();
const knownSlowest = new WeakMap<Pipeline, SliceMs>();

/**
 * Forward and backward of a slice on every stage, ms, with both transfers, which hold the sender (TeraPipe's runtime); stages that take the
 * same share a function.
 */
function stageCosts(pipeline: Pipeline): readonly SliceMs[] {
  return memoized(knownCosts, pipeline, () => makeStageCosts(pipeline));
}

function makeStageCosts(pipeline: Pipeline): readonly SliceMs[] {
  const known = new Map<string, SliceMs>();
  const costs = pipeline.stages.map(({ cost }) => cost);
  return costs.map((cost, stage) => {
    const key = [costs.indexOf(cost), ...neighbourKinds(pipeline, stage), ...neighbourLinks(pipeline, stage)].join();
    const same = known.get(key);
    if (same !== undefined) return same;
    const transfers = blockingSends(pipeline, stage);
    const made: SliceMs = (batch, tokens, context) => {
      const time = cost(batch, tokens, context);
      return time.forwardMs + time.backwardMs + transfers(batch, tokens, time);
    };
    known.set(key, made);
    return made;
  });
}

/** How long a stage and its neighbours take to send a slice of one token. */
function neighbourLinks(pipeline: Pipeline, stage: number): number[] {
  return [blockingSends(pipeline, stage)(1, 1)];
}

/** The kinds of nodes that a stage lies on, and its neighbours do. */
function neighbourKinds({ stages, nodeKinds, inputs }: Pipeline, stage: number): number[] {
  return [stage - 1, stage, stage + 1].map((other) => nodeKinds.indexOf((stages[other] ?? stages[stage])?.inputs ?? inputs));
}

/** The slice time of whichever stage is slowest, with its transfers. */
export function slicingCost(pipeline: Pipeline): SliceMs {
  return slowestCost([...new Set(stageCosts(pipeline))]);
}

/**
 * The costs without those that are never the slowest: of stages with the same GPUs, ends and neighbours, whose layers are all alike, only
 * the one with most layers is kept.
 */
function withoutOutdone(pipeline: Pipeline, costs: readonly SliceMs[]): readonly SliceMs[] {
  const kept = new Map<string, { readonly cost: SliceMs; readonly layers: number }>();
  costs.forEach((cost, stage) => {
    const shape = pipeline.stages[stage]?.contents;
    if (shape === undefined) return;
    const { layers, ...rest } = shape;
    const neighbours = [...neighbourKinds(pipeline, stage), ...neighbourLinks(pipeline, stage)];
    const key = rest.groups === undefined ? JSON.stringify([rest, neighbours]) : `stage ${stage}`;
    const known = kept.get(key);
    if (known === undefined || known.layers < layers) kept.set(key, { cost, layers });
  });
  return [...new Set([...kept.values()].map(({ cost }) => cost))];
}

/** Whether slices surely take no less with more sequences, tokens or context: times that were measured need not. */
export function slicesGrow({ profile, costTable }: Pick<PlanRequest, 'profile' | 'costTable'>): boolean {
  return profile === null && costTable === null;
}

function slowestCost(costs: readonly SliceMs[]): SliceMs {
  return (batch, tokens, context) => costs.reduce((most, cost) => Math.max(most, cost(batch, tokens, context)), 0);
}

/**
 * Whether stages take slices of all lengths after all contexts in the same proportion, judged by samples: up to `largestChunk` sequences,
 * lengths from `unit` to the whole sequence, contexts from none to the rest.
 */
export function slicingStages(pipeline: Pipeline, unit: number, largestChunk: number): SlicingStages {
  const costs = stageCosts(pipeline);
  const distinct = [...new Set(costs)];
  const [first] = distinct;
  const slowest: SlicingStages = {
    kind: 'slowest',
    cost: memoized(knownSlowest, pipeline, () => slowestCost(withoutOutdone(pipeline, costs))),
    factors: null,
    stage: null,
    apart: 0,
  };
  if (first === undefined) return slowest;
  const equal: SlicingStages = { kind: 'equal', cost: first, factors: null, stage: 0, apart: 0 };
  if (distinct.length === 1) return equal;
  const { sequenceLength } = pipeline.inputs.training;
  const whole = distinct.map((cost) => cost(1, sequenceLength, 0));
  const reference = distinct[whole.indexOf(maximum(whole))] ?? first;
  const samples = sampleSlices(sequenceLength, unit, largestChunk);
  const ranges = new Map(distinct.map((cost) => [cost, ratioRange(samples.map((slice) => cost(...slice) / reference(...slice)))]));
  const factors = costs.map((cost) => ranges.get(cost)?.middle ?? 1);
  const apart = maximum([...ranges.values()].map(({ apart: own }) => own));
  const stage = costs.indexOf(reference);
  if (apart <= exactly && factors.every((factor) => Math.abs(factor - 1) <= exactly)) return { ...equal, cost: reference, stage };
  if (apart <= exactly) return { kind: 'proportional', cost: reference, factors, stage, apart: 0 };
  return pipeline.nodeKinds.length > 1 && apart <= nearly ? { kind: 'nearly', cost: reference, factors, stage, apart } : slowest;
}

/** The middle of ratios, and how far the outermost are from it; all of it by factors. */
function ratioRange(ratios: readonly number[]): { readonly middle: number; readonly apart: number } {
  const [least, most] = [minimum(ratios), maximum(ratios)];
  return { middle: Math.sqrt(least * most), apart: Math.sqrt(most / least) - 1 };
}

function sampleSlices(sequenceLength: number, unit: number, largestChunk: number): [number, number, number][] {
  const samples: [number, number, number][] = [];
  for (const batch of new Set([1, largestChunk]))
    for (let tokens = unit; tokens <= sequenceLength; tokens = Math.max(tokens + 1, Math.min(2 * tokens, sequenceLength)))
      for (const share of [0, 0.25, 0.5, 1]) samples.push([batch, tokens, Math.floor(share * (sequenceLength - tokens))]);
  return samples;
}
