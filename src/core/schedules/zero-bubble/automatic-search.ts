// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3: the search for the order with the shortest span.
import { throwIfCancelled } from '../../errors';
import { spanBoundMs } from './span-bound';
import { heldMicroBatches, startingOrders, type OrderRecipe, type StartingOrders } from './starting-orders';
import { anneal, type TimedOrder } from './anneal';
import { fits, withMicroBatches, type Pipeline } from './pipeline';
import { repeatSteadyState } from './repeat-steady-state';
import { timeOrder, makeTimes } from './order-times';

/** Most steps timed while first and last orders are compared. */
const mostTrials = 60e6;

/** Orders that improvement starts from. */
const starts = 3;

/** Share of the work for the whole order, where repeating a shorter one has lost something. */
const wholeShare = 0.2;

/** Number of searches that start again, and the share of the work that they divide; `furtherSearches` then continue from the best. */
const freshSearches = 4;
const freshShare = 0.7;
const furtherSearches = 2;

/** What a move may cost at first, in turn, as shares of the longest pass; and at most, as a share of what is above the bound. */
const tolerances = [0.02, 0.005, 0.1];
const mostTolerance = 0.1;

/** Two sums of the same times may differ by this share. */
const rounding = 1e-10;

/**
 * The order with the shortest longest stage span that handcrafted orders, greedy rules and moves on longest paths find under the memory
 * limit. Most of the search happens with few micro-batches: what makes orders differ is how the pipeline fills and drains, and the steady
 * state between is repeated. Bounded work, the same for the same arguments.
 * @throws CancelledError.
 */
export function searchOrder(pipeline: Pipeline, { handcrafted, greedy }: StartingOrders = startingOrders(pipeline)): TimedOrder {
  const short = withMicroBatches(pipeline, fewMicroBatches(pipeline));
  const work = workFor(pipeline.stages * pipeline.length);
  const first = bestPlans(short, recipeTrials(short, [...handcrafted, ...greedy]), starts, reachedMs(short));
  if (short.microBatches === pipeline.microBatches) return shortestOrder(search(pipeline, first, work));
  const found = search(short, first, (1 - wholeShare) * work);
  // More micro-batches are more work for every stage; where repeating adds no more than that, nothing was lost.
  const enoughMs = Math.max(
    reachedMs(pipeline),
    (shortestOrder(found).spanMs + spanBoundMs(pipeline) - spanBoundMs(short)) * (1 + rounding),
  );
  const whole = bestPlans(pipeline, longer(pipeline, short, [...handcrafted, ...first.map(({ recipe }) => recipe)], found), 1, enoughMs);
  return shortestOrder(whole).spanMs <= enoughMs ? shortestOrder(whole) : shortestOrder(search(pipeline, whole, wholeShare * work));
}

/**
 * Steps timed while orders are improved: less for each step the more there are, which keeps a search for 32 stages and 256 micro-batches to
 * seconds.
 */
export function workFor(steps: number): number {
  return Math.min(20_000 * steps, 400_000 * Math.sqrt(steps), 80e6);
}

/** As many as fill and drain the pipeline under the limit. */
function fewMicroBatches(pipeline: Pipeline): number {
  const { stages, microBatches } = pipeline;
  const inFlight = Math.min(Math.max(stages, heldMicroBatches(pipeline)), 4 * stages);
  return Math.min(microBatches, stages + inFlight);
}

/** An order to look at, and where it comes from. */
interface Trial<From> {
  readonly orders: Uint8Array | 'too long';
  readonly recipe: From;
}

interface TimedTrial<From> extends TimedOrder {
  readonly recipe: From;
}

/** Makes orders to look at one by one; one that would take longer than the time that is asked for may be given up as too long. */
type Trials<From> = Generator<Trial<From>, void, number>;

function* recipeTrials(pipeline: Pipeline, recipes: readonly OrderRecipe[]): Trials<OrderRecipe> {
  let mostMs = Infinity;
  for (const recipe of recipes) {
    throwIfCancelled(pipeline.problem.signal);
    const orders = recipe(pipeline, mostMs);
    if (orders) mostMs = yield { orders, recipe };
  }
}

