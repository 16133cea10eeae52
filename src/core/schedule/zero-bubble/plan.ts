import { boundMs } from './bound';
import { heldMicroBatches, recipes, type Recipe } from './candidates';
import { improve, type Plan } from './improve';
import { fits, withMicroBatches, type Pipeline } from './pipeline';
import { repeated } from './repeat';
import { measure, timesOf } from './times';

/** Steps timed while orders are improved, per step of the whole order, and at most: what bounds the time that a plan takes. */
const workPerStep = 6500;
const mostWork = 80e6;

/** Steps timed at most while orders to start from, or to end with, are looked at. */
const mostTrials = 60e6;

/** Orders that improvement starts from, and the share of its work that each gets before the best of them gets the rest. */
const starts = 3;
const startShare = 0.1;

/** Share of the work for the whole order, where most of it goes into one with fewer micro-batches. */
const wholeShare = 0.2;

/**
 * The order with the shortest longest stage span that hand-made orders, dispatching by several rules, and moving steps of longest paths find under the memory limit. Most of the search happens
 * with few micro-batches: what makes orders differ is how the pipeline fills and drains, and the steady state between is repeated. Bounded work, the same for the same arguments.
 */
export function plan(pipeline: Pipeline): Plan {
  const short = withMicroBatches(pipeline, fewMicroBatches(pipeline));
  const isWhole = short.microBatches === pipeline.microBatches;
  const work = Math.min(mostWork, workPerStep * pipeline.stages * pipeline.length);
  const first = firstPlans(short, recipes(pipeline));
  const found = search(short, first, isWhole ? work : (1 - wholeShare) * work);
  if (isWhole) return found;
  const whole = bestOf(bestPlans(pipeline, longer(pipeline, short, first, found), 1));
  // Where repeating lost nothing, what is left to find has been looked for.
  if (whole.spanMs - found.spanMs <= boundMs(pipeline) - boundMs(short)) return whole;
  return improve(pipeline, whole, wholeShare * work, reachedMs(pipeline), toleranceMs(pipeline));
}

/** As many as fill and drain the pipeline under the limit. */
function fewMicroBatches(pipeline: Pipeline): number {
  const { stages, microBatches } = pipeline;
  const inFlight = Math.min(Math.max(stages, heldMicroBatches(pipeline)), 4 * stages);
  return Math.min(microBatches, stages + inFlight);
}

/** An order to look at, and where it comes from. */
interface Trial {
  readonly words: Uint8Array;
  readonly recipe?: Recipe;
}

type Tried = Plan & Trial;

function firstPlans(pipeline: Pipeline, all: readonly Recipe[]): Tried[] {
  return bestPlans(pipeline, trialsOf(pipeline, all), starts);
}

function* trialsOf(pipeline: Pipeline, all: readonly Recipe[]): Generator<Trial> {
  for (const recipe of all) {
    const words = recipe(pipeline);
    if (words) yield { words, recipe };
  }
}

/** Orders for all micro-batches, made of what was found for few, and by the recipes of what that was found from. */
function* longer(pipeline: Pipeline, short: Pipeline, first: readonly Tried[], found: Plan): Generator<Trial> {
  yield* trialsOf(
    pipeline,
    first.flatMap(({ recipe }) => recipe ?? []),
  );
  const times = timesOf(short);
  for (const { words } of [found, ...first]) {
    measure(short, words, times);
    for (const repeatedWords of repeated(short, words, times, pipeline.microBatches)) yield { words: repeatedWords };
  }
}

/** The best few of what can run under the limit, shortest first and no two alike; just one when it cannot be beaten. */
function bestPlans(pipeline: Pipeline, trials: Iterable<Trial>, few: number): Tried[] {
  const { stages, length, letters } = pipeline;
  const enoughMs = reachedMs(pipeline);
  const times = timesOf(pipeline);
  const counts = new Int32Array(letters);
  const allStages = Array.from({ length: stages }, (_, stage) => stage);
  let best: Tried[] = [];
  let left = mostTrials;
  for (const trial of trials) {
    // Making an order costs several times what measuring it does, and more with many stages.
    left -= stages * length * (4 + stages / 8);
    const spanMs = allStages.every((stage) => fits(pipeline, trial.words, stage, counts))
      ? measure(pipeline, trial.words, times)
      : Infinity;
    if (spanMs < Infinity && !best.some((other) => other.spanMs === spanMs)) {
      best = [...best, { ...trial, spanMs }].sort((a, b) => a.spanMs - b.spanMs).slice(0, few);
      if (spanMs <= enoughMs) return best.slice(0, 1);
    }
    if (left < 0 && best.length > 0) break;
  }
  if (best.length === 0) throw new Error('No rules lead to an order under this limit.');
  return best;
}

function search(pipeline: Pipeline, first: readonly Plan[], work: number): Plan {
  const enoughMs = reachedMs(pipeline);
  const better = bestOf(first.map((start) => improve(pipeline, start, startShare * work, enoughMs, toleranceMs(pipeline))));
  return improve(pipeline, better, (1 - startShare * first.length) * work, enoughMs, toleranceMs(pipeline));
}

function bestOf(plans: readonly Plan[]): Plan {
  return plans.reduce((best, other) => (other.spanMs < best.spanMs ? other : best));
}

/** A span that is as good as the bound, but for rounding. */
function reachedMs(pipeline: Pipeline): number {
  return boundMs(pipeline) * (1 + 1e-10);
}

/** What a move may cost at first: a small part of a pass. */
function toleranceMs({ durationMs }: Pipeline): number {
  return 0.02 * durationMs.reduce((most, ms) => Math.max(most, ms), 0);
}
