import { dynamicChunks, sglangRule, type DynamicRule } from '../../../core/slicing/chunk-rules';
import type { LengthShare } from '../../../core/domain/scheme';
import { maximum } from '../../../core/numbers';

/** Serving engines that run chunks of a prompt down a pipeline. */
export const servingRuntimes = ['sglang', 'vllm', 'vllm-ascend'] as const;
export type ServingRuntime = (typeof servingRuntimes)[number];

/** A way to cut a prompt into chunks, and when its first token is ready, ms. */
export interface ChunkedPrompt {
  readonly chunks: readonly number[];
  readonly timeToFirstTokenMs: number;
  /** Of each chunk on a stage, with its send; where stages differ on the slowest of them. */
  readonly chunkMs: readonly number[];
  /** The same on each stage; absent where all take `chunkMs`. */
  readonly stageMs?: readonly (readonly number[])[];
}

/** The chunk settings of an engine. */
interface ServingSettings {
  /** Tokens of the first chunk, and of all of them where they stay as long. */
  readonly firstChunk: number;
  /** Share of the computed change of a chunk that is followed; 0: chunks stay as long. */
  readonly smoothing: number;
  /** Shortest chunk; null where it cannot be set. */
  readonly leastChunk: number | null;
}

/** The chunks nearest to the best that an engine's own rule makes. */
export interface ServedCut extends ChunkedPrompt {
  readonly runtime: ServingRuntime;
  readonly settings: ServingSettings;
  /** Over all prompts, ms. */
  readonly meanMs: number;
}

/** What is known of an engine. */
interface Engine {
  readonly rule: Omit<DynamicRule, 'smoothing'>;
  /** Shares of the change that are tried; only 0: it has no setting for chunks that shrink. */
  readonly smoothings: readonly number[];
  readonly takesLeast: boolean;
}

/**
 * Their rules in what they publish: SGLang at 00ff98d (`ChunkSizePredictor`), vLLM's V1 engine (`max_num_batched_tokens`), vLLM-Ascend at
 * 05e52fc (`ProfilingChunkManager`, with its block of 128 tokens).
 */
const engines: Readonly<Record<ServingRuntime, Engine>> = {
  sglang: { rule: { ...sglangRule, multiple: 64 }, smoothings: [0.75, 0, 0.5, 0.6, 0.85, 1], takesLeast: false },
  vllm: { rule: { ...sglangRule, multiple: 16 }, smoothings: [0], takesLeast: false },
  'vllm-ascend': {
    rule: { leastShare: 0.25, multiple: 128, rounding: 'up', fittedShare: 1 },
    smoothings: [1, 0.6, 0.75, 0.85],
    takesLeast: true,
  },
};

/** Numbers of equal chunks whose length is tried as the first one's: all up to 16, then a few of each power of two. */
const mostChunks = 128;
const numbersOfChunks = Array.from({ length: mostChunks }, (_, index) => index + 1).filter(
  (count) => count <= 16 || count % 2 ** (Math.floor(Math.log2(count)) - 3) === 0,
);

/** Time of a chunk on a stage with its send, ms. */
export type ChunkMs = (tokens: number, context: number) => number;

/** Stages that differ: the times there are, and which of them each stage takes. */
export interface UnlikeStages {
  readonly distinct: readonly ChunkMs[];
  readonly kindOfStage: readonly number[];
}

/** What chunks are judged by. */
export interface Judge {
  /** On the slowest stage. */
  readonly chunkMs: ChunkMs;
  readonly stages: number;
  /** Null: all stages are alike. */
  readonly unlike: UnlikeStages | null;
  /** Longest that a chunk may take, ms. */
  readonly capMs: number;
}

/** The time of each chunk after those before it, ms. */
export function chunkTimes(chunkMs: ChunkMs, chunks: readonly number[]): number[] {
  let context = 0;
  return chunks.map((tokens) => {
    const ms = chunkMs(tokens, context);
    context += tokens;
    return ms;
  });
}

/** The times of each chunk on each stage, ms; nothing where stages are alike. */
export function stageTimes({ unlike }: Pick<Judge, 'unlike'>, chunks: readonly number[]): Pick<ChunkedPrompt, 'stageMs'> {
  if (unlike === null) return {};
  const times = unlike.distinct.map((each) => chunkTimes(each, chunks));
  return { stageMs: unlike.kindOfStage.map((kind) => times[kind] ?? []) };
}

/**
 * The time to the first token of a prompt in these chunks, ms; infinite where one takes too long. Equal stages take equation 5; else each
 * chunk begins on a stage when that is free and the stage before has handed it on.
 */
export function firstTokenMs(judge: Judge, chunks: readonly number[]): number {
  const times = chunkTimes(judge.chunkMs, chunks);
  const slowest = maximum(times);
  if (slowest > judge.capMs) return Infinity;
  const { stageMs } = stageTimes(judge, chunks);
  if (stageMs === undefined) return times.reduce((sum, ms) => sum + ms, 0) + (judge.stages - 1) * slowest;
  const doneMs = new Float64Array(chunks.length);
  for (const stage of stageMs) {
    let freeMs = 0;
    stage.forEach((ms, index) => {
      freeMs = Math.max(freeMs, doneMs[index] ?? 0) + ms;
      doneMs[index] = freeMs;
    });
  }
  return doneMs.at(-1) ?? 0;
}

/**
 * For each engine the settings with the shortest mean time to first token of the prompts that its own rule can reach; an engine none of
 * whose chunks keep to the cap is missing. @param prompts of a few lengths; the chunks returned are those of the longest.
 */
export function servedCuts(judge: Judge, prompts: readonly LengthShare[]): readonly ServedCut[] {
  return servingRuntimes.flatMap((runtime) => servedCut(runtime, judge, prompts) ?? []);
}

function servedCut(runtime: ServingRuntime, judge: Judge, prompts: readonly LengthShare[]): ServedCut | null {
  const { rule, smoothings, takesLeast } = engines[runtime];
  const { multiple, leastShare } = rule;
  const longest = maximum(prompts.map(({ tokens }) => tokens));
  const total = prompts.reduce((sum, { count }) => sum + count, 0);
  const firsts = new Set(numbersOfChunks.map((count) => Math.ceil(longest / count / multiple) * multiple));
  let best: ServedCut | null = null;
  for (const firstChunk of firsts)
    for (const smoothing of smoothings) {
      const smoothedChunks = (tokens: number): number[] =>
        dynamicChunks(tokens, firstChunk, { ...rule, smoothing }, (length) => judge.chunkMs(length, 0));
      const meanMs = prompts.reduce((sum, { tokens, count }) => sum + (count / total) * firstTokenMs(judge, smoothedChunks(tokens)), 0);
      if (meanMs >= (best?.meanMs ?? Infinity)) continue;
      const chunks = smoothedChunks(longest);
      const leastChunk = takesLeast ? Math.ceil((leastShare * firstChunk) / multiple) * multiple : null;
      const times = { chunkMs: chunkTimes(judge.chunkMs, chunks), ...stageTimes(judge, chunks) };
      const settings = { firstChunk, smoothing, leastChunk };
      best = { runtime, chunks, ...times, timeToFirstTokenMs: firstTokenMs(judge, chunks), meanMs, settings };
    }
  return best;
}
