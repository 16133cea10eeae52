import { without } from '../../records';
import type { Facts } from '../../run/facts';

/** Shared experts counted in widths of one routed expert, from the one width that Megatron Core states for all of them. */
export function sharedExperts(facts: Facts): Pick<Facts, 'sharedExperts'> {
  const total = facts.sharedExpertFfn;
  const each = facts.expertFfn ?? facts.ffn;
  const value = total === undefined || each === undefined ? NaN : total.value / each.value;
  return total === undefined || !Number.isInteger(value) ? {} : { sharedExperts: { ...total, value } };
}

/** Without experts the keys of a mixture have no effect: Megatron's own example keeps `moe_router_topk: 2` in dense models. */
export function withoutIdleExperts(facts: Facts): Facts {
  return facts.experts === undefined ? without(facts, 'activeExperts', 'expertFfn', 'moeLayerFrequency', 'sharedExpertFfn') : facts;
}

/** `block` recompute of no layer is NeMo's way to switch it off. */
export function withoutIdleRecompute(facts: Facts): Facts {
  const isIdle = facts.recomputeMethod?.value === 'block' && facts.recomputeLayers?.value === 0;
  return isIdle ? without(facts, 'recomputeGranularity', 'recomputeMethod', 'recomputeLayers') : facts;
}