/** Orders for all micro-batches, by recipes, and made of what was found for few. */
function* longer(
  pipeline: Pipeline,
  short: Pipeline,
  recipes: readonly OrderRecipe[],
  found: readonly TimedOrder[],
): Trials<OrderRecipe | null> {
  yield* recipeTrials(pipeline, recipes);
  const times = makeTimes(short);
  for (const { orders } of [...found].sort((a, b) => a.spanMs - b.spanMs)) {
    timeOrder(short, orders, times);
    for (const repeatedOrders of repeatSteadyState(short, orders, times, pipeline.microBatches))
      yield { orders: repeatedOrders, recipe: null };
  }
}

/** The best few of what can run under the limit, shortest first and no two alike; just one when it cannot be beaten. */
function bestPlans<From>(pipeline: Pipeline, trials: Trials<From>, few: number, enoughMs: number): TimedTrial<From>[] {
  const { stages, length, operationCount } = pipeline;
  const times = makeTimes(pipeline);
  const counts = new Int32Array(operationCount);
  const allStages = Array.from({ length: stages }, (_, stage) => stage);
  let best: TimedTrial<From>[] = [];
  let left = mostTrials;
  const measure = (orders: Uint8Array): number =>
    allStages.every((stage) => fits(pipeline, orders, stage, counts)) ? timeOrder(pipeline, orders, times) : Infinity;
  /** What an order must stay below to be one of the best few. */
  const mostMs = (): number => (best[few - 1]?.spanMs ?? Infinity) * (1 + rounding);
  for (let next = trials.next(Infinity); !next.done; next = trials.next(mostMs())) {
    const { orders, recipe } = next.value;
    throwIfCancelled(pipeline.problem.signal);
    // Making an order costs several times what measuring it does, and more with many stages. One that was given up counts in full, as it
    // would have if it had been finished; rules that lead nowhere never count, so that fewer orders are looked at where such an order was
    // given up before that showed, and the work runs out.
    left -= stages * length * (recipe ? 4 + stages / 8 : 2);
    const spanMs = orders === 'too long' ? Infinity : measure(orders);
    if (orders !== 'too long' && spanMs < Infinity && !best.some((other) => other.spanMs === spanMs)) {
      best = [...best, { orders, recipe, spanMs }].sort((a, b) => a.spanMs - b.spanMs).slice(0, few);
      if (spanMs <= enoughMs) return best.slice(0, 1);
    }
    if (left < 0 && best.length > 0) break;
  }
  if (best.length === 0) throw new Error('No rules lead to an order under this limit.');
  return best;
}

/** Every order found, those started from included; only the best where it cannot be beaten. */
function search(pipeline: Pipeline, first: readonly TimedOrder[], work: number): readonly TimedOrder[] {
  const enoughMs = reachedMs(pipeline);
  const start = shortestOrder(first);
  if (start.spanMs <= enoughMs) return [start];
  const gapMs = start.spanMs - spanBoundMs(pipeline);
  const longestPassMs = pipeline.durationMs.reduce((most, ms) => Math.max(most, ms), 0);
  const near = first.filter(({ spanMs }) => spanMs - start.spanMs <= gapMs / 2);
  const plans = [...near];
  for (let index = 0; index < freshSearches + furtherSearches; index++) {
    const fresh = index < freshSearches;
    const from = fresh ? (near[index % near.length] ?? start) : shortestOrder(plans);
    const share = fresh ? freshShare / freshSearches : (1 - freshShare) / furtherSearches;
    const toleranceMs = Math.min((tolerances[index % tolerances.length] ?? 0) * longestPassMs, mostTolerance * gapMs);
    const next = anneal(pipeline, from, { work: share * work, enoughMs, toleranceMs, seed: index });
    if (next.spanMs <= enoughMs) return [next];
    plans.push(next);
  }
  return plans;
}

function shortestOrder(plans: readonly TimedOrder[]): TimedOrder {
  return plans.reduce((best, other) => (other.spanMs < best.spanMs ? other : best));
}

/** A span that is as good as the bound, except for rounding. */
function reachedMs(pipeline: Pipeline): number {
  return spanBoundMs(pipeline) * (1 + rounding);
}
