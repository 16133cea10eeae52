import { sentence } from '../../sentence';
import { byDefault, type Located } from '../../domain/located';
import type { SplitRule } from '../../domain/scheme';
import type { Facts } from '../../run/facts';
import { choice, count, numbers, on, positiveNumber, text } from '../../languages/reads';
import { readSliceFlags, sliceFlags } from '../../slice-runtimes/flags';
import type { SliceRuntime } from '../../slice-runtimes/slice-runtime';
import { worldSize } from '../counts';
import { readYarn } from './detail-facts';
import { type LocatedFlag, flagFact, placeOfValue } from '../tables/located-flag';
import { without } from '../../records';

/** The schedule that flags of forks pick. */
export function readScheduleFlags(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const method = flagFact(flags.get('schedules-method'), text) ?? flagFact(flags.get('schedule-method'), text);
  if (method !== undefined && /^dualpipev$/i.test(method.value)) return { schedule: { ...method, value: 'DualPipeV' } };
  if (method !== undefined && /^zb_?h1$/i.test(method.value)) return { schedule: { ...method, value: 'ZB-H1' } };
  const setup = flagFact(flags.get('zero-bubble-v-schedule-mem-setup'), text)?.value ?? 'zb';
  const byV = flagFact(flags.get('zero-bubble-v-schedule'), on(true));
  if (byV?.value === true)
    return { schedule: { ...byV, value: setup === 'min' ? 'V-Min' : setup === 'half' ? 'V-Half' : 'ZBVZeroBubble' } };
  const plain = flagFact(flags.get('enable-zero-bubble'), on(true)) ?? flagFact(flags.get('enable-zbh1-pipeline'), on(true));
  if (plain?.value !== true) return {};
  // sail-sg plans its orders under this limit, or with `auto` under the memory there is.
  const limit = flags.get('zero-bubble-max-pending-backward');
  const isPlanned = flagFact(limit, count(1)) !== undefined || flagFact(limit, text)?.value === 'auto';
  return { schedule: { ...plain, value: isPlanned ? 'ZeroBubble' : 'ZB-H1' } };
}

/** Slices, at the flags that set them; a rule that the runtime has and the file does not give is its default. */
export function slicedFacts(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const sliced = readSliceFlags(flags);
  if (sliced === null) return {};
  const { runtime, at, missing } = sliced;
  const sign = flags.get(at);
  if (sign === undefined) return {};
  const { splits, rule: byRule, lengths } = runtime;
  const here = { source: { kind: 'file', place: placeOfValue(sign), key: sign.name }, name: sign.name } as const;
  const slices = flagFact(flags.get(splits.flag), count(1)) ?? (flags.has(splits.flag) ? undefined : { ...here, value: splits.usual });
  const listed = lengths === null ? undefined : flagFact(flags.get(lengths.flag), numbers);
  const given = byRule === null ? undefined : flagFact(flags.get(byRule.flag), choice(sliceFlags.rules.get(byRule.flag) ?? {}));
  const isPiped = (slices?.value ?? 1) > 1;
  return {
    ...(slices && { slices }),
    ...(isPiped && {
      schedule: { ...here, value: 'Seq1F1B' },
      sliceRuntime: { ...here, value: runtime.id },
      sliceRule: given ?? usualRule(runtime),
      ...(missing.length > 0 && { sliceNeeds: { ...here, value: missing } }),
    }),
    ...(listed && { sliceLengths: listed }),
  };
}

function usualRule({ name, rule }: SliceRuntime): Located<SplitRule> {
  return rule?.usual === 'equal-work'
    ? byDefault('equal-work', sentence`${name} cuts slices of equal work by default`)
    : byDefault('average', sentence`${name} cuts equal slices by default`);
}

