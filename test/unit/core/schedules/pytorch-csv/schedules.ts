import { generateSchedule, toScheduleProblem } from '../../../../../src/core/schedules/registry';
import type { Schedule } from '../../../../../src/core/schedules/schedule';

/** A schedule of micro-batches of equal slices. */
export function scheduleOf(name: string, stages: number, microBatches: number, chunksPerStage = 1, slices = 1): Schedule {
  const scheme = Array.from({ length: microBatches }, () => ({ batch: 1, tokens: Array.from({ length: slices }, () => 8) }));
  return generateSchedule(name, toScheduleProblem(scheme, stages, chunksPerStage));
}

/** The cells of each row of a file. */
export function cellsOf(text: string): string[][] {
  return text.trimEnd().split('\n').map((line) => line.split(',')); // prettier-ignore
}
