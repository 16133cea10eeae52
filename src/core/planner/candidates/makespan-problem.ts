import { generateSchedule, toScheduleProblem } from '../../schedules/registry';
import type { Scheme } from '../../domain/scheme';
import type { SliceCost } from '../../domain/slice-cost';
import { unlessUnmet, type ScheduleOnLayout } from '../../schedules/on-layout';
import { passGraph, type ChunkTimes, type PassGraph } from '../../slicing/makespan/pass-graph';
import type { MakespanProblem } from '../../slicing/makespan/problem';
import { cachedBySlice } from '../../time-model/layer-time';
import type { Pipeline, PipelineChunks } from '../predict/pipeline';
import { scheduleTransfers } from '../predict/transfers';

/** What is to be cut, and how finely. */
interface SlicedBatch {
  /** Micro-batches of one replica, and sequences of each. */
  readonly microBatches: number;
  readonly microBatch: number;
  readonly tokens: number;
  readonly unit: number;
  readonly mostSlices: number;
  readonly contextKinks: readonly number[] | null;
  readonly known: readonly (readonly number[])[];
}

/** Every micro-batch of a batch, cut alike. */
export function cutAlike(
  { microBatches, microBatch }: Pick<SlicedBatch, 'microBatches' | 'microBatch'>,
  tokens: readonly number[],
): Scheme {
  return Array.from({ length: microBatches }, () => ({ batch: microBatch, tokens }));
}

/**
 * The problem of cutting a batch for a schedule: its simulated makespan with the costs and sends of a pipeline, as `predict` has them.
 * @throws ExpectedError `schedule-unmet` where there are fewer layers than chunks.
 */
export function makespanProblem(
  pipeline: Pipeline,
  kind: ScheduleOnLayout,
  batch: SlicedBatch,
  graphs: KeptGraphs = keepGraphs(),
): MakespanProblem {
  const chunks = pipeline.chunksOn(kind);
  const { stageOfChunk } = chunks;
  const { microBatch, tokens, unit, mostSlices, contextKinks, known } = batch;
  const stages = pipeline.stages.length;
  const sliceSends = cachedBySlice((size, length) =>
    scheduleTransfers(pipeline, { units: [{ microBatch: 0, slice: 0, batch: size, tokens: length, context: 0 }], stageOfChunk }),
  );
  const { perChunk, mode } = sliceSends(microBatch, unit);
  const passes = distinctPasses(chunks, perChunk === true);
  const chunkTimes = passes.ofChunk;
  const times = passes.parts.length * passes.width + (perChunk === true ? 2 * stageOfChunk.length : 1);
  const firstSend = passes.parts.length * passes.width;
  return {
    tokens,
    unit,
    mostSlices,
    times,
    writeTimes: (length, context, out) => {
      const sends = sliceSends(microBatch, length);
      const busy = mode === 'blocking' ? sends : sends.held;
      const known = new Map<SliceCost, ReturnType<SliceCost>>();
      passes.parts.forEach(({ cost, chunk }, part) => {
        const time = known.get(cost) ?? cost(microBatch, length, context);
        known.set(cost, time);
        const at = perChunk === true ? chunk : 0;
        const [heldForward, heldBackward] = [busy?.forwardMs[at] ?? 0, busy?.backwardMs[at] ?? 0];
        const first = part * passes.width;
        out[first] = time.forwardMs + heldForward;
        if (kind.splitsBackward) {
          out[first + 1] = time.backwardMs - time.backwardWeightMs + (time.splitWaitMs ?? 0) + heldBackward;
          out[first + 2] = time.backwardWeightMs;
        } else out[first + 1] = time.backwardMs + heldBackward;
      });
      const late = mode === 'blocking' ? 0 : 1;
      if (perChunk !== true) out[firstSend] = late * (sends.forwardMs[0] ?? 0);
      else
        stageOfChunk.forEach((_, chunk) => {
          out[firstSend + 2 * chunk] = late * (sends.forwardMs[chunk] ?? 0);
          out[firstSend + 2 * chunk + 1] = late * (sends.backwardMs[chunk] ?? 0);
        });
    },
    ...(contextKinks === null ? {} : { contextKinks }),
    buildGraph: (slices) => {
      const scheme = cutAlike(
        batch,
        Array.from({ length: slices }, () => 1),
      );
      const withSends = chunkTimes.map((own, chunk): ChunkTimes => {
        const [sendForward, sendBackward] = perChunk === true ? [firstSend + 2 * chunk, firstSend + 2 * chunk + 1] : [firstSend, firstSend];
        return { ...own, sendForward, sendBackward };
      });
      const late = mode === 'fill-and-drain' ? 'fill-and-drain' : 'all';
      const key = JSON.stringify([kind.name, stages, kind.chunks, batch.microBatches, microBatch, slices, times, late, withSends]);
      return graphs.graph(key, () =>
        unlessUnmet(() => {
          const made = generateSchedule(kind.name, toScheduleProblem(scheme, stages, kind.chunks));
          return passGraph(made, slices, times, withSends, late);
        }),
      );
    },
    known,
  };
}

/** Operations of graphs that are kept at most: 24 bytes each. */
const mostKeptOperations = 4e6;

/** Graphs of passes by what they depend on, the latest: problems of one schedule and number of micro-batches share them. */
export interface KeptGraphs {
  readonly graph: (key: string, build: () => PassGraph | null) => PassGraph | null;
}

/** An empty store of graphs, which forgets the least recently used beyond `mostKeptOperations`. */
export function keepGraphs(): KeptGraphs {
  const known = new Map<string, PassGraph | null>();
  let operations = 0;
  const size = (graph: PassGraph | null | undefined): number => graph?.previous.length ?? 0;
  return {
    graph: (key, build) => {
      const found = known.get(key);
      const graph = found === undefined ? build() : found;
      if (found === undefined) operations += size(graph);
      known.delete(key);
      known.set(key, graph);
      for (const [oldest, other] of known) {
        if (operations <= mostKeptOperations) break;
        known.delete(oldest);
        operations -= size(other);
      }
      return graph;
    },
  };
}

interface Passes {
  /** Chunks whose times differ, one of each. */
  readonly parts: readonly { readonly cost: SliceCost; readonly chunk: number }[];
  /** Times of each part. */
  readonly width: number;
  readonly ofChunk: readonly Omit<ChunkTimes, 'sendForward' | 'sendBackward'>[];
}

/** @param apart whether chunks of the same cost differ by what they send. */
function distinctPasses({ costs, kind }: PipelineChunks, apart: boolean): Passes {
  const distinct = apart ? costs.map((_, chunk) => chunk) : [...new Set(costs)].map((cost) => costs.indexOf(cost));
  const width = kind.splitsBackward ? 3 : 2;
  return {
    width,
    parts: distinct.flatMap((chunk) => {
      const cost = costs[chunk];
      return cost === undefined ? [] : [{ cost, chunk }];
    }),
    ofChunk: costs.map((cost, chunk) => {
      const first = width * (apart ? chunk : distinct.indexOf(costs.indexOf(cost)));
      return { forward: first, backward: first + 1, backwardInput: first + 1, backwardWeight: first + width - 1 };
    }),
  };
}
