import type { CancelSignal } from '../../../core/errors';
import { embeddingParameters, parameterCount } from '../../../core/model/parameters';
import { counted, either, sentence, type Sentence } from '../../../core/sentence';
import { solveSlicing } from '../../../core/slicing/solve';
import { elementBytes } from '../../../core/domain/number-formats';
import type { PlanRequest } from '../../../core/domain/request';
import { analyticKinks } from '../../../core/time-model/context-kinks';
import { buildPipeline, type Pipeline } from '../../../core/planner/predict/pipeline';
import { scheduleTransfers } from '../../../core/planner/predict/transfers';
import type { LengthShare } from '../../../core/domain/scheme';
import { chunkTimes, firstTokenMs, servedCuts, stageTimes, type ChunkedPrompt, type ChunkMs, type Judge, type ServedCut } from './serving';
import { decodeRates, mostTokenBytes, type Decode } from './decode';
import { unlikeCut, unlikeStages } from './unlike-stages';
import { memoized } from '../../../core/records';
import type { Baselines } from '../../../core/slicing/baselines';
import { sliceWork } from '../../../core/slicing/chunk-rules';
import { maximum } from '../../../core/numbers';

/** Chunks of a prompt with the least time to the first token over a pipeline. */
export interface Prefill extends ChunkedPrompt {
  /** No chunks in multiples of `unit` tokens take less. */
  readonly lowerBoundMs: number;
  readonly exact: boolean;
  readonly unit: number;
  /** How others cut it, by the same time. */
  readonly rules: readonly (ChunkedPrompt & { readonly name: Sentence })[];
  readonly stages: number;
  readonly memory: PrefillMemory;
  readonly decode: Decode;
}

/** On the GPU of the largest stage, bytes: weights, and keys and values of the whole prompt. */
interface PrefillMemory {
  readonly weightsBytes: number;
  readonly keyValueBytes: number;
  readonly capacityBytes: number;
  /** What weights, keys and values may take: engines keep the rest for what a chunk computes with. */
  readonly usableBytes: number;
  readonly fits: boolean;
  /** The longest prompt that fits; 0 where the weights do not. */
  readonly mostTokens: number;
  /** The fewest stages on which it fits, as many as there are or more; null: none. */
  readonly leastStages: number | null;
}

/** Chunks are multiples of this many tokens, where none is asked for: a page of keys and values in SGLang, and a tile of its kernels. */
const usualUnit = 64;
/** What engines give to weights, keys and values: vLLM's `--gpu-memory-utilization`, about SGLang's `--mem-fraction-static`. */
const usableShare = 0.9;
/** Units of a prompt at most: where times are affine in the context, where every chunk is asked for, and of every kind of stage. */
const mostUnits = { affine: 4096, tabulated: 1024, unlike: 512 };

/**
 * Chunks of a prompt of `request.training.sequenceLength` tokens that give its first token soonest over the stages of the layout
 * (docs/model/slicing.md, Prefill). @param capMs longest that a chunk may take on a stage; `Infinity` for any.
 * @throws ExpectedError `slicing-infeasible` where no chunk of a unit keeps to the cap; CancelledError.
 */
export function planPrefill(request: PlanRequest, capMs: number, signal?: CancelSignal): Prefill {
  const { pipeline, judge, tokens } = prefillTimes(request, capMs);
  const { unlike } = judge;
  const { unit, contextKinks } = prefillUnits(request, pipeline, unlike !== null, unlike === null && capMs === Infinity);
  const { scheme, latencyMs, lowerBoundMs, exact, baselines } = solveSlicing(
    {
      batch: 1,
      tokens,
      unit,
      stages: pipeline.stages.length,
      forwardOnly: true,
      cost: (_, length, context) => {
        const ms = judge.chunkMs(length, context);
        return ms <= capMs ? ms : Infinity;
      },
      work: sliceWork(request.model),
      ...(contextKinks === null ? {} : { contextKinks }),
    },
    { signal },
  );
  const asSlowest = scheme[0]?.tokens ?? [];
  const others = ruleCuts(tokens, baselines).map(({ name, chunks }) => ({ name, ...timedChunks(judge, chunks) }));
  const rules = others.filter(({ timeToFirstTokenMs }) => timeToFirstTokenMs < Infinity);
  const best =
    unlike === null
      ? { chunks: asSlowest, timeToFirstTokenMs: latencyMs, lowerBoundMs, exact }
      : unlikeCut({ tokens, unit, judge: { ...judge, unlike }, known: [asSlowest, ...rules.map(({ chunks }) => chunks)] }, signal);
  const memory = prefillMemory(request, pipeline);
  const stages = pipeline.stages.map(({ contents }) => contents);
  return {
    ...timedChunks(judge, best.chunks),
    ...best,
    unit,
    rules,
    stages: pipeline.stages.length,
    memory,
    decode: decodeRates(request, stages, memory.mostTokens),
  };
}

