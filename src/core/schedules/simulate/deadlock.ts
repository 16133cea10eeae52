import { ExpectedError } from '../../errors';
import { operationKind, type Schedule } from '../schedule';
import { sentence, type Sentence } from '../../sentence';

/** A stage that cannot go on. */
export interface DeadlockedStage {
  readonly stage: number;
  /** Row of the operation it is at; of an overlapped pair the first. */
  readonly row: number;
  /** Row of the operation that this waits for. */
  readonly waitsFor: number;
}

/** Stages named in the message when a schedule cannot run. */
const namedStages = 8;

/** What to throw about a schedule whose stages wait for each other. */
export function deadlockError(schedule: Schedule, deadlocked: readonly DeadlockedStage[]): ExpectedError {
  const named = deadlocked.slice(0, namedStages).map(({ stage, row }) => sentence`stage ${stage} at the ${operationText(schedule, row)}`);
  const more = deadlocked.length - namedStages;
  return new ExpectedError(
    'schedule-stuck',
    sentence`The schedule cannot run, its stages wait for each other: ${named.reduce((a, b) => sentence`${a}; ${b}`)}${more > 0 ? sentence`; and ${more} more` : ''}`,
    sentence`run forward before backward, slices ascending forward and descending backward, alike on all stages`,
  );
}

/** `micro-batch 0, slice 3`, without the slice where no sequence is cut. */
export function unitText(units: Schedule['units'], unit: number): Sentence {
  const { microBatch = 0, slice = 0 } = units[unit] ?? {};
  const isSliced = units.some((each) => each.slice > 0);
  return isSliced ? sentence`micro-batch ${microBatch}, slice ${slice}` : sentence`micro-batch ${microBatch}`;
}

/** `input backward of micro-batch 0, slice 3`, with the chunk where a stage has several. */
export function operationText({ stages, stageOfChunk, units, kind, chunk, unit }: Schedule, row: number): Sentence {
  const where = stageOfChunk.length > stages ? sentence` on chunk ${chunk[row] ?? 0}` : '';
  return sentence`${kindText(kind[row])} of ${unitText(units, unit[row] ?? 0)}${where}`;
}

const kindTexts = [sentence`forward`, sentence`backward`, sentence`input backward`, sentence`weight backward`];

/** A kind of operation in words. */
export function kindText(kind: number | undefined): Sentence {
  return kindTexts[kind ?? operationKind.backward] ?? sentence`operation of an unknown kind`;
}
