import { toScheduleProblem } from '../registry';
import { zbvZeroBubble } from '../kinds/zbv-zero-bubble';
import { scheduleRounds, warmUpPasses } from '../rounds';
import { operationKind, type Schedule } from '../schedule';

/** The cells of one rank: rows of the schedule, null for an idle cell. */
type Cells = readonly (number | null)[];

/**
 * The cells of each rank with the idle cells that PyTorch's generator of that schedule leaves (torch 2.14). They are for readers only: a
 * cell is roughly a time step, and PyTorch skips idle cells. Other schedules have none.
 */
export function rankCells(schedule: Schedule): readonly Cells[] {
  const withIdle = generators.get(schedule.name) ?? ((_, rows) => rows);
  const cells = Array.from({ length: schedule.stages }, (_, stage) => {
    const from = schedule.rowStart[stage] ?? 0;
    const rows = Array.from({ length: (schedule.rowStart[stage + 1] ?? 0) - from }, (_row, index) => from + index);
    return withIdle(schedule, rows, stage);
  });
  return schedule.name === 'InterleavedZeroBubble' ? waitForForwards(schedule, cells) : cells;
}

type WithIdle = (schedule: Schedule, rows: readonly number[], stage: number) => Cells;

const generators: ReadonlyMap<string, WithIdle> = new Map<string, WithIdle>([
  [
    'LoopedBFS',
    (schedule, rows, stage) =>
      spaced(rows, (index) => leading(index, stage) + (index === rows.length / 2 ? 2 * (schedule.stages - 1 - stage) : 0)),
  ],
  ['Interleaved1F1B', interleavedCells],
  ['InterleavedZeroBubble', zeroBubbleCells],
  ['ZBVZeroBubble', vCells],
]);

function spaced(rows: readonly number[], idleBefore: (index: number) => number): Cells {
  return rows.flatMap((row, index) => [...new Array<null>(idleBefore(index)).fill(null), row]);
}

/** A rank starts as many steps late as it is ranks away from the first. */
function leading(index: number, stage: number): number {
  return index === 0 ? stage : 0;
}

/** A gap between warm-up and the first backward, until that could have come back, and one before each backward of the drain. */
function interleavedCells(schedule: Schedule, rows: readonly number[], stage: number): Cells {
  const { stages, warmUp } = rankWarmUp(schedule, stage, 2);
  const gap = Math.max(0, schedule.stageOfChunk.length + 2 * (stages - 1 - stage) - warmUp - stage);
  return spaced(
    rows,
    (index) => leading(index, stage) + (warmUp > 0 && index === warmUp ? gap : 0) + (index >= rows.length - warmUp ? 1 : 0),
  );
}

function zeroBubbleCells(schedule: Schedule, rows: readonly number[], stage: number): Cells {
  const { stages, warmUp } = rankWarmUp(schedule, stage, 1);
  return spaced(rows, (index) => leading(index, stage) + (warmUp > 0 && index === warmUp ? stages - 1 - stage : 0));
}

function rankWarmUp({ stages, stageOfChunk, units }: Schedule, stage: number, perHop: number) {
  const problem = { stages, microBatches: units.length, chunksPerStage: stageOfChunk.length / stages };
  return { stages, warmUp: warmUpPasses(scheduleRounds(problem), problem, stage, perHop) };
}

/** PyTorch plans at least 2p - 1 micro-batches and leaves the surplus cells idle. */
function vCells({ stages, units }: Schedule, rows: readonly number[], stage: number): Cells {
  const planned = Math.max(2 * stages - 1, units.length);
  const order = zbvZeroBubble.order(
    toScheduleProblem(new Array<{ batch: number; tokens: number[] }>(planned).fill({ batch: 1, tokens: [1] }), stages, 2),
  );
  const cells: (number | null)[] = new Array<null>(stage).fill(null);
  let next = 0;
  order(stage, (_kind, _chunk, unit) => cells.push(unit < units.length ? (rows[next++] ?? null) : null));
  return cells;
}

/** Step by step, with another idle cell wherever the step before has not made a forward's input. */
function waitForForwards({ kind, chunk, unit, units, stageOfChunk }: Schedule, planned: readonly Cells[]): readonly Cells[] {
  const next = planned.map(() => 0);
  const cells = planned.map((): (number | null)[] => []);
  const doneAt = new Uint32Array(stageOfChunk.length * units.length).fill(2 ** 32 - 1);
  const waits = (row: number, step: number) => {
    const own = chunk[row] ?? 0;
    return kind[row] === operationKind.forward && own > 0 && (doneAt[(own - 1) * units.length + (unit[row] ?? 0)] ?? 0) >= step;
  };
  let left = planned.reduce((sum, { length }) => sum + length, 0);
  for (let step = 0; left > 0; step++) {
    planned.forEach((row, stage) => {
      const at = next[stage] ?? 0;
      const cell = row[at];
      if (cell === undefined) return;
      if (cell !== null && waits(cell, step)) return void cells[stage]?.push(null);
      if (cell !== null && kind[cell] === operationKind.forward) doneAt[(chunk[cell] ?? 0) * units.length + (unit[cell] ?? 0)] = step;
      cells[stage]?.push(cell);
      next[stage] = at + 1;
      left -= 1;
    });
  }
  return cells;
}
