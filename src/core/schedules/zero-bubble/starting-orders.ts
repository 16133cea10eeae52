// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3, step 1: orders that the search starts from.
import type { ScheduleKind } from '../kind';
import { dualPipeV } from '../kinds/dualpipe-v';
import { gpipe } from '../kinds/gpipe';
import { oneForwardOneBackward } from '../kinds/one-forward-one-backward';
import { vHalf } from '../kinds/v-half';
import { vMin } from '../kinds/v-min';
import { zbH1 } from '../kinds/zb-h1';
import { zbH2 } from '../kinds/zb-h2';
import { zbvZeroBubble } from '../kinds/zbv-zero-bubble';
import { greedyOrder, type GreedyRules } from './greedy-order';
import { emitHandcrafted } from './handcrafted-order';
import { toOrderArray, type Pipeline } from './pipeline';

/**
 * A way to write an order for any number of micro-batches; null where it leads nowhere. It may give up where the longest stage span would
 * be above `mostMs`.
 */
export type OrderRecipe = (pipeline: Pipeline, mostMs: number) => Uint8Array | 'too long' | null;

/** Micro-batches that some stage can hold at once under its limit. */
export function heldMicroBatches({ stages, slots, operationCount, memory, limit, microBatches }: Pipeline): number {
  let most = 0;
  for (let stage = 0; stage < stages; stage++) {
    let each = 0;
    for (let slot = 0; slot < slots; slot++) each += memory[stage * operationCount + slot] ?? 0;
    most = Math.max(most, each > 0 ? Math.floor((limit[stage] ?? 0) / each) : microBatches);
  }
  return Math.min(microBatches, most);
}

/** Schedules of the pipeline's placement whose order does not depend on times: no plan may be worse than one of them that fits. */
function fixedOrders({ slots, problem }: Pipeline, kinds: readonly ScheduleKind[]): OrderRecipe[] {
  return kinds
    .filter(({ unmet }) => unmet({ ...problem, chunksPerStage: slots }) === null)
    .map(
      (kind): OrderRecipe =>
        (short) =>
          kind.unmet(short.problem) === null ? toOrderArray(short, kind.order(short.problem)) : null,
    );
}

/** Orders worth a try. Some hold more than the limit. */
export interface StartingOrders {
  readonly handcrafted: readonly OrderRecipe[];
  readonly greedy: readonly OrderRecipe[];
}

export function startingOrders(pipeline: Pipeline): StartingOrders {
  return pipeline.slots === 1 ? oneChunk(pipeline) : twoChunks(pipeline);
}

function oneChunk(pipeline: Pipeline): StartingOrders {
  const { stages } = pipeline;
  const held = heldMicroBatches(pipeline);
  // In units of 1F1B, where stage s runs `stages - 1 - s` micro-batches ahead.
  const most = (held - 1) / Math.max(1, stages - 1);
  const handcrafted = [1, most, Math.min(2, most)].flatMap((scale) =>
    [0, stages - 1, Math.floor(scale * (stages - 1))].map(
      (late): OrderRecipe =>
        (short) =>
          toOrderArray(short, (stage, emit) => {
            emitHandcrafted(stage, short.microBatches, Math.min(held - 1, Math.floor(scale * (stages - 1 - stage))), late, emit);
          }),
    ),
  );
  const greedy = product([0, 1 / 2, 2 / 3, 3 / 4, 5 / 6, 11 / 12, 1, 5 / 4], [0, 1], [0, 0.25, 0.5, 0.75, 1], [0, 0.5, 1], [0, 0.5, 1]).map(
    ([slope, forwardsFirst, weightWaitsForInput, forwardWaits, weightWaitsForForward]): OrderRecipe =>
      byRules({
        ahead: held,
        fewer: (slope * held) / stages,
        forwardsFirst,
        firstForward: 0,
        firstInput: 0,
        forwardWaits,
        weightWaitsForInput,
        weightWaitsForForward,
      }),
  );
  return { handcrafted: [...fixedOrders(pipeline, [oneForwardOneBackward, zbH1, zbH2, gpipe]), ...handcrafted], greedy: spreadOut(greedy) };
}

function twoChunks(pipeline: Pipeline): StartingOrders {
  const { stages } = pipeline;
  const held = heldMicroBatches(pipeline);
  const greedy = product([0, 1], [0, 2, 3], [0, 1], [0, 0.5, 1], [0, 0.5], [0, 1]).map(
    ([slope, forwardsFirst, firstForward, weightWaitsForInput, forwardWaits, weightWaitsForForward]): OrderRecipe =>
      byRules({
        ahead: 2 * held - 1,
        fewer: (slope * held) / stages,
        forwardsFirst,
        firstForward: firstForward === 1 ? 1 : 0,
        firstInput: 0,
        forwardWaits,
        weightWaitsForInput,
        weightWaitsForForward,
      }),
  );
  return { handcrafted: fixedOrders(pipeline, [zbvZeroBubble, vHalf, vMin, dualPipeV]), greedy: spreadOut(greedy) };
}

function byRules(rules: GreedyRules): OrderRecipe {
  return (pipeline, mostMs) => greedyOrder(pipeline, rules, mostMs);
}

/** The same in an order in which neighbours differ much, so that the first few stand for all. */
function spreadOut<Item>(items: readonly Item[]): Item[] {
  const places = items.map((item, index) => ({ item, place: (index * Math.SQRT2) % 1 }));
  return places.sort((a, b) => a.place - b.place).map(({ item }) => item);
}

/** Every way to take one number of each list. */
function product<Lists extends readonly (readonly number[])[]>(...lists: Lists): { [Index in keyof Lists]: number }[] {
  const all = lists.reduce<number[][]>((rows, list) => rows.flatMap((row) => list.map((value) => [...row, value])), [[]]);
  return all as { [Index in keyof Lists]: number }[];
}
