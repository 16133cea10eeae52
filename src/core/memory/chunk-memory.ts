import type { WorkUnit } from '../schedule/schedule';
import { keptGroups, layerKeptBytes, shapeKey, type MemoryInputs, type StageShape, type WorkingSet } from './layer-tensors';
import {
  besideLayers,
  bytesOnTheWay,
  embeddingBackwardBytes,
  headBackward,
  heldBoundaries,
  layerOperations,
  savedBytes,
  stageKeyValueBytes,
} from './runtime';
import { keptForWeights, layerInputGradientOperations, layerKeptForWeights } from './split-backward';

/** The moment of an operation at which most is in use: bytes of the operation's own unit that are alive then, and what the operation holds besides. */
export interface BusiestMoment {
  readonly operation: string;
  readonly activations: number;
  readonly keysValues: number;
  readonly logits: number;
  readonly keptForWeights: number;
  readonly working: number;
}

/** What one work unit holds on one chunk, bytes on one rank. */
export interface UnitMemory {
  /** From the start of its forward to the end of its backward, or of its input gradient where backward is split. */
  readonly activations: number;
  /** Of a token slice, for later slices of its sequences: as long as the activations. */
  readonly keysValues: number;
  /** As long as the activations, but freed by the head before the layers' backward. */
  readonly logits: number;
  /** Gradients of those keys and values: from the start of the backward of the last slice of the sequences to the end of this slice's. */
  readonly keyValueGradients: number;
  /** From the end of the input gradient to the end of the weight gradient: inputs and output gradients of matrix products. */
  readonly keptForWeights: number;
  readonly forward: BusiestMoment;
  readonly backward: BusiestMoment;
  readonly backwardInput: BusiestMoment;
  readonly backwardWeight: BusiestMoment;
}

/** What the units of a schedule hold on one chunk: unit u is `alike[kindOf[u]]`. */
export interface ChunkMemory {
  readonly alike: readonly UnitMemory[];
  readonly kindOf: Uint32Array;
}

/**
 * What each unit holds on each chunk; chunks of one shape share a table.
 *
 * @param shapes one per chunk, in order of the layers.
 * @param factorOf by what the activations of a chunk are multiplied: 1, or `interleavingFactor` where `shapes` are whole stages of an interleaved schedule.
 */
export function chunkMemories(
  inputs: MemoryInputs,
  units: readonly WorkUnit[],
  shapes: readonly StageShape[],
  factorOf: (chunk: number) => number = () => 1,
): ChunkMemory[] {
  const perShape = new Map<string, ChunkMemory>();
  return shapes.map((shape, chunk) => {
    const factor = factorOf(chunk);
    const key = `${shapeKey(shape)},${factor}`;
    let memory = perShape.get(key);
    if (memory === undefined) perShape.set(key, (memory = chunkMemory(inputs, units, shape, factor)));
    return memory;
  });
}

function chunkMemory(inputs: MemoryInputs, units: readonly WorkUnit[], chunk: StageShape, activationFactor: number): ChunkMemory {
  const known = new Map<string, number>();
  const alike: UnitMemory[] = [];
  const kindOf = Uint32Array.from(units, (unit, index) => {
    const sliced = unit.slice > 0 || units[index + 1]?.microBatch === unit.microBatch;
    const key = `${unit.batch},${unit.tokens},${unit.context},${sliced}`;
    let kind = known.get(key);
    if (kind === undefined) {
      known.set(key, (kind = alike.length));
      alike.push(unitMemory(inputs, chunk, unit, sliced, activationFactor));
    }
    return kind;
  });
  return { alike, kindOf };
}

