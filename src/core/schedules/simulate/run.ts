import { throwIfCancelled, type CancelSignal } from '../../errors';
import { operationKind, type Schedule, type WorkUnit } from '../schedule';
import type { Durations, LinkTimes, Transfers } from './transfers';
import type { DeadlockedStage } from './deadlock';
import { runningCopies, type RunningCopies } from './copies';

/*
 * The loop behind `simulate`, written for speed: typed arrays, nothing allocated per operation. A cell is `chunk * units + unit`; a result
 * is `2 * cell` for what its forward makes and `2 * cell + 1` for what its full or input backward makes.
 */

/** In place of a stage: the chunk hands on to nobody, or to its own stage. */
const nowhere = -1;
/** In place of a result: the stage waits for none. */
const nothing = -1;

/** Where a chunk sends, per chunk: the other stage, and the link to it. */
interface Hops {
  readonly to: Int32Array;
  readonly link: Int32Array;
}

interface Run {
  readonly schedule: Schedule;
  readonly durations: Durations;
  readonly startMs: Float64Array;
  readonly endMs: Float64Array;
  /** Null while everything is ready as it ends. */
  readonly arrivalMs: Float64Array | null;
  /** When each result is where it is needed; below 0 while it is not done. */
  readonly thereMs: Float64Array;
  /** 1 for units with an earlier, and with a later slice of their micro-batch. */
  readonly hasEarlier: Uint8Array;
  readonly hasLater: Uint8Array;
  readonly forwardHops: Hops;
  readonly backwardHops: Hops;
  /**
   * Busy time that every operation has for its transfer, latency from stage to stage, and how long the link is taken: entry `chunk * stride
   * + unit`.
   */
  readonly held: LinkTimes;
  readonly latency: LinkTimes;
  readonly onLink: LinkTimes | null;
  /** 0 where transfers are alike on all chunks. */
  readonly stride: number;
  readonly sending: boolean;
  /** Only hand-overs between chunks below this one take `latency`. */
  readonly delayedChunks: number;
  readonly linkFreeMs: Float64Array;
  readonly copies: RunningCopies | null;
  /** Per stage: the row it is at, when it is free, and the result it waits for. */
  readonly next: Uint32Array;
  readonly freeMs: Float64Array;
  readonly waitsFor: Float64Array;
}

/** Rows between two polls of the signal: a few milliseconds. */
const rowsBetweenPolls = 1 << 15;

/** Runs every operation that can run. @throws CancelledError. */
export function runAll(schedule: Schedule, durations: Durations, transfers: Transfers, signal?: CancelSignal): Run {
  const run = makeRun(schedule, durations, transfers);
  advanceAll(run, signal);
  return run;
}

function makeRun(schedule: Schedule, durations: Durations, transfers: Transfers): Run {
  const { stages, stageOfChunk, units, kind, overlapsNext, rowStart } = schedule;
  const cells = stageOfChunk.length * units.length;
  for (const column of Object.values<Float64Array>({ ...durations }))
    if (column.length < cells) throw new RangeError(`${column.length} durations for ${cells} units on chunks`);
  for (const { forwardMs, backwardMs } of [transfers, transfers.link ?? transfers])
    if (Math.min(forwardMs.length, backwardMs.length) < (transfers.perChunk === true ? cells : units.length))
      throw new RangeError(`too few transfer times for ${units.length} units`);
  const { held, latency, onLink } = timesOfTransfers(schedule, transfers);
  const links = new Map<string, number>();
  const forwardHops = chunkHops(stageOfChunk, 1, links);
  const backwardHops = chunkHops(stageOfChunk, -1, links);
  const takesTime = onLink !== null || [latency.forwardMs, latency.backwardMs].some((ms) => ms.some((time) => time !== 0));
  return {
    schedule,
    durations,
    startMs: new Float64Array(kind.length),
    endMs: new Float64Array(kind.length),
    arrivalMs: (takesTime && links.size > 0) || overlapsNext !== null ? new Float64Array(kind.length) : null,
    thereMs: new Float64Array(2 * cells).fill(-1),
    hasEarlier: Uint8Array.from(units, (unit, index) => isSameMicroBatch(unit, units[index - 1])),
    hasLater: Uint8Array.from(units, (unit, index) => isSameMicroBatch(unit, units[index + 1])),
    forwardHops,
    backwardHops,
    held,
    latency,
    onLink,
    stride: transfers.perChunk === true ? units.length : 0,
    sending: transfers.mode === 'sending',
    delayedChunks: transfers.mode === 'fill-and-drain' ? stages : stageOfChunk.length,
    linkFreeMs: new Float64Array(links.size),
    copies: runningCopies(schedule, transfers.copyMs),
    next: rowStart.slice(0, stages),
    freeMs: new Float64Array(stages),
    waitsFor: new Float64Array(stages).fill(nothing),
  };
}

