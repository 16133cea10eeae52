import type { Emit, ScheduleProblem } from './kind';
import { operationKind } from './schedule';
import { maximum } from '../numbers';

/**
 * When a stage runs the four passes of the first micro-batch, in passes that all take as long: the forwards of its chunk down and of its
 * chunk up the V, then the input gradients of the chunk up and of the chunk down. Modulo `period` they differ.
 */
type BlockStarts = readonly [number, number, number, number];

/** Passes from one micro-batch to the next: one of each kind on both chunks. */
const period = 6;

/**
 * The order of one stage of a V whose micro-batches repeat a building block (arXiv 2405.15362, section 3): the passes of micro-batch k are
 * `period` k later than those of the first, and weight gradients fill what is left free, the oldest first. How long a micro-batch stays on
 * a chunk, over the period, is what the stage holds.
 */
export function emitBlocks(stage: number, { stages, microBatches }: ScheduleProblem, starts: BlockStarts, emit: Emit): void {
  const { forward, backwardInput, backwardWeight } = operationKind;
  const up = 2 * stages - 1 - stage;
  const passes = ([0, 1, 2, 3] as const).map((place) => ({
    kind: place < 2 ? forward : backwardInput,
    chunk: place === 0 || place === 3 ? stage : up,
    start: starts[place],
    unit: 0,
  }));
  const waiting: { readonly chunk: number; readonly unit: number }[] = [];
  let weights = 0;
  const weight = (): void => {
    const oldest = waiting[weights];
    if (oldest === undefined) return;
    weights += 1;
    emit(backwardWeight, oldest.chunk, oldest.unit);
  };
  const end = maximum(starts) + period * (microBatches - 1);
  for (let time = 0; time <= end; time++) {
    const pass = passes.find(({ start, unit }) => unit < microBatches && start + period * unit === time);
    if (pass === undefined) {
      weight();
      continue;
    }
    emit(pass.kind, pass.chunk, pass.unit);
    if (pass.kind === backwardInput) waiting.push({ chunk: pass.chunk, unit: pass.unit });
    pass.unit += 1;
  }
  while (weights < waiting.length) weight();
}
