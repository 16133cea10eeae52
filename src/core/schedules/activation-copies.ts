import { host, operationKind, type ActivationCopies, type OperationKind, type Schedule, type Timeline } from './schedule';
import type { PassStarts } from './uniform-blocks';

/** One copy of a stage. */
interface Copy {
  readonly chunk: number;
  readonly after: number;
  readonly before: number;
  readonly unit: number;
  readonly back: 0 | 1;
}

/**
 * What BPipe copies (ICML 2023): a stage that would hold more than `limit` micro-batches lends the newest ones to `partner(stage)`, and
 * gets each back before its backward. A copy has at least one pass to hide behind, where there is one. What leaves has been forward two
 * passes before, and what comes back comes as soon as there is room for it until its backward. So a stage never holds more than the limit,
 * copies under way counted on both sides.
 *
 * @param schedule whole micro-batches on one chunk a stage.
 * @param limit at least 2.
 */
export function pairedCopies(schedule: Schedule, limit: number, partner: (stage: number) => number): ActivationCopies {
  const { stages } = schedule;
  const byStage = Array.from({ length: stages }, (_, stage) => stageCopies(schedule, stage, limit));
  return columns(
    schedule,
    byStage,
    Int32Array.from({ length: stages }, (_, stage) => partner(stage)),
  );
}

function columns({ stages }: Schedule, byStage: readonly (readonly Copy[])[], to: Int32Array): ActivationCopies {
  const start = new Uint32Array(stages + 1);
  byStage.forEach((copies, stage) => (start[stage + 1] = (start[stage] ?? 0) + copies.length));
  const all = byStage.flat();
  const column = (value: (copy: Copy) => number): Uint32Array => Uint32Array.from(all, value);
  return {
    start,
    after: column(({ after }) => after),
    before: column(({ before }) => before),
    chunk: column(({ chunk }) => chunk),
    unit: column(({ unit }) => unit),
    back: Uint8Array.from(all, ({ back }) => back),
    to,
  };
}

/** The copies of one stage, by a walk over its rows. */
function stageCopies({ rowStart, kind, unit }: Schedule, stage: number, limit: number): Copy[] {
  const end = rowStart[stage + 1] ?? 0;
  const copies: Copy[] = [];
  /** Units on the stage, by the row of their forward; those that came back stay until their backward. */
  const own = new Map<number, number>();
  const returned = new Set<number>();
  const lent: number[] = [];
  const held = (): number => own.size + returned.size;
  const isForward = (row: number): boolean => kind[row] === operationKind.forward;
  const lend = (row: number): void => {
    const newest = [...own].filter(([, since]) => since <= row - 2).at(-1) ?? [...own].at(-1);
    if (newest === undefined) throw new RangeError(`no micro-batch to lend on stage ${stage}`);
    const [which, since] = newest;
    own.delete(which);
    lent.push(which);
    copies.push({ chunk: stage, after: since, before: row, unit: which, back: 0 });
  };
  const bringBack = (which: number, after: number, before: number): void => {
    lent.splice(lent.indexOf(which), 1);
    returned.add(which);
    copies.push({ chunk: stage, after, before, unit: which, back: 1 });
  };
  for (let row = rowStart[stage] ?? 0; row < end; row++) {
    const which = unit[row] ?? 0;
    if (isForward(row)) {
      const next = row + 1 < end && !isForward(row + 1) ? (unit[row + 1] ?? 0) : -1;
      const isDue = lent.includes(next);
      const hasRoom = held() < limit;
      while (held() + (isDue ? 2 : 1) > limit && own.size > 0) lend(row);
      if (isDue) bringBack(next, hasRoom ? row - 1 : row, row + 1);
      own.set(which, row);
    } else if (!own.delete(which) && !returned.delete(which)) throw new RangeError(`stage ${stage} has lent what it needs`);
    bringBackEarly(row);
  }
  return copies.sort((a, b) => a.after - b.after || a.before - b.before);

  /** What is needed next comes back at the end of a row where there is room for it until its backward. */
  function bringBackEarly(row: number): void {
    let [more, most] = [1, 1];
    for (let later = row + 1; later < end && lent.length > 0 && held() + most <= limit; later++) {
      if (isForward(later)) most = Math.max(most, ++more);
      else {
        const which = unit[later] ?? 0;
        if (lent.includes(which)) bringBack(which, row, later);
        else more--;
      }
    }
  }
}

/**
 * What PipeOffload copies (arXiv 2503.01328, section 4.2): the first chunks of every stage leave for the host after their forward and come
 * back before their backward, as these have longest between the two. Copies go one at a time, out and back in turn. Slots are as long as
 * fill the time of all passes, a backward taking two forwards. What leaves takes the first slot after its forward, what comes back the last
 * one before its backward; a micro-batch that would be back at once stays.
 *
 * @param offloaded chunks of each stage.
 * @param starts that slots follow.
 */
export function hostCopies(schedule: Schedule, offloaded: number, starts: PassStarts): ActivationCopies {
  const { stages } = schedule;
  const byStage = Array.from({ length: stages }, (_, stage) => slottedCopies(schedule, stage, offloaded, starts));
  return columns(schedule, byStage, new Int32Array(stages).fill(host));
}