/** What one unit holds; `sliced` where it is one of several slices of its sequences. */
export function unitMemory(inputs: MemoryInputs, chunk: StageShape, unit: WorkUnit, sliced: boolean, activationFactor: number): UnitMemory {
  const saved = savedBytes(inputs, chunk, unit, sliced);
  const activations = activationFactor * saved.activations;
  const kept = keptForWeights(inputs, chunk, unit);
  const keptForAll = kept.layers + kept.head;
  const embedding = embeddingBackwardBytes(inputs, chunk);
  const nothing = { activations: 0, keysValues: 0, logits: 0, keptForWeights: 0 };
  const start = { activations, keysValues: saved.keysValues, logits: saved.logits, keptForWeights: 0 };

  const head = headBackward(inputs, chunk, unit);
  const atHead = head.bytes > 0 ? [{ ...start, operation: head.name, working: head.bytes }] : [];
  const operations = layerOperations(inputs, chunk, unit);
  const forward = largest(operations.forward);
  const backward = largest(operations.backward);
  const after = (operation: string, keptNow: number): BusiestMoment => ({
    ...nothing,
    keptForWeights: keptNow,
    operation: embedding > 0 ? 'embedding backward' : operation,
    working: embedding,
  });
  return {
    activations,
    keysValues: saved.keysValues,
    logits: saved.logits,
    keyValueGradients: sliced ? stageKeyValueBytes(inputs, chunk, unit) : 0,
    keptForWeights: keptForAll,
    forward: busiest([
      { ...start, operation: 'forward', working: 0 },
      { ...start, logits: 0, operation: forward.name, working: forward.bytes },
    ]),
    backward: busiest([
      ...atHead,
      { ...start, logits: 0, operation: backward.name, working: backward.bytes },
      ...(embedding > 0 ? [after('', 0)] : []),
    ]),
    backwardInput: busiest([
      ...atHead,
      ...inputGradientMoments(inputs, chunk, unit, kept.head, activationFactor).map((moment) => ({ ...start, logits: 0, ...moment })),
      after('input gradient', keptForAll),
    ]),
    backwardWeight: {
      ...nothing,
      keptForWeights: keptForAll,
      operation: head.bytes > 0 ? 'weight gradient of the head' : 'weight gradient',
      working: 0,
    },
  };
}

type LayerMoment = Pick<BusiestMoment, 'activations' | 'keptForWeights' | 'operation' | 'working'>;

/** Moments of the input gradient at which most can be in use: at the first and at the last layer of each group of alike ones, as layers free what they saved and leave what waits for their weights. */
function inputGradientMoments(
  inputs: MemoryInputs,
  chunk: StageShape,
  unit: WorkUnit,
  keptForHead: number,
  activationFactor: number,
): LayerMoment[] {
  const all = keptGroups(inputs, chunk);
  const groups = all.map((group) => ({
    layers: group.layers,
    saved: activationFactor * layerKeptBytes(inputs, unit, group),
    kept: layerKeptForWeights(inputs, unit, group.kind),
    largest: largest(layerInputGradientOperations(inputs, unit, group)),
    moving: bytesOnTheWay(inputs, unit, all, group),
  }));
  const held = heldBoundaries(inputs, chunk, unit).backward;
  let activations =
    groups.reduce((sum, { layers, saved }) => sum + layers * saved, 0) + activationFactor * besideLayers(inputs, chunk, unit);
  let keptNow = keptForHead;
  return groups.reverse().flatMap(({ layers, saved, kept, moving, largest: { name, bytes } }) => {
    const at = (done: number): LayerMoment => ({
      activations: activations - done * saved,
      keptForWeights: keptNow + done * kept,
      operation: name,
      working: bytes + moving + held,
    });
    const moments = [at(0), at(Math.max(0, layers - 1))];
    activations -= layers * saved;
    keptNow += layers * kept;
    return moments;
  });
}

function largest(operations: readonly WorkingSet[]): WorkingSet {
  return operations.reduce((a, b) => (b.bytes > a.bytes ? b : a), { name: 'forward', bytes: 0 });
}

/** The first of the moments with most bytes. */
function busiest(moments: readonly BusiestMoment[]): BusiestMoment {
  return moments.reduce((a, b) => (momentBytes(b) > momentBytes(a) ? b : a));
}

/** Bytes in use at a moment, of the operation and its unit. */
export function momentBytes({ activations, keysValues, logits, keptForWeights, working }: BusiestMoment): number {
  return activations + keysValues + logits + keptForWeights + working;
}
