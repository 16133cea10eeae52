// Handcrafted schedules of arXiv 2401.10241 (zero bubble), section 2: ZB-H1 and ZB-H2.
import type { Emit } from '../kind';
import { operationKind } from '../schedule';

/**
 * One stage's order in the hand-made schedules of arXiv 2401.10241 (figures 2 and 3): `ahead` forwards, then one forward, input gradient
 * and weight gradient in turn. Up to `late` weight gradients before the last input gradient are put off until no forward is left, so that
 * the last input gradients go up the pipeline without stops.
 */
export function emitHandcrafted(stage: number, microBatches: number, ahead: number, late: number, emit: Emit): void {
  const { forward: F, backwardInput: I, backwardWeight: W } = operationKind;
  let forwards = 0;
  let weights = 0;
  while (forwards < Math.min(ahead, microBatches)) emit(F, stage, forwards++);
  for (let inputs = 0; inputs < microBatches; inputs++) {
    if (forwards < microBatches) emit(F, stage, forwards++);
    emit(I, stage, inputs);
    if (forwards === microBatches || inputs + late < microBatches - 1) emit(W, stage, weights++);
  }
  while (weights < microBatches) emit(W, stage, weights++);
}
