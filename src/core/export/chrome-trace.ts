import { liveCurve } from '../memory-model/curve';
import type { Candidate } from '../planner/plan';
import { timedCopies } from '../schedules/activation-copies';
import { operationKind, type Timeline } from '../schedules/schedule';

/** Bytes in use on each stage over time, as steps: from `timeMs[i]` on `bytes[i]`. */
interface StageCounter {
  readonly timeMs: Float64Array;
  readonly bytes: Float64Array;
}

interface ChromeTraceOptions {
  /** Shown as the process's name. */
  readonly title: string;
  /** One for each stage; left out where memory is not known. */
  readonly memory?: readonly StageCounter[];
}

/** A flow binds to the operation that runs at its time, and at its end an operation no longer runs: Perfetto counts in nanoseconds. */
const nanosecondMs = 1e-6;

/** Events in one piece of text: pieces of about 200 kB. */
const eventsAPiece = 1024;

const kindNames = ['forward', 'backward', 'backward input', 'backward weight'] as const;
/** Reserved colour names of the trace viewer; Perfetto colours by name. */
const kindColors = ['thread_state_running', 'thread_state_iowait', 'thread_state_iowait', 'thread_state_runnable'] as const;

/**
 * The timeline as Chrome trace JSON (Trace Event Format, JSON object form), which Perfetto, chrome://tracing and speedscope open: one
 * process, a thread a stage, a complete event (`X`) an operation, a counter (`C`) of each stage's memory, a flow (`s`, `f`) for each
 * transfer between stages; activations that leave a stage and come back are a process of their own. Times are microseconds.
 *
 * Comes in pieces, so that a timeline of a million operations is never in memory as text.
 */
export function* chromeTrace(timeline: Timeline, { title, memory = [] }: ChromeTraceOptions): Generator<string> {
  yield `{"displayTimeUnit":"ms","otherData":${JSON.stringify({ title, schedule: timeline.name })},"traceEvents":[\n`;
  let piece: string[] = [];
  let isFirst = true;
  const flush = (): string => {
    const text = `${isFirst ? '' : ',\n'}${piece.join(',\n')}`;
    isFirst = false;
    piece = [];
    return text;
  };
  for (const event of traceEvents(timeline, title, memory)) {
    piece.push(JSON.stringify(event));
    if (piece.length === eventsAPiece) yield flush();
  }
  if (piece.length > 0) yield flush();
  yield '\n]}\n';
}

/** The trace of a candidate's timeline with the memory of its stages, in the pieces of `chromeTrace`. */
export function candidateTrace({ memory: { chunks, stages } }: Candidate, timeline: Timeline, title: string): Generator<string> {
  return chromeTrace(timeline, {
    title,
    memory: stages.map(({ stage, staticBytes }) => liveCurve(timeline, chunks, stage, staticBytes)),
  });
}

function* traceEvents(timeline: Timeline, title: string, memory: readonly StageCounter[]): Generator<object> {
  yield { ph: 'M', pid: 1, name: 'process_name', args: { name: title } };
  for (let stage = 0; stage < timeline.stages; stage++) {
    yield { ph: 'M', pid: 1, tid: stage, name: 'thread_name', args: { name: `stage ${stage}` } };
    yield { ph: 'M', pid: 1, tid: stage, name: 'thread_sort_index', args: { sort_index: stage } };
  }
  for (let stage = 0; stage < timeline.stages; stage++) yield* operationEvents(timeline, stage);
  yield* flowEvents(timeline);
  yield* copyEvents(timeline);
  for (const [stage, { timeMs, bytes }] of memory.entries())
    for (let i = 0; i < timeMs.length; i++)
      yield { ph: 'C', pid: 1, tid: stage, name: `memory of stage ${stage}`, ts: microseconds(timeMs[i]), args: { bytes: bytes[i] ?? 0 } };
}

