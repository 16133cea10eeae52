import type { Facts } from '../../run/facts';
import { count, positiveNumber } from '../../languages/reads';
import { flagFact, type LocatedFlag } from '../tables/located-flag';

/** Llama 3's scaling with a factor of its own, or positions divided by a number. */
export function readRopeScaling({ ropeScaling }: Facts, flags: ReadonlyMap<string, LocatedFlag>): Pick<Facts, 'ropeScaling'> {
  const factor = flagFact(flags.get('rope-scaling-factor'), positiveNumber);
  const divided = flagFact(flags.get('rotary-seq-len-interpolation-factor'), count(1));
  if (ropeScaling !== undefined && factor !== undefined)
    return { ropeScaling: { ...ropeScaling, value: { ...ropeScaling.value, factor: factor.value } } };
  return ropeScaling === undefined && divided !== undefined
    ? { ropeScaling: { ...divided, value: { kind: 'linear', factor: divided.value } } }
    : {};
}