function isSameMicroBatch(unit: WorkUnit, other: WorkUnit | undefined): 0 | 1 {
  return unit.microBatch === other?.microBatch ? 1 : 0;
}

/** Where each chunk hands on to, `step` chunks away; links get numbers as they are met. */
function chunkHops(stageOfChunk: Uint32Array, step: 1 | -1, links: Map<string, number>): Hops {
  const to = new Int32Array(stageOfChunk.length).fill(nowhere);
  const link = new Int32Array(stageOfChunk.length).fill(nowhere);
  stageOfChunk.forEach((stage, chunk) => {
    const target = stageOfChunk[chunk + step];
    if (target === undefined || target === stage) return;
    const name = `${stage},${target}`;
    const number = links.get(name) ?? links.size;
    links.set(name, number);
    to[chunk] = target;
    link[chunk] = number;
  });
  return { to, link };
}

function timesOfTransfers(schedule: Schedule, transfers: Transfers): Pick<Run, 'held' | 'latency' | 'onLink'> {
  const { mode, link } = transfers;
  const none = new Float64Array(transfers.forwardMs.length);
  const free = { forwardMs: none, backwardMs: none };
  switch (mode) {
    case 'edge':
    case 'sending':
      return { held: transfers.held ?? free, latency: transfers, onLink: link ?? null };
    case 'blocking':
      return { held: totalLinkTimes(transfers), latency: free, onLink: null };
    case 'fill-and-drain':
      return { held: transfers.held ?? free, latency: exposedTimes(schedule, totalLinkTimes(transfers)), onLink: null };
  }
}

/** Latency and time on the link together. */
function totalLinkTimes({ forwardMs, backwardMs, link }: Transfers): LinkTimes {
  if (link === undefined) return { forwardMs, backwardMs };
  return {
    forwardMs: forwardMs.map((ms, unit) => ms + (link.forwardMs[unit] ?? 0)),
    backwardMs: backwardMs.map((ms, unit) => ms + (link.backwardMs[unit] ?? 0)),
  };
}

/** Only the times of the first forward and the last backward of stage 0, in each round of filling and draining the pipeline. */
function exposedTimes({ units, rowStart, kind, unit }: Schedule, times: LinkTimes): LinkTimes {
  const round = new Uint32Array(units.length);
  for (let index = 1; index < units.length; index++)
    round[index] = (round[index - 1] ?? 0) + (units[index - 1]?.endsRound === true ? 1 : 0);
  const rounds = (round.at(-1) ?? 0) + 1;
  const [first, last] = [new Int32Array(rounds).fill(-1), new Int32Array(rounds).fill(-1)];
  for (let row = 0; row < (rowStart[1] ?? 0); row++) {
    const index = unit[row] ?? 0;
    const own = round[index] ?? 0;
    if (kind[row] !== operationKind.forward) {
      if (kind[row] !== operationKind.backwardWeight) last[own] = index;
    } else if (first[own] === -1) first[own] = index;
  }
  const only = (column: Float64Array, wanted: Int32Array): Float64Array =>
    column.map((ms, entry) => (wanted[round[entry % units.length] ?? 0] === entry % units.length ? ms : 0));
  return { forwardMs: only(times.forwardMs, first), backwardMs: only(times.backwardMs, last) };
}

/**
 * Runs the operations of each stage until it waits for another one, then those of the stages that what it did has woken. One function with
 * all columns in local constants: cut into smaller ones it takes two to five times as long. Rows go one by one, except the two of an
 * overlapped pair, which are checked, placed and passed on together.
 */