/** Yarn, Llama 3's scaling with a factor of its own, or positions divided by a number. */
export function readRopeScaling(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Pick<Facts, 'ropeScaling'> {
  const { ropeScaling } = facts;
  const yarn = readYarn(facts, flags);
  if (yarn !== undefined) return { ropeScaling: yarn };
  const factor = flagFact(flags.get('rope-scaling-factor'), positiveNumber);
  const divided = flagFact(flags.get('rotary-seq-len-interpolation-factor'), count(1));
  if (ropeScaling !== undefined && factor !== undefined)
    return { ropeScaling: { ...ropeScaling, value: { ...ropeScaling.value, factor: factor.value } } };
  return ropeScaling === undefined && divided !== undefined
    ? { ropeScaling: { ...divided, value: { kind: 'linear', factor: divided.value } } }
    : {};
}

/**
 * Before `--recompute-granularity`, whole layers were recomputed by `--checkpoint-activations`, or by a method without any other flag
 * (bigscience, megatron/arguments.py 512).
 */
export function wholeRecompute({ recomputeGranularity, recomputeMethod }: Facts): Facts {
  if (/^--checkpoint[-_]activations$/.test(recomputeGranularity?.name ?? ''))
    return recomputeMethod === undefined
      ? { recomputeMethod: byDefault('uniform', sentence`--checkpoint-activations needs no other flag`) }
      : {};
  const isOld = /^--activations[-_]checkpoint[-_]method$/.test(recomputeMethod?.name ?? '');
  return recomputeGranularity === undefined && isOld
    ? { recomputeGranularity: byDefault('full', sentence`--activations-checkpoint-method recomputes whole layers without another flag`) }
    : {};
}

/** Layers that are assigned to stages but not built are not the model's (mindspeed/core/pipeline_parallel/noop_layers/transformer.py). */
export function emptied({ layers, emptyLayers, firstDenseLayers, moeLayerFrequency }: Facts): Facts {
  const frequency: Facts =
    firstDenseLayers !== undefined && moeLayerFrequency?.value === '-1' ? { moeLayerFrequency: { ...moeLayerFrequency, value: '1' } } : {};
  if (layers === undefined || emptyLayers === undefined) return frequency;
  const empty = new Set(emptyLayers.value.filter((layer) => layer < layers.value)).size;
  return { ...frequency, layers: { ...layers, value: layers.value - empty } };
}

/** YaLM pads the width of its feed-forward networks to the tensor size (megatron_lm/megatron/arguments.py 60 to 67). */
export function paddedWidth({ ffn, tensor }: Facts): Facts {
  if (ffn === undefined || tensor === undefined || !/^--intermediate[-_]size$/.test(ffn.name ?? '')) return {};
  return { ffn: { ...ffn, value: tensor.value * Math.ceil(ffn.value / tensor.value) } };
}

/**
 * MegaBlocks shares experts out over the data-parallel group (`--moe-expert-model-parallelism`, megablocks/layers/mpu.py); a token goes to
 * one of them where nothing is set.
 */
export function expertsOfReplicas(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const { experts, activeExperts } = facts;
  if (!/^--moe[-_]num[-_]experts$/.test(experts?.name ?? '')) return {};
  const active =
    activeExperts === undefined ? { activeExperts: byDefault(1, sentence`MegaBlocks sends a token to one expert by default`) } : {};
  const shared = flagFact(flags.get('moe-expert-model-parallelism'), on(true));
  const [world, replica] = [worldSize(facts), (facts.tensor?.value ?? 1) * (facts.pipeline?.value ?? 1)];
  const ranks = world === null || experts === undefined ? 0 : Math.min(world / replica, experts.value);
  return shared?.value === true && Number.isInteger(ranks) && ranks > 1 ? { ...active, expert: { ...shared, value: ranks } } : active;
}

/** Where embeddings are assigned too, each counts as a layer. */
export function partitioned({ partitionMethod }: Facts): Facts {
  if (partitionMethod === undefined || !/embedding/i.test(partitionMethod.value)) return {};
  const counted = byDefault(true, sentence`${partitionMethod.name ?? ''} counts embeddings as layers`);
  return { embeddingAsLayer: counted, lossAsLayer: counted };
}

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
