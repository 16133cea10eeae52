// Automatic scheduling of arXiv 2401.10241 (zero bubble), section 3, step 1: orders by greedy rules.
import { countedFromMs } from './order-times';
import type { Pipeline } from './pipeline';

/** What a free stage does when it has the choice. */
export interface GreedyRules {
  /** Bit `slot`: forwards of that slot go before input gradients that are ready too. */
  readonly forwardsFirst: number;
  /** Which slot goes first among forwards, and among input gradients. */
  readonly firstForward: 0 | 1;
  readonly firstInput: 0 | 1;
  /** Most micro-batches of slot 0 between forward and input gradient: this on stage 0, `fewer` less from stage to stage. */
  readonly ahead: number;
  readonly fewer: number;
  /**
   * Shares of a pass: a forward is put off when an input gradient is to come within this share of its time, a weight gradient when an input
   * gradient or a forward is.
   */
  readonly forwardWaits: number;
  readonly weightWaitsForInput: number;
  readonly weightWaitsForForward: number;
}

/**
 * An order in which every stage decides at each moment it is free, by rules, from what has come and what is known to be on its way, within
 * the memory limit; room for the forward of the last slot is kept, so that what is under way can always finish.
 * @param mostMs an order is given up as soon as its longest stage span is certain to be above this
 * @returns null when the rules lead where nothing can go on.
 */
export function greedyOrder(pipeline: Pipeline, rules: GreedyRules, mostMs = Infinity): Uint8Array | 'too long' | null {
  const { stages, slots, microBatches, operationCount, length, links, stageOfLink, lagMs, linkOfOperation, durationMs, memory, limit } =
    pipeline;
  const orders = new Uint8Array(stages * length);
  const readyMs = new Float64Array(links * microBatches).fill(Infinity).fill(0, 0, microBatches);
  const counts = new Int32Array(stages * operationCount);
  const written = new Int32Array(stages);
  const nowMs = new Float64Array(stages);
  const held = new Float64Array(stages);
  const spans = spanFloors(pipeline);

  const mayForward = (stage: number, slot: number): boolean => {
    const first = stage * operationCount;
    const underWay = (counts[first + slot] ?? 0) - (counts[first + slots + slot] ?? 0);
    if (slot === 0 && underWay >= Math.max(1, rules.ahead - Math.floor(rules.fewer * stage))) return false;
    const reserve = slot < slots - 1 ? (memory[first + slots - 1] ?? 0) : 0;
    return (held[stage] ?? 0) + (memory[first + slot] ?? 0) + reserve <= (limit[stage] ?? 0);
  };

  /** What the stage starts now, or -1 with the time to look again in `nowMs`. */
  const choose = (stage: number, now: number): number => {
    const first = stage * operationCount;
    let chosen = -1;
    let chosenRank = -1;
    let forwardMs = Infinity;
    let inputMs = Infinity;
    for (let operation = 0; operation < 2 * slots; operation++) {
      const count = counts[first + operation] ?? 0;
      const forward = operation < slots;
      const slot = forward ? operation : operation - slots;
      if (count >= microBatches || (forward && !mayForward(stage, slot))) continue;
      const ready = readyMs[(linkOfOperation[first + operation] ?? 0) * microBatches + count] ?? Infinity;
      if (ready > now) {
        if (forward) forwardMs = Math.min(forwardMs, ready);
        else inputMs = Math.min(inputMs, ready);
        continue;
      }
      const favoured = slot === (forward ? rules.firstForward : rules.firstInput) ? 1 : 0;
      const rank = favoured + (!forward ? 2 : (rules.forwardsFirst >> slot) % 2 === 1 ? 4 : 0);
      if (rank <= chosenRank) continue;
      chosen = operation;
      chosenRank = rank;
    }
    if (chosen >= slots) return chosen;
    if (chosen >= 0) {
      if (inputMs >= now + rules.forwardWaits * (durationMs[first + chosen] ?? 0)) return chosen;
      nowMs[stage] = inputMs;
      return -1;
    }
    const weight = oldestWeight(first);
    const weightMs = durationMs[first + weight] ?? 0;
    if (weight >= 0 && inputMs >= now + rules.weightWaitsForInput * weightMs && forwardMs >= now + rules.weightWaitsForForward * weightMs)
      return weight;
    nowMs[stage] = Math.min(inputMs, forwardMs);
    return -1;
  };

  const oldestWeight = (first: number): number => {
    let oldest = -1;
    for (let operation = operationCount - 1; operation >= 2 * slots; operation--) {
      const count = counts[first + operation] ?? 0;
      if (count < (counts[first + operation - slots] ?? 0) && (oldest < 0 || count < (counts[first + oldest] ?? 0))) oldest = operation;
    }
    return oldest;
  };

  for (let left = stages * length; left > 0;) {
    const stage = soonest(nowMs);
    const now = nowMs[stage] ?? Infinity;
    if (now === Infinity) return null;
    const operation = written[stage] === length ? -1 : choose(stage, now);
    if (operation < 0) {
      if (written[stage] === length) nowMs[stage] = Infinity;
      continue;
    }
    const index = stage * operationCount + operation;
    const count = counts[index] ?? 0;
    counts[index] = count + 1;
    orders[stage * length + (written[stage] ?? 0)] = operation;
    written[stage] = (written[stage] ?? 0) + 1;
    left--;
    held[stage] = (held[stage] ?? 0) + (memory[index] ?? 0);
    if (spans.add(stage, index, count) > mostMs) return 'too long';
    const end = now + (durationMs[index] ?? 0);
    nowMs[stage] = end;
    const link = linkOfOperation[index] ?? -1;
    if (link < 0 || link + 1 >= links) continue;
    const other = stageOfLink[link + 1] ?? 0;
    const arrives = end + (lagMs[link + 1] ?? 0);
    readyMs[(link + 1) * microBatches + count] = arrives;
    // A stage that found nothing to do, or expects something later, looks again.
    if (nowMs[other] === Infinity) nowMs[other] = arrives;
  }
  return orders;
}

