import { findRow, indexParts } from '../../../core/schedules/parts';
import type { OperationKind, Timeline } from '../../../core/schedules/schedule';
import type { PassPlace } from './against-trace';

/** A measured pass with what was predicted of it; null where the plan does not have it. Times ms, from the start of the step. */
export interface PassAgainst extends PassPlace {
  readonly measured: PassTimes;
  readonly predicted: PassTimes | null;
}

interface PassTimes {
  readonly startMs: number;
  readonly ms: number;
}

/** Every measured pass, stage by stage, in the order in which it ran. */
export function passesAgainst(predicted: Timeline, measured: Timeline): PassAgainst[] {
  const parts = indexParts(predicted);
  return Array.from(measured.kind, (_, row) => {
    const [kind, chunk, unit] = [(measured.kind[row] ?? 0) as OperationKind, measured.chunk[row] ?? 0, measured.unit[row] ?? 0];
    const { microBatch = 0, slice = 0 } = measured.units[unit] ?? {};
    const same = findRow(predicted, parts, kind, chunk, unit);
    return {
      stage: measured.stageOfChunk[chunk] ?? 0,
      chunk,
      kind,
      microBatch,
      slice,
      measured: timesAt(measured, row),
      predicted: same < 0 ? null : timesAt(predicted, same),
    };
  });
}

function timesAt({ startMs, endMs }: Timeline, row: number): PassTimes {
  const start = startMs[row] ?? 0;
  return { startMs: start, ms: (endMs[row] ?? 0) - start };
}
