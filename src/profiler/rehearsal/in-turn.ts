import { oneAfterAnother } from '../../core/rehearsal/clock';
import { throwIfCancelled, type CancelSignal } from '../../core/errors';
import type { Schedule } from '../../core/schedules/schedule';
import type { StageRunner } from './stage';

/** What runs passes in turn is told. */
export interface InTurn {
  /** Milliseconds since some moment. */
  readonly clock: () => number;
  readonly signal?: CancelSignal | undefined;
  /** Hears how many passes have run. */
  readonly onPass?: ((done: number) => void) | undefined;
}

/**
 * Runs a step one pass after the other, each stage in its own order, handing on between the runners of the stages.
 * @returns how long each row took, ms.
 * @throws Error of a runner that lacks something; CancelledError between passes.
 */
export async function runInTurn(
  stages: readonly StageRunner[],
  schedule: Schedule,
  { clock, signal, onPass }: InTurn,
): Promise<Float64Array> {
  const rowMs = new Float64Array(schedule.kind.length);
  let done = 0;
  for (const row of oneAfterAnother(schedule)) {
    throwIfCancelled(signal);
    const stage = stages[schedule.stageOfChunk[schedule.chunk[row] ?? 0] ?? 0];
    if (stage === undefined) throw new Error(`no stage runs row ${row}`);
    const from = clock();
    const made = await stage.run(schedule, row);
    rowMs[row] = clock() - from;
    if (made !== null) stages[schedule.stageOfChunk[made.item.chunk] ?? 0]?.give(made);
    onPass?.(++done);
  }
  return rowMs;
}