function* operationEvents(
  { rowStart, kind, chunk, unit, units, stageOfChunk, stages, startMs, endMs }: Timeline,
  stage: number,
): Generator<object> {
  const severalChunks = stageOfChunk.length > stages;
  for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
    const which = kind[row] ?? 0;
    const work = units[unit[row] ?? 0];
    if (work === undefined) continue;
    const { microBatch, slice, batch, tokens, context } = work;
    const place = severalChunks ? { chunk: chunk[row] ?? 0 } : {};
    yield {
      ph: 'X',
      pid: 1,
      tid: stage,
      name: `${kindNames[which] ?? ''} ${microBatch}${isSliced(units, unit[row] ?? 0) ? `.${slice}` : ''}`,
      cat: kindNames[which] ?? '',
      cname: kindColors[which] ?? '',
      ts: microseconds(startMs[row]),
      dur: lasting(startMs[row], endMs[row]),
      args: { microBatch, slice, ...place, sequences: batch, tokens, context },
    };
  }
}

function isSliced(units: Timeline['units'], unit: number): boolean {
  return (units[unit]?.slice ?? 0) > 0 || units[unit + 1]?.slice === 1;
}

/** A thread a stage that copies. */
function* copyEvents(timeline: Timeline): Generator<object> {
  const { copies, stages, units } = timeline;
  if (copies === undefined) return;
  yield { ph: 'M', pid: 2, name: 'process_name', args: { name: 'copies of activations' } };
  for (let stage = 0; stage < stages; stage++) {
    const own = timedCopies(timeline, stage);
    if (own.length > 0) yield { ph: 'M', pid: 2, tid: stage, name: 'thread_name', args: { name: `copies of stage ${stage}` } };
    for (const { chunk, unit, isBack, other, startMs, endMs } of own) {
      const { microBatch = 0, slice = 0 } = units[unit] ?? {};
      const target = other === null ? 'the host' : `stage ${other}`;
      const work = `${microBatch}${isSliced(units, unit) ? `.${slice}` : ''}`;
      yield {
        ph: 'X',
        pid: 2,
        tid: stage,
        name: `${work} ${isBack ? 'from' : 'to'} ${target}`,
        cat: 'copy',
        ts: microseconds(startMs),
        dur: lasting(startMs, endMs),
        args: { microBatch, slice, chunk },
      };
    }
  }
}

/** An arrow from the end of each operation to the start of the one on another stage that takes what it hands on. */
function* flowEvents(timeline: Timeline): Generator<object> {
  const { stages, rowStart, kind, chunk, unit, units, stageOfChunk, startMs, endMs } = timeline;
  const chunks = stageOfChunk.length;
  const cells = chunks * units.length;
  const forwardRow = new Int32Array(cells).fill(-1);
  const backwardRow = new Int32Array(cells).fill(-1);
  for (let row = 0; row < kind.length; row++) {
    if (kind[row] === operationKind.backwardWeight) continue;
    (kind[row] === operationKind.forward ? forwardRow : backwardRow)[(chunk[row] ?? 0) * units.length + (unit[row] ?? 0)] = row;
  }
  let id = 0;
  for (let stage = 0; stage < stages; stage++) {
    for (let row = rowStart[stage] ?? 0; row < (rowStart[stage + 1] ?? 0); row++) {
      if (kind[row] === operationKind.backwardWeight) continue;
      const isForward = kind[row] === operationKind.forward;
      const from = isForward ? (chunk[row] ?? 0) - 1 : (chunk[row] ?? 0) + 1;
      if (from < 0 || from >= chunks || stageOfChunk[from] === stage) continue;
      const sender = (isForward ? forwardRow : backwardRow)[from * units.length + (unit[row] ?? 0)] ?? -1;
      if (sender < 0) continue;
      const flow = { pid: 1, name: isForward ? 'activations' : 'gradients', cat: 'send', id: ++id };
      yield { ph: 's', tid: stageOfChunk[from], ts: microseconds((endMs[sender] ?? 0) - nanosecondMs), ...flow };
      yield { ph: 'f', bp: 'e', tid: stage, ts: microseconds(startMs[row]), ...flow };
    }
  }
}

/** To the nanosecond: finer digits are rounding. */
function microseconds(ms = 0): number {
  return Math.round(ms * 1e6) / 1e3;
}

/** From one rounded time to the other: what follows at once begins where this ends. */
function lasting(startMs = 0, endMs = 0): number {
  return Math.round(1e3 * (microseconds(endMs) - microseconds(startMs))) / 1e3;
}
