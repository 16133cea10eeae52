import { equalWorkLengths, sliceWork } from '../../slicing/chunk-rules';
import type { BatchSlice } from '../../domain/scheme';
import type { ScheduleName } from '../../domain/schedule-names';
import type { PolicySettings } from './lengths-result';
import type { ModelSpec } from '../../domain/model';
import { packBestFit, type Pack } from './packing';

/** What makes micro-batches of the documents of a step. */
export interface BatchingPolicy extends PolicySettings {
  /** @param descending lengths of the pieces of a step. */
  readonly microBatches: (descending: readonly number[]) => readonly BatchSlice[];
}

/** Chunks are multiples of this many tokens, and no shorter than a few of them. */
const unit = 64;
const leastChunk = 512;
/** Chunks of the training length that are tried. */
const chunksTried = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

/** Every document by itself, padded to the training length. */
export function padding(tokens: number, microBatch: number, schedule: ScheduleName): BatchingPolicy {
  return {
    way: 'pad',
    schedule,
    chunkTokens: tokens,
    cut: 'equal',
    microBatches: (descending) =>
      Array.from({ length: Math.ceil(descending.length / microBatch) }, (_, index) => ({
        batch: Math.min(microBatch, descending.length - index * microBatch),
        tokens: [tokens],
      })),
  };
}

/** As many documents in a micro-batch as have room in its sequences. */
export function packing(tokens: number, microBatch: number, schedule: ScheduleName): BatchingPolicy {
  return {
    way: 'pack',
    schedule,
    chunkTokens: tokens,
    cut: 'equal',
    microBatches: (descending) => packBestFit(descending, tokens * microBatch).map(ofPack),
  };
}

/** Documents longer than a chunk in chunks one after another, the others packed into chunks (ChunkFlow, arXiv 2503.02356, algorithm 1). */
function chunking(chunkTokens: number, cut: BatchingPolicy['cut'], schedule: ScheduleName, model: ModelSpec): BatchingPolicy {
  const work = sliceWork(model);
  const known = new Map<number, readonly number[]>();
  const cutDocument = (tokens: number): readonly number[] => {
    const found = known.get(tokens);
    if (found !== undefined) return found;
    const chunks = Math.ceil(tokens / chunkTokens);
    const equal = Array.from({ length: chunks }, (_, index) => Math.min(chunkTokens, tokens - index * chunkTokens));
    const made = cut === 'equal' ? equal : (equalWorkLengths(tokens, chunks, unit, work) ?? equal);
    known.set(tokens, made);
    return made;
  };
  return {
    way: 'chunks',
    schedule,
    chunkTokens,
    cut,
    microBatches: (descending) => {
      const long = descending.filter((tokens) => tokens > chunkTokens);
      const short = descending.filter((tokens) => tokens <= chunkTokens);
      return [...long.map((tokens) => ({ batch: 1, tokens: cutDocument(tokens) })), ...packBestFit(short, chunkTokens).map(ofPack)];
    },
  };
}

/** Chunks of several lengths, from the longest document down. */
export function chunkings(longest: number, schedule: ScheduleName, model: ModelSpec): readonly BatchingPolicy[] {
  const sizes = new Set(chunksTried.map((parts) => Math.ceil(longest / parts / unit) * unit).filter((tokens) => tokens >= leastChunk));
  if (sizes.size === 0) sizes.add(Math.ceil(longest / unit) * unit);
  return [...sizes].flatMap((tokens) =>
    (tokens >= longest ? (['equal'] as const) : (['equal', 'equal-work'] as const)).map((cut) => chunking(tokens, cut, schedule, model)),
  );
}

function ofPack(documents: Pack): BatchSlice {
  const tokens = documents.reduce((total, length) => total + length, 0);
  return { batch: 1, tokens: [tokens], ...(documents.length > 1 ? { documents } : {}) };
}
