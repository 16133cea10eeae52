import { findSliceRuntime } from '../../slice-runtimes/registry';
import { rulesOfFlags, type SliceRuntime } from '../../slice-runtimes/slice-runtime';
import type { CancelSignal } from '../../errors';
import { equalWorkLengths, forwardWork } from '../../slicing/chunk-rules';
import type { PlanRequest } from '../../domain/request';
import { splitName, splitRules, type Scheme, type SequenceSplit, type SplitRule } from '../../domain/scheme';
import type { ScheduleOnLayout } from '../../schedules/on-layout';
import type { Pipeline } from '../predict/pipeline';
import { measure, type CandidateSpec, type Prediction } from '../predict/predict';
import { solvedAlike } from './terapipe-slices';
import { leastCommonMultiple, maximum, minimum, sum } from '../../numbers';
import { formatCount } from '../../format';
import { counted, sentence, type Sentence } from '../../sentence';

/** The part of a request that decides how a runtime splits a sequence. */
type SplitRequest = Pick<PlanRequest, 'model' | 'training' | 'layout'>;

/** Slices must be of a multiple of this many tokens: sequence parallelism divides each over the tensor-parallel ranks. */
export function sliceMultiple({ training, layout }: Pick<SplitRequest, 'training' | 'layout'>): number {
  return training.sequenceParallel ? layout.tensor : 1;
}

/** The same for a list of lengths: where the sequence is a multiple of it, a runtime may require more tokens. */
function listMultiple(request: Pick<SplitRequest, 'training' | 'layout'>, runtime: string | undefined): number {
  const required = findSliceRuntime(runtime ?? '')?.lengths?.multiple ?? 1;
  const own = sliceMultiple(request);
  return request.training.sequenceLength % required === 0 ? leastCommonMultiple(required, own) : own;
}

/** Why a runtime stops at a list of lengths; null: it does not. */
export function listProblem(
  request: Pick<SplitRequest, 'training' | 'layout'>,
  { runtime, slices, lengths }: Pick<SequenceSplit, 'slices' | 'lengths'> & { readonly runtime?: string },
): Sentence | null {
  const tokens = request.training.sequenceLength;
  const multiple = listMultiple(request, runtime);
  const odd = lengths.find((length) => length <= 0 || length % multiple !== 0);
  if (lengths.length !== slices) return sentence`the list has ${counted(lengths.length, 'length')} for ${counted(slices, 'slice')}`;
  if (odd !== undefined) return sentence`the length ${formatCount(odd)} is not a multiple of ${multiple}`;
  const total = sum(lengths);
  return total === tokens ? null : sentence`the lengths add up to ${formatCount(total)} of ${formatCount(tokens)} tokens`;
}

/**
 * The tokens of each slice, as `get_splits` of Seq1F1B and the forks after it gives them: equal ones, or those of equal FLOPs by its own
 * count, which knows neither gates nor grouped heads, rounded down to what sequence parallelism divides; the first takes the rest.
 * @returns null where the runtime would stop: the sequence is not a multiple of the slices, or a slice would be empty.
 */
export function splitLengths(
  { model, training, layout }: SplitRequest,
  { runtime, slices, rule, lengths, ffn }: Omit<SequenceSplit, 'runtime'> & { readonly runtime?: string },
): readonly number[] | null {
  const tokens = training.sequenceLength;
  const multiple = sliceMultiple({ training, layout });
  const fits = (cut: readonly number[]): boolean =>
    cut.length === slices && cut.every((length) => length > 0 && length % multiple === 0) && sum(cut) === tokens;
  if (rule === 'list') return listProblem({ training, layout }, { slices, lengths, ...(runtime && { runtime }) }) === null ? lengths : null;
  if (rule === 'average') {
    const cut = Array.from({ length: slices }, () => Math.floor(tokens / slices));
    return fits(cut) ? cut : null;
  }
  const cut = equalWorkLengths(tokens, slices, multiple, {
    ...forwardWork({
      ...model,
      ffn: ffn ?? model.denseFfn ?? model.ffn,
      headDim: Math.floor(model.hidden / model.heads),
      vocab: megatronVocab(model.vocab, layout.tensor),
    }),
  });
  return cut !== null && fits(cut) ? cut : null;
}

/** As Megatron-LM pads it: to a multiple of 128 times the tensor size. */
function megatronVocab(vocab: number, tensor: number): number {
  return Math.ceil(vocab / (128 * tensor)) * 128 * tensor;
}

/** The whole batch of a replica, every micro-batch cut alike; null where it is not a whole number of micro-batches. */
export function schemeAlike({ training, layout }: Pick<SplitRequest, 'training' | 'layout'>, lengths: readonly number[]): Scheme | null {
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  if (!Number.isInteger(microBatches)) return null;
  return Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: lengths }));
}

/** Numbers of slices that are tried, and operations of all tries together at most. */
const triedSlices = [...Array.from({ length: 15 }, (_, index) => index + 2), 20, 24, 32, 48, 64];
const mostOperations = 1_500_000;

/** A split with what it is predicted to take. */
export interface PredictedSplit {
  readonly split: SequenceSplit;
  readonly prediction: Prediction;
}

/**
 * The best split of every sequence by a runtime's own rules, or by a list of lengths where the runtime takes one: the fastest that fits;
 * among splits within 0.1 % of it, the one with the fewest slices; if none fits, the one with the least memory.
 * @returns null where no rule cuts the sequence.
 */
