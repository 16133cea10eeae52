import type { Scheme } from '../solver/slicing';
import { operationKind, unitsOf, type OperationKind, type Schedule, type ScheduleName } from './schedule';

/** One pass of one micro-batch on a stage: all its slices in a row. */
interface Block {
  readonly kind: OperationKind;
  readonly microBatch: number;
}

/**
 * The order of operations of a pipeline with `stages` stages. Slices of a micro-batch go forward in token order and backward in reverse, as attention demands.
 * - TeraPipe: fill-drain, backward in exactly the reverse order of forward (its runtime).
 * - GPipe: fill-drain, backward from the first micro-batch on.
 * - 1F1B: stage s runs `stages - s - 1` micro-batches ahead, then one forward and one backward in turn (PipeDream-flush).
 */
export function generateSchedule(name: ScheduleName, scheme: Scheme, stages: number): Schedule {
  const units = unitsOf(scheme);
  const firstUnit = firstUnits(scheme);
  const rowsPerStage = 2 * units.length;
  const kind = new Uint8Array(stages * rowsPerStage);
  const unit = new Uint32Array(stages * rowsPerStage);
  const rowStart = Uint32Array.from({ length: stages + 1 }, (_, stage) => stage * rowsPerStage);
  let row = 0;
  for (let stage = 0; stage < stages; stage++) {
    for (const block of blocksOf(name, scheme.length, stages, stage)) {
      const from = firstUnit[block.microBatch] ?? 0;
      const to = firstUnit[block.microBatch + 1] ?? 0;
      for (let index = from; index < to; index++, row++) {
        kind[row] = block.kind;
        unit[row] = block.kind === operationKind.forward ? index : from + to - 1 - index;
      }
    }
  }
  return { name, stages, units, rowStart, kind, unit };
}

/** Index of the first unit of each micro-batch, and one entry for the end. */
function firstUnits(scheme: Scheme): Uint32Array {
  const first = new Uint32Array(scheme.length + 1);
  scheme.forEach(({ tokens }, microBatch) => {
    first[microBatch + 1] = (first[microBatch] ?? 0) + tokens.length;
  });
  return first;
}

function* blocksOf(name: ScheduleName, microBatches: number, stages: number, stage: number): Generator<Block> {
  const ahead = name === '1F1B' ? Math.min(stages - stage - 1, microBatches) : microBatches;
  for (let microBatch = 0; microBatch < ahead; microBatch++) yield { kind: operationKind.forward, microBatch };
  for (let microBatch = ahead; microBatch < microBatches; microBatch++) {
    yield { kind: operationKind.forward, microBatch };
    yield { kind: operationKind.backward, microBatch: microBatch - ahead };
  }
  for (let left = ahead; left > 0; left--)
    yield { kind: operationKind.backward, microBatch: name === 'TeraPipe' ? left - 1 : microBatches - left };
}