function timedChunks(judge: Judge, chunks: readonly number[]): ChunkedPrompt {
  const chunkMs = chunkTimes(judge.chunkMs, chunks);
  return { chunks, timeToFirstTokenMs: firstTokenMs(judge, chunks), chunkMs, ...stageTimes(judge, chunks) };
}

/** How others cut the prompt. */
function ruleCuts(tokens: number, { uniform, equalTime, equalWork, dynamicChunks }: Baselines) {
  return [
    { name: sentence`whole prompt`, chunks: [tokens] },
    { name: sentence`equal chunks`, chunks: uniform.tokens },
    { name: sentence`equal time`, chunks: equalTime.tokens },
    ...(equalWork === null ? [] : [{ name: sentence`equal work`, chunks: equalWork.tokens }]),
    ...(dynamicChunks === null ? [] : [{ name: sentence`SGLang's dynamic chunks`, chunks: dynamicChunks.tokens }]),
  ];
}

/** One token's logits are all that the head computes: it and the embedding are left out. A stage hands a chunk on before the next. */
function prefillTimes(request: PlanRequest, capMs: number) {
  const pipeline = buildPipeline({ ...request, model: { ...request.model, vocab: 0 } });
  const { sequenceLength: tokens } = request.training;
  const sends = chunkSends(pipeline);
  const stageMs = pipeline.stages.map(
    ({ cost }, stage): ChunkMs =>
      (length, context) =>
        cost(1, length, context).forwardMs + sends(length, stage),
  );
  const unlike = unlikeStages(stageMs, tokens);
  const distinct = unlike?.distinct ?? stageMs.slice(0, 1);
  const chunkMs: ChunkMs = (length, context) => distinct.reduce((most, ms) => Math.max(most, ms(length, context)), 0);
  const judge: Judge = { chunkMs, stages: pipeline.stages.length, unlike, capMs };
  return { pipeline, judge, tokens };
}

/** The time to the first token of the prompt of `request` in chunks of these lengths, ms. */
export function prefillTimer(request: PlanRequest): (chunks: readonly number[]) => number {
  const { judge } = prefillTimes(request, Infinity);
  return (chunks) => firstTokenMs(judge, chunks);
}

/** For each serving engine what makes its own rule come nearest: over prompts of many lengths, or the one of `request`. */
export function servedPrefill(request: PlanRequest, lengths: readonly LengthShare[] | null, capMs: number): readonly ServedCut[] {
  const { judge, tokens } = prefillTimes(request, capMs);
  return servedCuts(judge, lengths === null ? [{ tokens, count: 1 }] : fewLengths(lengths));
}

/** What a stage takes to hand on a chunk of this length, ms. */
function chunkSends(pipeline: Pipeline): (length: number, stage: number) => number {
  const known = new Map<number, (stage: number) => number>();
  const stageOfChunk = Uint32Array.from(pipeline.stages, (_, stage) => stage);
  return (length, stage) => {
    const sent = memoized(known, length, () => {
      if (pipeline.stages.length === 1) return () => 0;
      const units = [{ microBatch: 0, slice: 0, batch: 1, tokens: length, context: 0 }];
      const { forwardMs, perChunk } = scheduleTransfers(pipeline, { units, stageOfChunk });
      return (from: number) => forwardMs[perChunk === true ? from : 0] ?? 0;
    });
    return sent(stage);
  };
}

function prefillUnits(
  { training, slicing, profile, costTable }: PlanRequest,
  { inputs }: Pipeline,
  areUnlike: boolean,
  isAffine: boolean,
): { readonly unit: number; readonly contextKinks: readonly number[] | null } {
  const { sequenceLength: tokens } = training;
  const asked = Math.min(tokens, slicing.unit ?? usualUnit);
  const coarsened = (most: number): number => {
    let unit = asked;
    while (Math.ceil(tokens / unit) > most) unit *= 2;
    return unit;
  };
  const unit = coarsened(mostUnits.affine);
  const lengths = Array.from({ length: Math.floor(tokens / unit) }, (_, index) => (index + 1) * unit);
  const kinks = isAffine && profile === null && costTable === null ? analyticKinks(inputs, 1, lengths) : null;
  if (kinks === null) return { unit: coarsened(areUnlike ? mostUnits.unlike : mostUnits.tabulated), contextKinks: null };
  const inner = kinks.filter((kink) => kink > 0 && kink < tokens);
  return { unit, contextKinks: [...new Set(inner.map((kink) => Math.floor(kink / unit) * unit + unit / 2))] };
}