export function bestSplit(
  request: PlanRequest,
  pipeline: Pipeline,
  runtime: SliceRuntime,
  listener: { readonly signal?: CancelSignal | undefined } = {},
): PredictedSplit | null {
  const ffn = request.slicing.split?.ffn;
  const rules = rulesOfFlags(runtime);
  const byRule = (rules.length === 0 ? splitRules : rules).flatMap((rule) => splitsBy(request, rule, runtime, ffn));
  const listed = runtime.lengths === null ? [] : solvedSplits(request, pipeline, runtime.id, listener);
  const shortest = runtime.hardware?.shortest ?? 1;
  const tried = [...byRule, ...listed].filter(({ lengths }) => minimum(lengths) >= shortest);
  return fastestSplit(predictedSplits(request, pipeline, tried, listener));
}

/** The best list of lengths that is known for the schedule, whatever a runtime's flags can express. */
export function bestList(
  request: PlanRequest,
  pipeline: Pipeline,
  runtime: string,
  listener: { readonly signal?: CancelSignal | undefined } = {},
): PredictedSplit | null {
  return fastestSplit(predictedSplits(request, pipeline, solvedSplits(request, pipeline, runtime, listener), listener));
}

/** Splits by a rule, as lists where the flags set only lists. */
function splitsBy(request: PlanRequest, rule: SplitRule, runtime: SliceRuntime, ffn: number | undefined): SequenceSplit[] {
  const { id } = runtime;
  const width = ffn === undefined ? {} : { ffn };
  const isListed = !rulesOfFlags(runtime).includes(rule);
  return triedSlices.flatMap((slices): SequenceSplit[] => {
    const lengths = splitLengths(request, { slices, rule, lengths: [], ...width });
    if (lengths === null) return [];
    const split = { runtime: id, slices, rule: isListed ? 'list' : rule, lengths: [...lengths], ...width } as const;
    return isListed && listProblem(request, split) !== null ? [] : [split];
  });
}

/** Lists worth simulating: the dynamic program's for units of several lengths, equal slices and those of equal work on these. */
function solvedSplits(
  request: PlanRequest,
  pipeline: Pipeline,
  runtime: string,
  listener: { readonly signal?: CancelSignal | undefined },
): SequenceSplit[] {
  const lists = new Map<string, readonly number[]>();
  for (const lengths of solvedAlike(request, pipeline, listMultiple(request, runtime), listener)) lists.set(lengths.join(), lengths);
  return [...lists.values()]
    .filter((lengths) => lengths.length > 1)
    .map((lengths) => ({ runtime, slices: lengths.length, rule: 'list', lengths }));
}

function predictedSplits(
  request: PlanRequest,
  pipeline: Pipeline,
  splits: readonly SequenceSplit[],
  { signal }: { readonly signal?: CancelSignal | undefined },
): PredictedSplit[] {
  let operations = 0;
  return splits.flatMap((split): PredictedSplit[] => {
    const scheme = schemeAlike(request, split.lengths);
    if (scheme === null) return [];
    operations += 2 * scheme.length * split.lengths.length * request.layout.pipeline;
    if (operations > mostOperations) return [];
    return [{ split, prediction: measure(pipeline, splitSpec(split, pipeline.schedules.Seq1F1B, scheme), signal) }];
  });
}

/** A split as a candidate of Seq1F1B. */
export function splitSpec(split: SequenceSplit, kind: ScheduleOnLayout, scheme: Scheme): CandidateSpec {
  return { id: 'Seq1F1B', name: sentence`Seq1F1B, ${splitName(split)}`, kind, scheme, certificate: null };
}

/** Times closer than this share are alike. */
const alike = 1e-3;

function fastestSplit(found: readonly PredictedSplit[]): PredictedSplit | null {
  const fitting = found.filter(({ prediction }) => prediction.fits);
  if (fitting.length === 0)
    return found.reduce<PredictedSplit | null>((best, each) => (best === null || splitPeak(each) < splitPeak(best) ? each : best), null);
  const leastMs = minimum(fitting.map(({ prediction }) => prediction.iterationMs));
  return fitting
    .filter(({ prediction }) => prediction.iterationMs <= leastMs * (1 + alike))
    .reduce((best, each) => (each.split.slices < best.split.slices ? each : best));
}

function splitPeak({ prediction }: PredictedSplit): number {
  return maximum(prediction.memory.stages.map(({ peakBytes }) => peakBytes));
}

/** Slices as the given split's runtime cannot be asked for by flags, and its own rules': what a plan of given slices is compared with. */
export function comparedSplits(
  request: PlanRequest,
  pipeline: Pipeline,
  listener: { readonly signal?: CancelSignal | undefined },
): CandidateSpec[] {
  const { split } = request.slicing;
  const runtime = split === undefined ? undefined : findSliceRuntime(split.runtime);
  if (split === undefined || runtime === undefined) return [];
  const found = [
    ['best-split', bestSplit(request, pipeline, runtime, listener)],
    ['solved', bestList(request, pipeline, runtime.id, listener)],
  ] as const;
  return found.flatMap(([id, best]) => {
    const isGiven = best === null || best.split.lengths.join() === (request.slicing.scheme?.[0]?.tokens ?? []).join();
    return isGiven
      ? []
      : [
          {
            ...splitSpec(best.split, pipeline.schedules.Seq1F1B, best.prediction.scheme),
            id,
            ...(id === 'solved' ? { name: sentence`Seq1F1B, solved slices` } : {}),
          },
        ];
  });
}
