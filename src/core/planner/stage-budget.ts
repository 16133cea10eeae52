import type { CostInputs } from '../cost/rates';
import { momentBytes, unitMemory, type UnitMemory } from '../memory/chunk-memory';
import type { MemoryInputs, StageShape } from '../memory/layer-tensors';
import { staticBytes, totalBytes } from '../memory/static';
import { layerGroups } from '../model/layers';
import type { WorkUnit } from '../schedule/schedule';
import { chunkCost } from './offload';

/** What a stage with layers `from` to `to` (not included) of the model takes or holds. */
export type OfLayers<T> = (from: number, to: number) => T;

/** One micro-batch of whole sequences. */
export function microBatchOf({ training }: MemoryInputs): WorkUnit {
  return { microBatch: 0, slice: 0, batch: training.microBatch, tokens: training.sequenceLength, context: 0 };
}

/** Forward and backward of one micro-batch, ms, remembered. */
export function layersTime(inputs: CostInputs): OfLayers<number> {
  const { batch, tokens } = microBatchOf(inputs);
  return remembered(inputs, (shape) => {
    const { forwardMs, backwardMs } = chunkCost(inputs, shape)(batch, tokens, 0);
    return forwardMs + backwardMs;
  });
}

/** Peak of one GPU, bytes, while at most `inFlight` micro-batches are between forward and backward: as `countMemory` of an order with one chunk a stage and whole backwards. */
export function layersPeak(inputs: MemoryInputs): (inFlight: number) => OfLayers<number> {
  const held = remembered(inputs, (shape) => ({
    always: totalBytes(staticBytes(inputs, shape)),
    unit: unitMemory(inputs, shape, microBatchOf(inputs), false, 1),
  }));
  return (inFlight) => (from, to) => {
    const { always, unit } = held(from, to);
    const busiest = Math.max(momentBytes(unit.forward), momentBytes(unit.backward));
    return always + (inFlight - 1) * savedBytes(unit) + busiest;
  };
}

function savedBytes({ activations, keysValues, logits }: UnitMemory): number {
  return activations + keysValues + logits;
}

/** Stages of one shape are worked out once: by their number of layers where all are alike, by their ends otherwise. */
function remembered<T>({ model }: MemoryInputs, compute: (shape: StageShape) => T): OfLayers<T> {
  const { layers, layerKinds } = model;
  const known = new Map<number, T>();
  return (from, to) => {
    const [first, last] = [from === 0, to === layers];
    const place = layerKinds === undefined ? (first ? 1 : 0) + (last ? 2 : 0) : 4 + from;
    const key = place * (layers + 1) + (to - from);
    let value = known.get(key);
    if (value === undefined) {
      const groups = layerKinds === undefined ? {} : { groups: layerGroups(model, from, to) };
      known.set(key, (value = compute({ layers: to - from, first, last, ...groups })));
    }
    return value;
  };
}