function prefillMemory(request: PlanRequest, pipeline: Pipeline): PrefillMemory {
  const { model, training, layout, cluster } = request;
  const { sequenceLength: tokens } = training;
  const element = elementBytes(training);
  const contents = pipeline.stages.map((stage) => stage.contents);
  const tokenBytes = mostTokenBytes(request, contents);
  const ofLayers = parameterCount({ ...model, vocab: 0 }) / model.layers;
  const end = embeddingParameters(model);
  /** Weights of this many layers, with the embedding or the head of an end, or both on one stage. */
  const weightBytes = (layers: number, stages: number): number =>
    Math.ceil((element * (layers * ofLayers + (stages === 1 && !model.tiedEmbeddings ? 2 : 1) * end)) / layout.tensor);
  const layers = maximum(contents.map((stage) => stage.layers));
  const usableBytes = usableShare * cluster.gpu.memoryBytes;
  const weightsBytes = weightBytes(layers, layout.pipeline);
  const fitsOn = (stages: number): boolean => {
    const most = stages === layout.pipeline ? layers : Math.ceil(model.layers / stages);
    return weightBytes(most, stages) + (most / layers) * tokens * tokenBytes <= usableBytes;
  };
  const more = Array.from({ length: Math.max(1, model.layers - layout.pipeline + 1) }, (_, index) => layout.pipeline + index);
  return {
    weightsBytes,
    keyValueBytes: tokens * tokenBytes,
    capacityBytes: cluster.gpu.memoryBytes,
    usableBytes,
    fits: fitsOn(layout.pipeline),
    mostTokens: Math.max(0, Math.floor((usableBytes - weightsBytes) / tokenBytes)),
    leastStages: more.find(fitsOn) ?? null,
  };
}

/** What to do where weights, keys and values do not fit; null where they do. */
export function prefillRemedy({
  fits,
  mostTokens,
  leastStages,
  weightsBytes,
  keyValueBytes: held,
  usableBytes,
}: PrefillMemory): Sentence | null {
  if (fits) return null;
  const remedies = [
    ...(leastStages === null ? [] : [sentence`use ${counted(leastStages, 'stage')} (layout.pipeline)`]),
    ...(mostTokens === 0 ? [] : [sentence`keep prompts to ${counted(mostTokens, 'token')}`]),
    ...(weightsBytes + held / 2 <= usableBytes ? [sentence`hold keys and values in 8 bits (--kv-cache-dtype)`] : []),
    sentence`use a larger layout.tensor, or GPUs with more memory`,
  ];
  return either(remedies);
}

/** Lengths for which chunks are solved at most; times of those between follow along a straight line. */
const mostLengths = 16;

/** The mean of the times to the first token over some prompts, and those that half and 99 of 100 are within, ms. */
export function timesOfLengths(
  request: PlanRequest,
  lengths: readonly LengthShare[],
  capMs: number,
  signal?: CancelSignal,
): { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number } {
  const sorted = lengths.toSorted((a, b) => a.tokens - b.tokens);
  const solved = fewTokens(sorted);
  const points = solved.map((tokens) => ({
    tokens,
    ms: planPrefill({ ...request, training: { ...request.training, sequenceLength: tokens } }, capMs, signal).timeToFirstTokenMs,
  }));
  const interpolatedMs = (tokens: number): number => {
    const after = points.findIndex((point) => point.tokens >= tokens);
    const [low, high] = [points[Math.max(0, after - 1)], points[after]];
    if (low === undefined || high === undefined || high.tokens === low.tokens) return high?.ms ?? 0;
    return low.ms + ((tokens - low.tokens) / (high.tokens - low.tokens)) * (high.ms - low.ms);
  };
  const total = sorted.reduce((sum, { count }) => sum + count, 0);
  const within = (share: number): number => {
    let seen = 0;
    for (const { tokens, count } of sorted) {
      seen += count;
      if (seen >= share * total) return interpolatedMs(tokens);
    }
    return 0;
  };
  const meanMs = sorted.reduce((sum, { tokens, count }) => sum + count * interpolatedMs(tokens), 0) / total;
  return { meanMs, p50Ms: within(0.5), p99Ms: within(0.99) };
}

/** Of ascending lengths at most `mostLengths`, the longest among them. */
function fewTokens(sorted: readonly LengthShare[]): number[] {
  const distinct = [...new Set(sorted.map(({ tokens }) => tokens))];
  const every = Math.max(1, (distinct.length - 1) / (mostLengths - 1));
  return distinct.filter((_, index) => Math.floor((index - 1) / every) < Math.floor(index / every) || index === distinct.length - 1);
}

/** The same prompts with each length rounded up to one of a few. */
function fewLengths(lengths: readonly LengthShare[]): readonly LengthShare[] {
  const few = fewTokens(lengths.toSorted((a, b) => a.tokens - b.tokens));
  return few.map((tokens, index) => ({
    tokens,
    count: lengths.reduce((sum, each) => sum + (each.tokens <= tokens && each.tokens > (few[index - 1] ?? 0) ? each.count : 0), 0),
  }));
}