/** What the span of each stage cannot go below any more, while an order is written in which each step comes after what it waits for. */
function spanFloors(pipeline: Pipeline): { readonly add: (stage: number, index: number, microBatch: number) => number } {
  const { stages, operationCount, microBatches, links, lagMs, linkOfOperation, durationMs } = pipeline;
  const linkEndMs = new Float64Array(links * microBatches);
  const freeMs = new Float64Array(stages);
  const floorMs = countedFromMs(pipeline).map((originMs) => -originMs);
  durationMs.forEach((ms, index) => {
    const stage = Math.floor(index / operationCount);
    floorMs[stage] = (floorMs[stage] ?? 0) + microBatches * ms;
  });
  return {
    /** Adds a stage's next step, started as soon as it can be: its work and what it has waited are in its span. */
    add(stage, index, microBatch) {
      const link = linkOfOperation[index] ?? -1;
      let start = freeMs[stage] ?? 0;
      if (link > 0) {
        const ready = (linkEndMs[(link - 1) * microBatches + microBatch] ?? 0) + (lagMs[link] ?? 0);
        if (ready > start) {
          floorMs[stage] = (floorMs[stage] ?? 0) + ready - start;
          start = ready;
        }
      }
      const end = start + (durationMs[index] ?? 0);
      freeMs[stage] = end;
      if (link >= 0) linkEndMs[link * microBatches + microBatch] = end;
      return floorMs[stage] ?? 0;
    },
  };
}

function soonest(nowMs: Float64Array): number {
  let stage = 0;
  for (let other = 1; other < nowMs.length; other++) if ((nowMs[other] ?? Infinity) < (nowMs[stage] ?? Infinity)) stage = other;
  return stage;
}
