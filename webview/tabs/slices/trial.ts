import { predict } from '../../../src/core/planner/predict/predict';
import { buildPipeline, type Pipeline } from '../../../src/core/planner/predict/pipeline';
import type { Candidate, BaselineSlicing, Plan } from '../../../src/core/planner/plan';
import { sliceWork } from '../../../src/core/slicing/chunk-rules';
import { unlessUnmet } from '../../../src/core/schedules/on-layout';
import { scheduleKind } from '../../../src/core/schedules/registry';
import type { PlanRequest } from '../../../src/core/domain/request';
import type { ScheduleName } from '../../../src/core/domain/schedule-names';
import type { Scheme } from '../../../src/core/domain/scheme';

/** Slice lengths of one sequence, tokens. */
export type Lengths = readonly number[];

/** The grid that cuts are moved on, tokens: the slicing unit of the config, else a 64th of the sequence and at least 8. */
export function cutGrid({ slicing, training }: PlanRequest, lengths: Lengths): number {
  if (slicing.unit !== null) return slicing.unit;
  const fine = Math.max(8, 2 ** Math.floor(Math.log2(training.sequenceLength / 64)));
  return lengths.slice(0, -1).every((length) => length % fine === 0) ? fine : 1;
}

/** Lengths with cut `index` (between slices `index` and `index + 1`) moved as far as both slices keep one unit. */
export function moveCut(lengths: Lengths, index: number, byTokens: number, unit: number): Lengths {
  const [before = 0, after = 0] = [lengths[index], lengths[index + 1]];
  const by = Math.min(after - Math.min(unit, after), Math.max(Math.min(unit, before) - before, byTokens));
  return lengths.map((length, at) => (at === index ? length + by : at === index + 1 ? length - by : length));
}

/** Lengths without cut `index`. */
export function removeCut(lengths: Lengths, index: number): Lengths {
  return lengths.flatMap((length, at) => (at === index ? [length + (lengths[at + 1] ?? 0)] : at === index + 1 ? [] : [length]));
}

/** Lengths with a cut in the middle of slice `index`, on the grid; the same where it is too short. */
export function addCut(lengths: Lengths, index: number, unit: number): Lengths {
  const half = Math.floor((lengths[index] ?? 0) / 2 / unit) * unit;
  return half === 0 ? lengths : lengths.flatMap((length, at) => (at === index ? [half, length - half] : [length]));
}

/** A scheme with all chunks that are cut like `from` cut like `to`. */
export function recut(scheme: Scheme, from: Lengths, to: Lengths): Scheme {
  const key = from.join();
  return scheme.map((chunk) => (chunk.tokens.join() === key ? { ...chunk, tokens: to } : chunk));
}

/** Every sequence by itself, cut into `lengths`. */
export function cutAlike(scheme: Scheme, lengths: Lengths): Scheme {
  return scheme.flatMap(({ batch }) => Array.from({ length: batch }, () => ({ batch: 1, tokens: lengths })));
}

/** Equal slices on a grid, the last one shorter. */
export function equalLengths(tokens: number, slices: number, unit: number): Lengths {
  const length = Math.max(unit, Math.ceil(tokens / slices / unit) * unit);
  const whole = Math.floor(tokens / length);
  const rest = tokens - whole * length;
  return [...Array.from({ length: whole }, () => length), ...(rest > 0 ? [rest] : [])];
}

const pipelines = new WeakMap<PlanRequest, Pipeline>();

/** Simulates a scheme on the stages of a plan; null where the schedule cannot run it. */
export function tryScheme({ request }: Pick<Plan, 'request'>, schedule: ScheduleName, scheme: Scheme): Candidate | null {
  const pipeline = pipelines.get(request) ?? buildPipeline(request);
  pipelines.set(request, pipeline);
  return unlessUnmet(() =>
    predict(pipeline, { id: 'given', name: schedule, kind: pipeline.schedules[schedule], scheme, certificate: null }),
  );
}

/** The schedule that runs slices in the place of one that does not. */
export function slicedSchedule(schedule: ScheduleName): ScheduleName {
  const { sliced, exchangesAttention = false } = scheduleKind(schedule);
  return sliced && !exchangesAttention ? schedule : 'Seq1F1B';
}

/** Arithmetic of each slice of a sequence, in proportion: the tokens' own and their attention to what is before them. */
export function workShares(request: PlanRequest, lengths: Lengths): number[] {
  const { perToken, perTokenContext } = sliceWork(request.model);
  let context = 0;
  return lengths.map((tokens) => {
    const work = tokens * (perToken + perTokenContext * (context + tokens / 2));
    context += tokens;
    return work;
  });
}

/** Slicing schemes that can be tried: the plan's own, and how others would. */
export interface KnownSlices {
  readonly rule: BaselineSlicing['rule'] | 'plan';
  readonly lengths: Lengths;
}

/** The plan's own cuts first, then those of the rules; each once. */
export function knownCuts({ scheme, certificate }: Candidate): readonly KnownSlices[] {
  const own = scheme[0]?.tokens ?? [];
  const seen = new Set([own.join()]);
  const others = (certificate?.cuts ?? []).filter(({ tokens, latencyMs }) => {
    const key = tokens.join();
    const isNew = !seen.has(key) && Number.isFinite(latencyMs);
    seen.add(key);
    return isNew;
  });
  return [{ rule: 'plan', lengths: own }, ...others.map(({ rule, tokens }): KnownSlices => ({ rule, lengths: tokens }))];
}
