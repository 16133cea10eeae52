import type { ExpectedError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { isRecord, own } from '../../../core/records';
import { makeEventScanner, traceError } from './events';
import { mayNamePass, passOfName } from './pass-names';
import { makeTorchTraceReader, type TorchTrace } from './torch-trace';
import { sentence } from '../../../core/sentence';

/** A thread of a trace. */
export interface TraceTrack {
  readonly process: number | string;
  readonly thread: number | string;
  /** Names of the process and of the thread, where the trace has them. */
  readonly name: string;
  /** It shows when the GPU was busy (`gpu_user_annotation` of PyTorch's profiler), not when the host issued it. */
  readonly onGpu: boolean;
}

/** The passes of a trace in columns, in order of their start. -1 where the trace does not have it. */
export interface MeasuredTrace {
  readonly tracks: readonly TraceTrack[];
  readonly track: Uint32Array;
  /** One of `operationKind`. */
  readonly kind: Uint8Array;
  /** Chunk in order of the layers. */
  readonly chunk: Int32Array;
  /** Chunk among those of its stage (`model_chunk`). */
  readonly chunkOfStage: Int32Array;
  readonly microBatch: Int32Array;
  readonly slice: Int32Array;
  /** Step that the event itself names. */
  readonly step: Int32Array;
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  /** Rank that recorded it and how many there were (`distributedInfo` of PyTorch's profiler). */
  readonly rank: number | null;
  readonly ranks: number | null;
  /** The passes are of our own export: their threads are stages. */
  readonly own: boolean;
  /** Of a run of our PyTorch runtime, whose trace begins after the warm-up; null for other traces. */
  readonly torch: TorchTrace | null;
  /** Events altogether. */
  readonly events: number;
}

/** Passes kept of one trace. */
const maximumPasses = 2_000_000;
/** Most events of one thread open at once, of those given by a begin and an end event. */
const maximumOpen = 4096;
const millisecondsPerMicrosecond = 1e-3;

interface Event {
  readonly ph?: unknown;
  readonly name?: unknown;
  readonly cat?: unknown;
  readonly pid?: unknown;
  readonly tid?: unknown;
  readonly ts?: unknown;
  readonly dur?: unknown;
  readonly args?: unknown;
}

interface Pass {
  readonly track: number;
  readonly kind: number;
  readonly chunk: number;
  readonly chunkOfStage: number;
  readonly microBatch: number;
  readonly slice: number;
  readonly step: number;
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Reads the passes out of a Chrome trace, piece by piece; a trace may be larger than memory, its passes are what is kept.
 *
 * @param file named in errors.
 * @returns `push` for each piece of text, in order, then `end`. Both throw ExpectedError `trace-syntax`; `end` also `trace-no-passes`, and
 * `push` `trace-too-large`.
 */
export function makeTraceReader(file: string): { readonly push: (piece: string) => void; readonly end: () => MeasuredTrace } {
  const passes: Pass[] = [];
  const tracks = makeTracks();
  const torch = makeTorchTraceReader();
  const open = new Map<number, { readonly event: Event; readonly ts: number }[]>();
  let events = 0;
  let own = false;
  let info: { readonly rank?: unknown; readonly world_size?: unknown } = {};

  const add = (event: Event, ts: number, dur: number): void => {
    if (!(dur >= 0)) return;
    torch.hear(event, dur * millisecondsPerMicrosecond);
    const named = typeof event.name === 'string' ? passOfName(event.name) : null;
    if (named === null) return;
    if (passes.length === maximumPasses)
      throw traceError(
        'trace-too-large',
        file,
        sentence`The trace holds over ${formatCount(maximumPasses)} passes`,
        sentence`record fewer steps: one after the warm-up is enough`,
      );
    const args = isRecord(event.args) ? event.args : {};
    own ||= /^(?:forward|backward) /.test(String(event.name));
    passes.push({
      track: tracks.of(event),
      kind: named.kind,
      chunk: named.chunk ?? indexIn(args, 'chunk'),
      chunkOfStage: indexIn(args, 'model_chunk'),
      microBatch: named.microBatch ?? indexIn(args, 'mb_id'),
      slice: named.slice ?? indexIn(args, 'slice'),
      step: indexIn(args, 'step'),
      startMs: ts * millisecondsPerMicrosecond,
      endMs: (ts + dur) * millisecondsPerMicrosecond,
    });
  };

  const hear = (event: Event): void => {
    const { ph, ts, dur, args } = event;
    if (ph === 'M' && isRecord(args) && typeof args['name'] === 'string') tracks.name(event, args['name']);
    if (typeof ts !== 'number' || !Number.isFinite(ts)) return;
    if (ph === 'X' && typeof dur === 'number' && Number.isFinite(dur)) add(event, ts, dur);
    else if (ph === 'B') {
      const stack = open.get(tracks.of(event)) ?? [];
      if (stack.length < maximumOpen) stack.push({ event, ts });
      open.set(tracks.of(event), stack);
    } else if (ph === 'E') {
      const begun = open.get(tracks.of(event))?.pop();
      if (begun !== undefined) add(begun.event, begun.ts, ts - begun.ts);
    }
  };

  const scanner = makeEventScanner(file, {
    event: (text) => {
      events++;
      if (mayNamePass(text)) hear(parsed(file, text) as Event);
    },
    member: (name, text) => {
      if (name !== 'distributedInfo' && name !== 'otherData') return;
      const value = parsed(file, text);
      torch.member(value);
      if (name === 'distributedInfo' && isRecord(value)) info = value;
    },
  });
  return {
    push: scanner.push,
    end: () => {
      scanner.end();
      if (passes.length === 0) throw noPasses(file, events);
      return {
        ...toColumns(passes),
        tracks: tracks.all(),
        own,
        torch: torch.end(),
        events,
        rank: indexOrNull(info.rank),
        ranks: indexOrNull(info.world_size),
      };
    },
  };
}

function toColumns(passes: Pass[]) {
  passes.sort((a, b) => a.startMs - b.startMs || a.endMs - b.endMs);
  const indices = (of: (pass: Pass) => number): Int32Array => Int32Array.from(passes, of);
  return {
    track: Uint32Array.from(passes, ({ track }) => track),
    kind: Uint8Array.from(passes, ({ kind }) => kind),
    chunk: indices(({ chunk }) => chunk),
    chunkOfStage: indices(({ chunkOfStage }) => chunkOfStage),
    microBatch: indices(({ microBatch }) => microBatch),
    slice: indices(({ slice }) => slice),
    step: indices(({ step }) => step),
    startMs: Float64Array.from(passes, ({ startMs }) => startMs),
    endMs: Float64Array.from(passes, ({ endMs }) => endMs),
  };
}

/** The threads of a trace by process and thread; the host's and the GPU's are apart, whatever their numbers. */
function makeTracks() {
  const indices = new Map<string, number>();
  const found: { readonly process: number | string; readonly thread: number | string; readonly onGpu: boolean }[] = [];
  const names = new Map<string, string>();
  const id = (value: unknown): number | string => (typeof value === 'number' || typeof value === 'string' ? value : 0);
  return {
    of: ({ pid, tid, cat }: Event): number => {
      const onGpu = cat === 'gpu_user_annotation';
      const key = JSON.stringify([id(pid), id(tid), onGpu]);
      const known = indices.get(key) ?? found.push({ process: id(pid), thread: id(tid), onGpu }) - 1;
      indices.set(key, known);
      return known;
    },
    name: ({ pid, tid, name }: Event, text: string): void => {
      if (name === 'process_name') names.set(JSON.stringify([id(pid)]), text.slice(0, 200));
      if (name === 'thread_name') names.set(JSON.stringify([id(pid), id(tid)]), text.slice(0, 200));
    },
    all: (): TraceTrack[] =>
      found.map((track) => {
        const parts = [names.get(JSON.stringify([track.process])), names.get(JSON.stringify([track.process, track.thread]))];
        return { ...track, name: parts.filter((part) => part !== undefined).join(' ') };
      }),
  };
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw traceError('trace-syntax', file, sentence`An event is not JSON`, sentence`record the trace again`);
  }
}

function noPasses(file: string, events: number): ExpectedError {
  return traceError(
    'trace-no-passes',
    file,
    events === 0
      ? sentence`The trace has no events`
      : sentence`None of the ${formatCount(events)} events is a forward or backward pass of a pipeline`,
    sentence`name passes as PyTorch (PP:0F0), Megatron-LM (forward-compute) or our export (forward 0) do`,
  );
}

function indexOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;
}

/** An argument that counts from 0, else -1. */
function indexIn(args: Readonly<Record<string, unknown>>, key: string): number {
  return indexOrNull(own(args, key)) ?? -1;
}