function advanceAll(run: Run, signal: CancelSignal | undefined): void {
  const { startMs, endMs, arrivalMs, thereMs, hasEarlier, hasLater, held, latency, onLink, linkFreeMs, waitsFor, next, freeMs } = run;
  const { forwardHops, backwardHops, sending, delayedChunks, stride, copies } = run;
  const { forwardMs, backwardInputMs, backwardWeightMs } = run.durations;
  const { stages, stageOfChunk, units, rowStart, kind, chunk, unit, overlapsNext } = run.schedule;
  const { forward, backwardInput, backwardWeight } = operationKind;
  const [count, lastChunk] = [units.length, stageOfChunk.length - 1];
  // A stack of the stages to look at; a stage is on it once at most.
  const awake = Int32Array.from({ length: stages }, (_, stage) => stages - 1 - stage);
  let awakeCount = stages;
  let rowsToPoll = rowsBetweenPolls;
  while (awakeCount > 0) {
    const stage = awake[--awakeCount] ?? 0;
    const done = rowStart[stage + 1] ?? 0;
    const from = next[stage] ?? 0;
    const stop = Math.min(done, from + rowsBetweenPolls);
    let free = freeMs[stage] ?? 0;
    let missing = nothing;
    let row = from;
    while (row < stop) {
      const last = overlapsNext !== null && overlapsNext[row] === 1 ? row + 1 : row;
      for (let each = row; each <= last && missing === nothing; each++) {
        const c = chunk[each] ?? 0;
        const u = unit[each] ?? 0;
        const own = 2 * (c * count + u);
        const what = kind[each];
        let source = nothing;
        if (what === forward) {
          if (hasEarlier[u] === 1 && (thereMs[own - 2] ?? 0) < 0) missing = own - 2;
          if (c > 0) source = own - 2 * count;
        } else if (what === backwardWeight) {
          if ((thereMs[own + 1] ?? 0) < 0) missing = own + 1;
        } else {
          if ((thereMs[own] ?? 0) < 0) missing = own;
          else if (hasLater[u] === 1 && (thereMs[own + 3] ?? 0) < 0) missing = own + 3;
          if (c < lastChunk) source = own + 1 + 2 * count;
        }
        if (source === nothing || missing !== nothing) continue;
        const there = thereMs[source] ?? 0;
        if (there < 0) missing = source;
        else if (there > free) free = there;
      }
      if (missing !== nothing) break;
      if (copies !== null) for (let each = row; each <= last; each++) free = Math.max(free, copies.readyMs(each));
      for (let each = row; each <= last; each++) {
        const u = unit[each] ?? 0;
        const c = chunk[each] ?? 0;
        const cell = c * count + u;
        const hop = c * stride + u;
        const what = kind[each];
        startMs[each] = free;
        if (what === forward) free = free + (forwardMs[cell] ?? 0) + (held.forwardMs[hop] ?? 0);
        else if (what === backwardWeight) free += backwardWeightMs[cell] ?? 0;
        else if (what === backwardInput) free = free + (backwardInputMs[cell] ?? 0) + (held.backwardMs[hop] ?? 0);
        else free = free + (backwardInputMs[cell] ?? 0) + (backwardWeightMs[cell] ?? 0) + (held.backwardMs[hop] ?? 0);
        endMs[each] = free;
      }
      const end = free;
      for (let each = row; each <= last; each++) {
        if (kind[each] === backwardWeight) {
          if (arrivalMs !== null) arrivalMs[each] = end;
          continue;
        }
        const c = chunk[each] ?? 0;
        const u = unit[each] ?? 0;
        const isForward = kind[each] === forward;
        const result = 2 * (c * count + u) + (isForward ? 0 : 1);
        const hops = isForward ? forwardHops : backwardHops;
        const to = hops.to[c] ?? nowhere;
        let there = end;
        if (to !== nowhere) {
          const hop = c * stride + u;
          if (onLink !== null) {
            const link = hops.link[c] ?? 0;
            there = Math.max(end, linkFreeMs[link] ?? 0) + ((isForward ? onLink.forwardMs : onLink.backwardMs)[hop] ?? 0);
            linkFreeMs[link] = there;
            if (sending) free = Math.max(free, there);
          }
          if ((isForward ? c + 1 : c) < delayedChunks) there += (isForward ? latency.forwardMs : latency.backwardMs)[hop] ?? 0;
          if (waitsFor[to] === result) {
            waitsFor[to] = nothing;
            awake[awakeCount++] = to;
          }
        }
        thereMs[result] = there;
        if (arrivalMs !== null) arrivalMs[each] = there;
      }
      endMs[last] = free;
      if (copies !== null) copies.start(stage, last, free);
      row = last + 1;
    }
    next[stage] = row;
    freeMs[stage] = free;
    waitsFor[stage] = missing;
    if (missing === nothing && row < done) awake[awakeCount++] = stage;
    rowsToPoll -= row - from;
    if (rowsToPoll > 0) continue;
    rowsToPoll = rowsBetweenPolls;
    throwIfCancelled(signal);
  }
}

/** Where each stage is that has not run all of its operations. */
export function deadlockedStages({ schedule, next, waitsFor }: Run): DeadlockedStage[] {
  const { rowStart, kind, chunk, unit, units } = schedule;
  const waiting = Array.from(next, (row, stage) => ({ stage, row, result: waitsFor[stage] ?? nothing })).filter(
    ({ stage, row }) => row < (rowStart[stage + 1] ?? 0),
  );
  if (waiting.length === 0) return [];
  const rowOfResult = new Map(waiting.map(({ result }) => [result, -1]));
  for (let row = 0; row < kind.length; row++) {
    if (kind[row] === operationKind.backwardWeight) continue;
    const result = 2 * ((chunk[row] ?? 0) * units.length + (unit[row] ?? 0)) + (kind[row] === operationKind.forward ? 0 : 1);
    if (rowOfResult.has(result)) rowOfResult.set(result, row);
  }
  return waiting.map(({ stage, row, result }) => ({ stage, row, waitsFor: rowOfResult.get(result) ?? -1 }));
}
