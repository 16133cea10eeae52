import { operationKind, type OperationKind } from '../../../core/schedules/schedule';
import type { PassPlace } from './against-trace';
import { sentence, type Sentence } from '../../../core/sentence';

const kindNames: Readonly<Record<OperationKind, Sentence>> = {
  [operationKind.forward]: sentence`forward`,
  [operationKind.backward]: sentence`backward`,
  [operationKind.backwardInput]: sentence`input backward`,
  [operationKind.backwardWeight]: sentence`weight backward`,
};

/** `forward 3`, `backward 3.1`, `forward 3 of chunk 5`. */
export function passText({ kind, microBatch, slice, chunk }: PassPlace, sliced: boolean, severalChunks: boolean): Sentence {
  const unit = sliced ? `${microBatch}.${slice}` : microBatch;
  return severalChunks ? sentence`${kindNames[kind]} ${unit} of chunk ${chunk}` : sentence`${kindNames[kind]} ${unit}`;
}
