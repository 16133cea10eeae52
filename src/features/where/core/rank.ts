import { costOfTokens } from '../../../core/planner/training-cost';
import type { Machine } from './machines';

/** The best layout on a machine, as a search found it. Times in ms. */
export interface MachinePlan {
  readonly gpus: number;
  readonly iterationMs: number;
  /** Of all GPUs. */
  readonly tokensPerSecond: number;
  readonly fits: boolean;
}

/** What a run is held to. Null: not given. */
export interface Limits {
  /** Tokens of the whole run. */
  readonly tokens: number | null;
  /** Most that it may cost, in the currency of the prices, and most days that it may take. */
  readonly budget: number | null;
  readonly days: number | null;
}

/** Why a machine is not proposed. */
export type Shortfall = 'does-not-fit' | 'over-budget' | 'too-slow';

/** A machine with its plan, what a run costs on it, and how it ranks. */
export interface RankedMachine<P extends MachinePlan = MachinePlan> {
  readonly machine: Machine;
  readonly plan: P;
  /** Of one GPU for an hour; null: not given. */
  readonly price: number | null;
  /** Of a billion tokens. */
  readonly gpuHoursPerBillion: number;
  readonly costPerBillion: number | null;
  /** Of the whole run; null without its tokens, and the cost without a price. */
  readonly days: number | null;
  readonly cost: number | null;
  readonly shortfall: Shortfall | null;
  /** No other machine of the list that falls short of nothing is both faster and cheaper (without prices: takes fewer GPU hours). */
  readonly isOnFront: boolean;
}

const billion = 1e9;

/**
 * Machines in the order in which they are proposed: those that fall short of nothing first; of these the cheapest where each has a price,
 * else the one with the fewest GPU hours; of two at the same, the faster. @param priceFor of one GPU for an hour; null: not given.
 */
export function rankMachines<P extends MachinePlan>(
  plans: readonly { readonly machine: Machine; readonly plan: P }[],
  priceFor: (machine: Machine) => number | null,
  limits: Limits,
): RankedMachine<P>[] {
  const priced = plans.map(({ machine, plan }) => withCost(machine, plan, priceFor(machine), limits));
  const able = priced.filter(({ shortfall }) => shortfall === null);
  const isByCost = ranksByCost(priced);
  const expense = ({ costPerBillion, gpuHoursPerBillion }: RankedMachine): number =>
    isByCost ? (costPerBillion ?? Infinity) : gpuHoursPerBillion;
  const isBeaten = (one: RankedMachine<P>): boolean =>
    able.some(
      (other) =>
        other.plan.tokensPerSecond >= one.plan.tokensPerSecond &&
        expense(other) <= expense(one) &&
        (other.plan.tokensPerSecond > one.plan.tokensPerSecond || expense(other) < expense(one)),
    );
  const rank = ({ shortfall }: RankedMachine): number => (shortfall === null ? 0 : shortfall === 'does-not-fit' ? 2 : 1);
  return priced
    .map((one) => ({ ...one, isOnFront: one.shortfall === null && !isBeaten(one) }))
    .sort((a, b) => rank(a) - rank(b) || expense(a) - expense(b) || b.plan.tokensPerSecond - a.plan.tokensPerSecond);
}

/** Whether machines rank by cost: each that falls short of nothing (where none is, each) has a price. */
export function ranksByCost(machines: readonly Pick<RankedMachine, 'shortfall' | 'price'>[]): boolean {
  const able = machines.filter(({ shortfall }) => shortfall === null);
  return machines.length > 0 && (able.length > 0 ? able : machines).every(({ price }) => price !== null);
}

function withCost<P extends MachinePlan>(machine: Machine, plan: P, price: number | null, limits: Limits): RankedMachine<P> {
  const ofBillion = costOfTokens(billion, price, plan.gpus, plan.tokensPerSecond);
  const run = limits.tokens === null ? null : costOfTokens(limits.tokens, price, plan.gpus, plan.tokensPerSecond);
  const [days, cost] = [run?.days ?? null, run?.cost ?? null];
  return {
    machine,
    plan,
    price,
    gpuHoursPerBillion: ofBillion.gpuHours,
    costPerBillion: ofBillion.cost,
    days,
    cost,
    shortfall: findShortfall(plan, { days, cost }, limits),
    isOnFront: false,
  };
}

function findShortfall(
  { fits }: MachinePlan,
  { days, cost }: { readonly days: number | null; readonly cost: number | null },
  limits: Limits,
): Shortfall | null {
  if (!fits) return 'does-not-fit';
  if (limits.budget !== null && cost !== null && cost > limits.budget) return 'over-budget';
  return limits.days !== null && days !== null && days > limits.days ? 'too-slow' : null;
}
