import { operationKind, type OperationKind } from '../schedules/schedule';
import type { PassPlace } from './against-trace';

const kindNames: Readonly<Record<OperationKind, string>> = {
  [operationKind.forward]: 'forward',
  [operationKind.backward]: 'backward',
  [operationKind.backwardInput]: 'input backward',
  [operationKind.backwardWeight]: 'weight backward',
};

/** `forward 3`, `backward 3.1`, `forward 3 of chunk 5`. */
export function passText({ kind, microBatch, slice, chunk }: PassPlace, sliced: boolean, severalChunks: boolean): string {
  return `${kindNames[kind]} ${microBatch}${sliced ? `.${slice}` : ''}${severalChunks ? ` of chunk ${chunk}` : ''}`;
}
