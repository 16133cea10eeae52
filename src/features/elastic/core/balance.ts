import { sum } from '../../../core/numbers';

/** Units of each stage, in order; they add up to all units. A stage may be empty. */
export type StageUnits = readonly number[];

/** Share of an active layer's memory that a frozen one takes, as PipeTransformer measured it (arXiv 2102.03161, section 3.2). */
const frozenShare = 1 / 6;

/**
 * PipeTransformer's greedy balance by parameters (Algorithm 1, `load_balance`): a stage takes units while it stays strictly below the mean
 * of what is left plus its variance, both over the stages left; the last takes the rest. The rule adds a mean and a variance, so its unit
 * matters: it counts in millions of parameters, as the released code does.
 * @param parameters of each unit, elements.
 * @param frozen first units that are frozen and stay in the list, all on the first stage, where they count `frozenShare`; 0 when the frozen
 * part is a model of its own.
 */
export function greedyBalance(parameters: readonly number[], stages: number, frozen = 0): StageUnits {
  const millions = parameters.map((count) => count / 1e6);
  const discount = (1 - frozenShare) * sum(millions.slice(0, frozen));
  let assigned = frozen;
  let left = sum(parameters.slice(frozen));
  return Array.from({ length: stages }, (_, stage) => {
    const last = stage === stages - 1;
    const limit = (left / 1e6 + variance(millions.slice(assigned))) / (stages - stage);
    let held = stage === 0 ? sum(parameters.slice(0, frozen)) : 0;
    const first = stage === 0 ? 0 : assigned;
    for (; assigned < parameters.length; assigned++) {
      const next = parameters[assigned] ?? 0;
      if (!last && (held + next) / 1e6 - (stage === 0 ? discount : 0) >= limit) break;
      held += next;
      left -= next;
    }
    return assigned - first;
  });
}

/** Population variance; 0 of nothing. */
function variance(values: readonly number[]): number {
  if (values.length === 0) return 0;
  const mean = values.reduce((total, value) => total + value, 0) / values.length;
  return values.reduce((total, value) => total + (value - mean) ** 2, 0) / values.length;
}

/** Sums of `values` over each stage. */
export function stageSums(values: readonly number[], units: StageUnits): number[] {
  let from = 0;
  return units.map((count) => {
    const held = values.slice(from, from + count);
    from += count;
    return held.reduce((total, value) => total + value, 0);
  });
}

/** What a stage of units `from` to `to - 1` costs; Infinity when it may not be. Never falls when units are added. */
type StageCost = (from: number, to: number) => number;

/**
 * The cut of `units` units into `stages` contiguous stages whose costliest stage costs least; of those the one with the least sum of
 * squares, so that the other stages are even too. Dynamic programs over (stages, units), provably optimal. With fewer units than stages the
 * first stages are empty.
 * @returns null when every cut has a stage of cost Infinity.
 */
export function exactBalance(units: number, stages: number, cost: StageCost): StageUnits | null {
  const used = Math.min(units, stages);
  const bound = leastMaximum(units, used, cost);
  if (!Number.isFinite(bound)) return null;
  return [...Array.from({ length: stages - used }, () => 0), ...leastSquaresCut(units, used, cost, bound)];
}

/**
 * The least maximum cost of a stage over all cuts into `stages` non-empty stages. O(stages units log units): with more units in the last
 * stage its cost grows and that of the stages before falls, so that their crossing is found by bisection.
 */
function leastMaximum(units: number, stages: number, cost: StageCost): number {
  let best = Float64Array.from({ length: units + 1 }, (_, to) => (to === 0 ? 0 : Infinity));
  for (let stage = 0; stage < stages; stage++) {
    const before = best;
    const maximum = (from: number, to: number) => Math.max(before[from] ?? Infinity, cost(from, to));
    best = new Float64Array(units + 1).fill(Infinity);
    for (let to = stage + 1; to <= units; to++) {
      if (stage === 0) {
        best[to] = cost(0, to);
        continue;
      }
      // The first start at which the stages before cost at least as much as this one.
      let low = stage;
      let high = to - 1;
      while (low < high) {
        const middle = Math.floor((low + high) / 2);
        if ((before[middle] ?? Infinity) >= cost(middle, to)) high = middle;
        else low = middle + 1;
      }
      best[to] = Math.min(maximum(low, to), low > stage ? maximum(low - 1, to) : Infinity);
    }
  }
  return stages === 0 ? Infinity : (best[units] ?? Infinity);
}

/** The cut into `stages` non-empty stages of at most `bound` each with the least sum of squares; there is one. O(units^2). */
function leastSquaresCut(units: number, stages: number, cost: StageCost, bound: number): StageUnits {
  let best = Float64Array.from({ length: units + 1 }, (_, to) => (to === 0 ? 0 : Infinity));
  const starts: Uint32Array[] = [];
  for (let stage = 0; stage < stages; stage++) {
    const next = new Float64Array(units + 1).fill(Infinity);
    const start = new Uint32Array(units + 1);
    for (let to = stage + 1; to <= units - (stages - stage - 1); to++) {
      for (let from = to - 1; from >= stage; from--) {
        const held = cost(from, to);
        if (held > bound) break;
        const value = (best[from] ?? Infinity) + held ** 2;
        if (value < (next[to] ?? Infinity)) {
          next[to] = value;
          start[to] = from;
        }
      }
    }
    best = next;
    starts.push(start);
  }
  const cut: number[] = [];
  let to = units;
  for (let stage = stages - 1; stage >= 0; stage--) {
    const from = starts[stage]?.[to] ?? 0;
    cut.unshift(to - from);
    to = from;
  }
  return cut;
}
