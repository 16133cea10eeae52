import type { Emit, ScheduleProblem } from '../kind';
import { operationKind } from '../schedule';

/** All slices of a micro-batch in a row, forward: in token order. */
export function emitForward({ firstUnit }: ScheduleProblem, emit: Emit, chunk: number, microBatch: number): void {
  const end = firstUnit[microBatch + 1] ?? 0;
  for (let unit = firstUnit[microBatch] ?? 0; unit < end; unit++) emit(operationKind.forward, chunk, unit);
}

/** All slices of a micro-batch in a row, backward: the last one first, because earlier slices get gradients from later ones (attention). */
export function emitBackward({ firstUnit }: ScheduleProblem, emit: Emit, chunk: number, microBatch: number): void {
  const first = firstUnit[microBatch] ?? 0;
  for (let unit = (firstUnit[microBatch + 1] ?? 0) - 1; unit >= first; unit--) emit(operationKind.backward, chunk, unit);
}
