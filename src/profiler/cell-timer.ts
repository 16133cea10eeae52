import { errorMessage } from '../core/errors';
import { formatBytes } from '../core/format';
import { sum } from '../core/numbers';
import type { Cell, ProfileDevice, ProviderName } from '../core/domain/profile';
import type { ProfilerJob, ProfilerReply, TimedPart, WithoutId } from '../protocol/profiler';
import type { AttentionOperator } from './graph/emit';
import { failureKind, runBytes, sessionBytes, usableShare, type Direction, type Limits } from './memory';
import { openSession, type Model, type Runtime, type RunTime, type TimedSession } from './sessions';

export type BuildModel = (job: ProfilerJob, attention: AttentionOperator, part: TimedPart, direction: Direction) => Model;

/** Builds models with buffers for cells up to `job.limits`: the graph to time, and one that only makes its inputs. */
export interface ModelSource {
  readonly graph: BuildModel;
  readonly inputs: BuildModel;
}

type CellAnswer = WithoutId<Extract<ProfilerReply, { readonly type: 'measured' | 'skipped' }>>;

/** Runs of a new shape that are not reported. GPUs load their libraries lazily and raise their clocks. */
const warmUps = { cpu: 1, software: 1, gpu: 3 };

/** Sessions of one part in one direction. */
interface Timed {
  readonly limits: Limits;
  readonly graph: TimedSession;
  readonly inputs: TimedSession;
  readonly warm: Set<string>;
  /** Estimate of the largest cell that ran: its memory stays with the session. */
  largestBytes: number;
}

/** Why a cell is skipped. */
class OutOfMemory extends Error {}

interface CellTimerParts {
  readonly models: ModelSource;
  /** Free memory of the device, bytes; infinite when it cannot be known. */
  readonly freeBytes: () => Promise<number>;
  readonly runtime: Runtime;
  readonly provider: ProviderName;
  readonly job: ProfilerJob;
  readonly attention: AttentionOperator;
  readonly device: ProfileDevice;
}

/**
 * Runs cells, one at a time. Sessions are created when first needed, one for all shapes of a part and direction.
 * Rejects only when the device is lost; everything else that goes wrong is an answer.
 */
export function createCellTimer(parts: CellTimerParts): (part: TimedPart, cell: Cell) => Promise<CellAnswer> {
  const { models, freeBytes, runtime, provider, job, attention, device } = parts;
  const sessions = new Map<string, Timed>();

  const open = async (part: TimedPart, direction: Direction, limits: Limits): Promise<Timed> => {
    const sized = { ...job, limits };
    const graph = await openSession(runtime, models.graph(sized, attention, part, direction), provider, job.threads);
    const inputs = await openSession(runtime, models.inputs(sized, attention, part, direction), provider, job.threads);
    return { limits, graph, inputs, warm: new Set(), largestBytes: 0 };
  };
  /**
   * Sessions whose buffers hold the cell: those for all cells of the job if they leave room, else for those that came so far, else only for
   * this one.
   */
  const sessionFor = async (part: TimedPart, direction: Direction, cell: Cell): Promise<Timed> => {
    const key = `${part} ${direction}`;
    const before = sessions.get(key);
    if (before !== undefined && holds(before.limits, cell)) return before;
    sessions.delete(key);
    await before?.graph.release();
    await before?.inputs.release();
    const own: Limits = { batch: cell.batch, tokens: cell.tokens, sequence: cell.context + cell.tokens };
    const free = await freeBytes();
    const needed = (limits: Limits) => sessionBytes(job, part, direction, limits);
    const mayTake = Math.min(usableShare * free, Math.max(free / 4, 1.5 * needed(own)));
    const limits =
      needed(job.limits) < mayTake
        ? job.limits
        : [union(before?.limits ?? own, own), own].find((tried) => needed(tried) < usableShare * free);
    if (limits === undefined) throw tooLarge(needed(own), free);
    const opened = await open(part, direction, limits);
    sessions.set(key, opened);
    return opened;
  };
  const time = async (part: TimedPart, direction: Direction, cell: Cell) => {
    const bytes = runBytes(job, part, direction, cell);
    const heldBytes = sessions.get(`${part} ${direction}`)?.largestBytes ?? 0;
    if (bytes > heldBytes) {
      const free = await freeBytes();
      if (bytes - heldBytes > usableShare * free) throw tooLarge(bytes, free);
    }
    const session = await sessionFor(part, direction, cell);
    const key = `${cell.batch} ${cell.tokens} ${cell.context}`;
    for (let left = session.warm.has(key) ? 0 : warmUps[device.kind]; left > 0; left--) {
      await session.graph.run(cell);
      await session.inputs.run(cell);
    }
    session.warm.add(key);
    session.largestBytes = Math.max(session.largestBytes, bytes);
    return { graph: await leastOfSome(session.graph, cell), inputs: await leastOfSome(session.inputs, cell) };
  };

  return async (part: TimedPart, cell: Cell): Promise<CellAnswer> => {
    try {
      const forward = await time(part, 'forward', cell);
      const backward = await time(part, 'backward', cell);
      const timed = [forward.graph, forward.inputs, backward.graph, backward.inputs];
      return {
        type: 'measured',
        forwardMs: forward.graph.ms,
        backwardMs: backward.graph.ms,
        forwardInputsMs: forward.inputs.ms,
        backwardInputsMs: backward.inputs.ms,
        waitedMs: sum(timed.map(({ waitedMs }) => waitedMs)),
        workMs: sum(timed.map(({ workMs }) => workMs)),
        rssBytes: process.memoryUsage.rss(),
      };
    } catch (error) {
      const detail = errorMessage(error);
      const kind = error instanceof OutOfMemory ? 'out-of-memory' : failureKind(detail);
      if (kind === 'lost') throw error;
      return { type: 'skipped', reason: kind, detail };
    }
  };
}

/**
 * A slice shorter than this is run several times in one measurement: a single run of a fraction of a millisecond is mostly the noise of the
 * scheduler.
 */
const longEnoughMs = 16;
const mostRuns = 16;

/** The least of some runs, and what they worked and waited together, ms. */
interface SomeRuns extends RunTime {
  readonly workMs: number;
}

/** Least time of one run, or of as many as fit into `longEnoughMs`. */
async function leastOfSome(session: TimedSession, cell: Cell): Promise<SomeRuns> {
  let [leastMs, workMs, waitedMs] = [Infinity, 0, 0];
  for (let runs = 0; runs < mostRuns && workMs < longEnoughMs; runs++) {
    const time = await session.run(cell);
    leastMs = Math.min(leastMs, time.ms);
    workMs += time.ms;
    waitedMs += time.waitedMs;
  }
  return { ms: leastMs, workMs, waitedMs };
}

function tooLarge(needed: number, free: number): OutOfMemory {
  return new OutOfMemory(`It needs about ${formatBytes(needed)}, ${formatBytes(free)} are free`);
}

function holds(limits: Limits, { batch, tokens, context }: Cell): boolean {
  return batch <= limits.batch && tokens <= limits.tokens && context + tokens <= limits.sequence;
}

function union(a: Limits, b: Limits): Limits {
  return { batch: Math.max(a.batch, b.batch), tokens: Math.max(a.tokens, b.tokens), sequence: Math.max(a.sequence, b.sequence) };
}
