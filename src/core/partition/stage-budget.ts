import { memoized } from '../records';
import type { CostInputs } from '../time-model/rates';
import { momentBytes, wholeUnitMemory } from '../memory-model/chunk-memory';
import type { StageContents } from '../memory-model/layer-tensors';
import type { MemoryInputs } from '../domain/request';
import { staticBytes, totalBytes } from '../memory-model/static';
import { withMtpLayers } from '../model/multi-token-prediction';
import { partOfModel } from '../model/layers';
import type { WorkUnit } from '../schedules/schedule';
import { throwIfCancelled, type CancelSignal } from '../errors';
import { chunkCost } from './offload';

/** What a stage takes or holds with layers `from` to `to` (not included) of the model. */
export type OfStage<T = number> = (stage: number, from: number, to: number) => T;

/** How often stages were recomputed. */
interface Counter {
  count: number;
}

/** Who looks on while stages are worked out. */
export interface Watch {
  readonly counter?: Counter | undefined;
  readonly signal?: CancelSignal | undefined;
}

/** One micro-batch of whole sequences. */
export function wholeMicroBatch({ training }: MemoryInputs): WorkUnit {
  return { microBatch: 0, slice: 0, batch: training.microBatch, tokens: training.sequenceLength, context: 0 };
}

/** Forward and backward of one micro-batch, ms. */
export function layersTime(inputs: CostInputs, watch: Watch = {}): OfStage {
  const { batch, tokens } = wholeMicroBatch(inputs);
  return byShape(
    inputs,
    (contents) => {
      const { forwardMs, backwardMs } = chunkCost(inputs, contents)(batch, tokens, 0);
      return forwardMs + backwardMs;
    },
    watch,
  );
}

/**
 * Peak of one GPU, bytes, while at most `inFlight` micro-batches, one number a stage, are between forward and backward: as `countMemory` of
 * an order with one chunk a stage and whole backwards.
 */
export function layersPeak(inputs: MemoryInputs, countInFlight: () => readonly number[], watch: Watch = {}): OfStage {
  let inFlight: readonly number[] | undefined;
  const held = byShape(
    inputs,
    (contents) => {
      const { forward, backward, activations, keysValues, logits } = wholeUnitMemory(inputs, contents, wholeMicroBatch(inputs), false, 1);
      return {
        always: totalBytes(staticBytes(inputs, contents)),
        saved: activations + keysValues + logits,
        busiest: Math.max(momentBytes(forward), momentBytes(backward)),
      };
    },
    watch,
  );
  return (stage, from, to) => {
    const { always, saved, busiest } = held(stage, from, to);
    inFlight ??= countInFlight();
    return always + ((inFlight[stage] ?? 1) - 1) * saved + busiest;
  };
}

/** Stages of one shape are worked out once: by their number of layers where all are alike, by their ends otherwise. */
function byShape<T>({ model, layout }: MemoryInputs, compute: (contents: StageContents) => T, { counter, signal }: Watch): OfStage<T> {
  const { layers, layerKinds } = model;
  const known = new Map<number, T>();
  return (stage, from, to) => {
    const [first, last] = [stage === 0, stage === layout.pipeline - 1];
    const start = layerKinds === undefined ? 0 : from;
    const key = ((start * (layers + 1) + (to - from)) * 2 + (first ? 1 : 0)) * 2 + (last ? 1 : 0);
    return memoized(known, key, () => {
      throwIfCancelled(signal);
      if (counter !== undefined) counter.count++;
      return compute(withMtpLayers(model, { layers: to - from, first, last, ...partOfModel(model, from, to) }));
    });
  };
}
