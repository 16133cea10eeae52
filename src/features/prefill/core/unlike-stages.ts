import type { CancelSignal } from '../../../core/errors';
import { forwardOnlySchedule } from '../../../core/schedules/schedule';
import { passGraph, type ChunkTimes } from '../../../core/slicing/makespan/pass-graph';
import { shortestMakespan } from '../../../core/slicing/makespan/search';
import { firstTokenMs, type ChunkMs, type Judge, type UnlikeStages } from './serving';

/** Chunks of a prompt over stages that differ. */
interface PrefillPlan {
  readonly chunks: readonly number[];
  readonly timeToFirstTokenMs: number;
  /** No chunks in multiples of the unit take less. */
  readonly lowerBoundMs: number;
  readonly exact: boolean;
}

interface UnlikeProblem {
  readonly tokens: number;
  readonly unit: number;
  readonly judge: Judge & { readonly unlike: UnlikeStages };
  /** Chunks that the answer must not be slower than; the first ones keep to the cap. */
  readonly known: readonly (readonly number[])[];
}

/** Times computed and operations timed at most, about: two seconds. */
const mostSteps = 1e7;

/**
 * The chunks that give the first token soonest over stages that differ: the shortest makespan of a schedule that only runs forward, with a
 * time for each kind of stage (docs/model/slicing.md, Prefill; HPipe, NAACL 2024, solves it with the slowest stage's times instead).
 * @throws CancelledError
 */
export function unlikeCut({ tokens, unit, judge, known }: UnlikeProblem, signal: CancelSignal | undefined): PrefillPlan {
  const { distinct, kindOfStage } = judge.unlike;
  const found = shortestMakespan(
    {
      tokens,
      unit,
      mostSlices: Math.ceil(tokens / unit),
      times: distinct.length,
      writeTimes: (length, context, out) => {
        distinct.forEach((ms, kind) => (out[kind] = ms(length, context)));
      },
      buildGraph: (slices) =>
        passGraph(
          forwardOnlySchedule(
            Array.from({ length: slices }, () => 1),
            kindOfStage.length,
          ),
          slices,
          distinct.length,
          kindOfStage.map(forwardTimes),
          'all',
        ),
      ...(judge.capMs === Infinity ? {} : { fits: (lengths: readonly number[]) => firstTokenMs(judge, lengths) < Infinity }),
      known,
    },
    { mostSteps, signal },
  );
  const chunks = found?.lengths ?? known[0] ?? [tokens];
  const timeToFirstTokenMs = firstTokenMs(judge, chunks);
  return {
    chunks,
    timeToFirstTokenMs,
    lowerBoundMs: Math.min(found?.lowerBoundMs ?? 0, timeToFirstTokenMs),
    exact: found?.exact ?? false,
  };
}

/** A stage runs forward only, and has handed a chunk on when it ends. */
function forwardTimes(kind: number): ChunkTimes {
  return { forward: kind, backward: kind, backwardInput: kind, backwardWeight: kind, sendForward: null, sendBackward: null };
}

/**
 * Which stages take the same, by some chunks of a prompt of this many tokens; null where all do.
 * @param stages of each the time of a chunk with its send.
 */
export function unlikeStages(stages: readonly ChunkMs[], tokens: number): UnlikeStages | null {
  const samples = [
    [tokens, 0],
    [Math.ceil(tokens / 7), Math.floor(tokens / 3)],
    [1, tokens - 1],
  ] as const;
  const known = new Map<string, number>();
  const distinct: ChunkMs[] = [];
  const kindOfStage = stages.map((stage) => {
    const key = samples.map(([length, context]) => stage(length, context)).join();
    const kind = known.get(key) ?? distinct.push(stage) - 1;
    known.set(key, kind);
    return kind;
  });
  return distinct.length < 2 ? null : { distinct, kindOfStage };
}
