import { sentence } from '../../sentence';
import { byDefault } from '../../domain/located';
import type { Facts } from '../../run/facts';
import { choice, count, numbers, on, text } from '../../languages/reads';
import { sliceFlags, readSliceFlags } from '../../slice-runtimes/flags';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';

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

/** Slices, at the flags that say so; a rule that the runtime has and the file does not give is its default. */
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
      sliceRule: given ?? byDefault('average', sentence`${runtime.name} cuts equal slices by default`),
      ...(missing.length > 0 && { sliceNeeds: { ...here, value: missing } }),
    }),
    ...(listed && { sliceLengths: listed }),
  };
}
