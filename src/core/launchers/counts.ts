import type { FactName, FactValues, Facts } from '../run/facts';

/** No run has more of anything counted here; larger values are unknown to every rule. */
const maximumCount = 1e9;

type CountName = { [K in FactName]: FactValues[K] extends number ? K : never }[FactName];

/** A whole number from `least` to 10^9 that the facts give; null when they do not, or give something no run can have. */
export function countOf(facts: Facts, name: CountName, least = 1): number | null {
  const value = facts[name]?.value;
  return value !== undefined && Number.isInteger(value) && value >= least && value <= maximumCount ? value : null;
}

/** GPUs in all: as given, or nodes x GPUs per node. */
export function worldSize(facts: Facts): number | null {
  if (facts.world !== undefined) return countOf(facts, 'world');
  return product(countOf(facts, 'nodes'), countOf(facts, 'gpusPerNode'));
}

/** Layers that are assigned to the stages: those of the model, plus one each for an embedding or a loss that counts as one. */
export function assignedLayers(facts: Facts): number | null {
  const layers = countOf(facts, 'layers');
  return layers === null ? null : layers + (facts.embeddingAsLayer?.value === true ? 1 : 0) + (facts.lossAsLayer?.value === true ? 1 : 0);
}

/** The product of positive whole numbers; null when one is unknown or the product is beyond any run. */
export function product(...factors: readonly (number | null)[]): number | null {
  let result = 1;
  for (const factor of factors) {
    if (factor === null) return null;
    result *= factor;
  }
  return result <= maximumCount ? result : null;
}

/** `total / part`, when both are known and it is a whole number. */
export function quotient(total: number | null, part: number | null): number | null {
  return total !== null && part !== null && part > 0 && total % part === 0 ? total / part : null;
}

/** Whether two divisions have the same layers in every stage; null is none. */
export function sameStageLayers(a: readonly number[] | null, b: readonly number[]): boolean {
  return a?.length === b.length && a.every((count, index) => count === b[index]);
}
