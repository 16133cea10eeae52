import { traceError } from './events';
import type { MeasuredTrace, TraceTrack } from './trace';
import { counted, sentence } from '../../../core/sentence';
import { maximum } from '../../../core/numbers';

/** For each track of a trace the stage it shows; -1 for tracks that are not used. */
interface TrackStages {
  readonly stageByTrack: Int32Array;
  /** Replicas of the pipeline in the trace; the first is used. */
  readonly replicas: number;
}

/**
 * Which track of a trace is which stage. The GPU's own tracks go before the host's, and of a process the one that is busiest with passes.
 * Passes that name their chunk decide; else the names of the tracks (`stage 3`, `rank 3`);
 * else their order, replicas outside of stages where a process holds one replica, inside where ranks follow each other (as Megatron-LM and
 * TorchTitan number them: all of a stage, then the next).
 *
 * @throws ExpectedError `trace-stages` when the trace does not show it.
 */
export function stagesOfTracks(file: string, trace: MeasuredTrace, stageOfChunk: Uint32Array, stages: number): TrackStages {
  const used = usedTracks(trace);
  const byChunk = stagesByChunk(trace, used, stageOfChunk, stages);
  if (byChunk !== null) return byChunk;
  const stageByTrack = new Int32Array(trace.tracks.length).fill(-1);
  const set = (of: readonly number[], replicas: number): TrackStages => {
    of.forEach((track, stage) => (stageByTrack[track] = stage));
    return { stageByTrack, replicas };
  };
  if (stages === 1) return set(used.slice(0, 1), used.length);
  const named = used.map((track) => numberIn(trace.tracks[track]));
  if (used.length === stages) {
    const order = named.every((number, index) => number !== null && named.indexOf(number) === index)
      ? used.toSorted((a, b) => (named[used.indexOf(a)] ?? 0) - (named[used.indexOf(b)] ?? 0))
      : used;
    return set(order, 1);
  }
  const [only] = used;
  if (only !== undefined && used.length === 1) {
    const stage = stageOfRank(trace, stages) ?? (trace.own ? Number(trace.tracks[only]?.thread) : (named[0] ?? -1));
    if (Number.isInteger(stage) && stage >= 0 && stage < stages) {
      stageByTrack[only] = stage;
      return { stageByTrack, replicas: 1 };
    }
  }
  if (trace.own && used.every((track) => Number(trace.tracks[track]?.thread) < stages)) {
    for (const track of used) stageByTrack[track] = Number(trace.tracks[track]?.thread);
    return { stageByTrack, replicas: 1 };
  }
  const processes = [...new Set(used.map((track) => trace.tracks[track]?.process))].map((owner) =>
    used.filter((track) => trace.tracks[track]?.process === owner),
  );
  const [first] = processes;
  if (first?.length === stages && processes.every((group) => group.length === stages)) return set(first, processes.length);
  const replicas = used.length / stages;
  if (Number.isInteger(replicas)) return set(used.filter((_, index) => index % replicas === 0), replicas); // prettier-ignore
  throw traceError(
    'trace-stages',
    file,
    sentence`The trace has passes on ${counted(used.length, 'track')}, the plan has ${counted(stages, 'stage')}`,
    sentence`compare it with the config of that run, or name the tracks "stage 0", "stage 1", ...`,
  );
}

/** Tracks with passes, in order of process and thread: those of GPUs where there are any, one for each process. */
function usedTracks(trace: MeasuredTrace): number[] {
  const { tracks, track, startMs, endMs } = trace;
  const busyMs = new Float64Array(tracks.length);
  track.forEach((of, pass) => (busyMs[of] = (busyMs[of] ?? 0) + (endMs[pass] ?? 0) - (startMs[pass] ?? 0)));
  const busy = [...tracks.keys()].filter((of) => track.includes(of));
  const onGpu = busy.filter((of) => tracks[of]?.onGpu === true);
  const kept =
    onGpu.length === 0
      ? busy
      : onGpu.filter((of) =>
          onGpu.every(
            (other) =>
              other === of || tracks[other]?.process !== tracks[of]?.process || (busyMs[other] ?? 0) < (busyMs[of] ?? 0) || other > of,
          ),
        );
  return kept.sort(
    (a, b) => inOrder(tracks[a]?.process ?? 0, tracks[b]?.process ?? 0) || inOrder(tracks[a]?.thread ?? 0, tracks[b]?.thread ?? 0),
  );
}

/**
 * Where passes name their chunk: the first track that has a stage's chunks shows that stage. Null where some do not, or name chunks that
 * are missing.
 */
function stagesByChunk(trace: MeasuredTrace, used: readonly number[], stageOfChunk: Uint32Array, stages: number): TrackStages | null {
  const found = new Map<number, number>();
  for (let pass = 0; pass < trace.track.length; pass++) {
    const track = trace.track[pass] ?? 0;
    if (!used.includes(track)) continue;
    const stage = stageOfChunk[trace.chunk[pass] ?? -1];
    if (stage === undefined || (found.get(track) ?? stage) !== stage) return null;
    found.set(track, stage);
  }
  const stageByTrack = new Int32Array(trace.tracks.length).fill(-1);
  const seen = new Int32Array(stages);
  for (const track of used) {
    const stage = found.get(track) ?? 0;
    if (seen[stage] === 0) stageByTrack[track] = stage;
    seen[stage] = (seen[stage] ?? 0) + 1;
  }
  return { stageByTrack, replicas: maximum(seen) };
}

function stageOfRank({ rank, ranks }: MeasuredTrace, stages: number): number | null {
  if (rank === null || ranks === null || ranks % stages !== 0) return null;
  return Math.floor(rank / (ranks / stages));
}

function numberIn(track: TraceTrack | undefined): number | null {
  const found = /\b(?:stage|pp|rank)\s*(?:rank)?\s*[:=#]?\s*(\d{1,6})\b/i.exec(track?.name ?? '');
  return found === null ? null : Number(found[1]);
}

function inOrder(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0;
}