/** The copies of one stage, in slots. */
function slottedCopies(schedule: Schedule, stage: number, offloaded: number, starts: PassStarts): Copy[] {
  const { rowStart, kind, chunk, unit, stages, stageOfChunk } = schedule;
  const [from = 0, to = 0] = rowStart.subarray(stage, stage + 2);
  const slot = (3 * stageOfChunk.length) / stages / (2 * offloaded);
  const rows = Array.from({ length: to - from }, (_, index) => from + index);
  const at = Float64Array.from(rows, (row) => starts((kind[row] ?? 0) as OperationKind, chunk[row] ?? 0, unit[row] ?? 0));
  const rowAt = (time: number): number => from + lowerBound(at, time);
  const rowBefore = (time: number): number => rowAt(time - 1 + rounding) - 1;
  const offloads = rows.filter((row) => (chunk[row] ?? 0) < offloaded * stages);
  const cell = (row: number): number => (chunk[row] ?? 0) * schedule.units.length + (unit[row] ?? 0);
  const left = new Map<number, { readonly row: number; readonly turn: number }>();
  let turn = 0;
  for (const row of offloads) {
    if (kind[row] !== operationKind.forward) continue;
    turn = Math.max(turn, Math.ceil(((at[row - from] ?? 0) + 1) / (2 * slot)));
    left.set(cell(row), { row, turn: turn++ });
  }
  const copies: (Copy & { readonly time: number })[] = [];
  let last = Infinity;
  for (const row of offloads.reverse()) {
    if (kind[row] !== operationKind.backwardInput) continue;
    const out = left.get(cell(row));
    const back = Math.min(last, Math.floor((at[row - from] ?? 0) / (2 * slot)) - 1);
    if (out === undefined || back <= out.turn) continue;
    last = back - 1;
    const what = { chunk: chunk[row] ?? 0, unit: unit[row] ?? 0 };
    const [leaves, returns] = [2 * slot * out.turn, 2 * slot * back + slot];
    const returnsAfter = rowBefore(returns);
    const gone = Math.min(returnsAfter, rowAt(leaves + slot));
    if (gone <= out.row) continue;
    copies.push({ ...what, after: Math.max(out.row, rowBefore(leaves)), before: gone, back: 0, time: leaves });
    copies.push({ ...what, after: returnsAfter, before: row, back: 1, time: returns });
  }
  return copies.sort((a, b) => a.after - b.after || a.time - b.time);
}

/** Slots are half passes. */
const rounding = 1e-6;

/** Index of the first of ascending numbers that is not below `wanted`. */
function lowerBound(ascending: Float64Array, wanted: number): number {
  let [low, high] = [0, ascending.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ascending[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * What a stage has away, as its change in each row that changes it, ascending. A unit is away from the row in which it starts to leave
 * until the row that waits for it back.
 * @param size what each unit takes on a chunk; the changes are in its unit.
 */
export function awayByRow(
  { copies }: Pick<Schedule, 'copies'>,
  stage: number,
  size: (chunk: number, unit: number) => number,
): ReadonlyMap<number, number> {
  const changes = new Map<number, number>();
  if (copies === undefined) return changes;
  const { start, back, chunk, unit, after, before } = copies;
  for (let copy = start[stage] ?? 0; copy < (start[stage + 1] ?? 0); copy++) {
    const isBack = back[copy] === 1;
    const row = isBack ? (before[copy] ?? 0) : (after[copy] ?? 0) + 1;
    const own = size(chunk[copy] ?? 0, unit[copy] ?? 0);
    changes.set(row, (changes.get(row) ?? 0) + (isBack ? -own : own));
  }
  return new Map([...changes].sort(([a], [b]) => a - b));
}

/** Most of what other stages have lent to a stage at one time, with what each unit takes on a chunk of the lender. */
export function lentTo({ copies }: Pick<Schedule, 'copies'>, stage: number, size: (chunk: number, unit: number) => number): number {
  if (copies === undefined) return 0;
  let all = 0;
  copies.to.forEach((target, lender) => {
    if (target !== stage || lender === stage) return;
    let [held, most] = [0, 0];
    for (const change of awayByRow({ copies }, lender, size).values()) most = Math.max(most, (held += change));
    all += most;
  });
  return all;
}

/** One copy of a timeline: the activations of a unit on a chunk leave their stage, or come back to it. */
export interface TimedCopy {
  readonly chunk: number;
  /** Index into `units`. */
  readonly unit: number;
  readonly isBack: boolean;
  /** The other stage; null: the host. */
  readonly other: number | null;
  /** Row of the schedule that waits until it is done. */
  readonly before: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** The copies that a stage issues, in that order; none where nothing is copied. */
export function timedCopies({ copies, copyTimes }: Pick<Timeline, 'copies' | 'copyTimes'>, stage: number): TimedCopy[] {
  if (copies === undefined || copyTimes === undefined) return [];
  const first = copies.start[stage] ?? 0;
  const to = copies.to[stage] ?? host;
  return Array.from({ length: (copies.start[stage + 1] ?? 0) - first }, (_, index) => ({
    chunk: copies.chunk[first + index] ?? 0,
    unit: copies.unit[first + index] ?? 0,
    isBack: copies.back[first + index] === 1,
    other: to === host ? null : to,
    before: copies.before[first + index] ?? 0,
    startMs: copyTimes.startMs[first + index] ?? 0,
    endMs: copyTimes.endMs[first + index] ?? 0,
  }));
}
