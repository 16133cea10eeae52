import type { Emit } from '../kind';
import { operationKind } from '../schedule';

/**
 * One stage's order in the hand-made schedules of arXiv 2401.10241 (figures 2 and 3): `ahead` forwards, then one forward, input gradient and weight gradient in turn. Weight gradients of the last
 * `late` micro-batches wait until no forward is left, so that their input gradients go up the pipeline without stops.
 */
export function emitHandMade(stage: number, microBatches: number, ahead: number, late: number, emit: Emit): void {
  const { forward: F, backwardInput: I, backwardWeight: W } = operationKind;
  let forwards = 0;
  let weights = 0;
  while (forwards < Math.min(ahead, microBatches)) emit(F, stage, forwards++);
  for (let inputs = 0; inputs < microBatches; inputs++) {
    const filling = forwards < microBatches;
    if (filling) emit(F, stage, forwards++);
    emit(I, stage, inputs);
    if (!filling || inputs < microBatches - late) emit(W, stage, weights++);
  }
  while (weights < microBatches) emit(W, stage, weights++);
}
