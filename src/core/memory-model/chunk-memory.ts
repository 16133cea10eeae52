import { memoized } from '../records';
import type { WorkUnit } from '../schedules/schedule';
import { contentsKey, type StageContents, type WorkingSet } from './layer-tensors';
import type { MemoryInputs } from '../domain/request';
import {
  embeddingAndHeadBytes,
  bytesOnTheWay,
  embeddingBackwardBytes,
  headBackward,
  heldBoundaries,
  layerOperations,
  savedBytes,
  stageKeyValueBytes,
} from './activation-memory';
import { keptForWeights, layerInputGradientOperations, type KeptForWeights } from './split-backward';
import { sumOverLayers, unitLayers, type LayerRuns, type UnitLayer } from './unit-layers';

/**
 * The moment of an operation at which most is in use: bytes of the operation's own unit that are alive then, and what the operation holds
 * in addition.
 */
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
  /** In host memory as long as the activations on the GPU (`activationOffloadLayers`); absent: nothing. */
  readonly offloaded?: number;
  /** Of a token slice, for later slices of its sequences: as long as the activations. */
  readonly keysValues: number;
  /** As long as the activations, but freed by the head before the layers' backward. */
  readonly logits: number;
  /** Gradients of those keys and values: from the start of the backward of the last slice of the sequences to the end of this slice's. */
  readonly keyValueGradients: number;
  /** From the end of the input gradient to the end of the weight gradient: inputs and output gradients of GEMMs. */
  readonly keptForWeights: number;
  readonly forward: BusiestMoment;
  readonly backward: BusiestMoment;
  readonly backwardInput: BusiestMoment;
  readonly backwardWeight: BusiestMoment;
}

/** What the units of a schedule hold on one chunk: unit u is `alike[unitKinds[u]]`. */
export interface ChunkMemory {
  readonly alike: readonly UnitMemory[];
  readonly unitKinds: Uint32Array;
}

/**
 * What each unit holds on each chunk; chunks of one shape share a table.
 *
 * @param chunkContents one per chunk, in order of the layers.
 * @param activationFactor by what the activations of a chunk are multiplied: 1, or `interleavingFactor` where `shapes` are whole stages of
 * an interleaved schedule.
 */
export function chunkMemories(
  inputs: MemoryInputs,
  units: readonly WorkUnit[],
  chunkContents: readonly StageContents[],
  activationFactor: (chunk: number) => number = () => 1,
): ChunkMemory[] {
  const kinds = unitKinds(units);
  // a column of its own for each: they go to other threads
  return byShape(chunkContents, activationFactor, (contents, factor) => ({
    alike: unitsOnChunk(inputs, kinds, contents, factor, false),
    unitKinds: kinds.unitKinds.slice(),
  }));
}

/**
 * The same to judge an order by: counted when a chunk is first asked for.
 *
 * @param isWhole whether no backward of the order is split; then what only the halves hold is left out.
 */
export function judgedMemories(
  inputs: MemoryInputs,
  units: readonly WorkUnit[],
  chunkContents: readonly StageContents[],
  activationFactor: (chunk: number) => number,
  isWhole: boolean,
): ChunkMemory[] {
  const kinds = unitKinds(units);
  return byShape(chunkContents, activationFactor, (contents, factor) => {
    let alike: readonly UnitMemory[] | null = null;
    return {
      unitKinds: kinds.unitKinds,
      get alike() {
        return (alike ??= unitsOnChunk(inputs, kinds, contents, factor, isWhole));
      },
    };
  });
}

/** One object for chunks that are alike. */
function byShape(
  chunkContents: readonly StageContents[],
  activationFactor: (chunk: number) => number,
  count: (contents: StageContents, factor: number) => ChunkMemory,
): ChunkMemory[] {
  const perShape = new Map<string, ChunkMemory>();
  return chunkContents.map((contents, chunk) => {
    const factor = activationFactor(chunk);
    return memoized(perShape, `${contentsKey(contents)},${factor}`, () => count(contents, factor));
  });
}

/** Units that hold the same on any chunk: one of each kind, and the kind of each unit. */
interface UnitKinds {
  readonly alike: readonly { readonly key: string; readonly unit: WorkUnit; readonly sliced: boolean }[];
  readonly unitKinds: Uint32Array;
}

function unitKinds(units: readonly WorkUnit[]): UnitKinds {
  const known = new Map<string, number>();
  const alike: { key: string; unit: WorkUnit; sliced: boolean }[] = [];
  /** The kind of the last unit with each slice index: most often that of the next one, too. */
  const lastOfSlice: number[] = [];
  const unitKinds = Uint32Array.from(units, (unit, index) => {
    const sliced = unit.slice > 0 || units[index + 1]?.microBatch === unit.microBatch;
    const last = lastOfSlice[unit.slice] ?? -1;
    if (isAlike(alike[last], unit, sliced)) return last;
    const key = `${unit.batch},${unit.tokens},${unit.context},${sliced}`;
    let kind = known.get(key);
    if (kind === undefined) {
      known.set(key, (kind = alike.length));
      alike.push({ key, unit, sliced });
    }
    lastOfSlice[unit.slice] = kind;
    return kind;
  });
  return { alike, unitKinds };
}

function isAlike(kind: UnitKinds['alike'][number] | undefined, { batch, tokens, context }: WorkUnit, sliced: boolean): boolean {
  if (kind?.sliced !== sliced) return false;
  const { unit } = kind;
  return unit.batch === batch && unit.tokens === tokens && unit.context === context;
}

function unitsOnChunk(
  inputs: MemoryInputs,
  { alike }: UnitKinds,
  chunk: StageContents,
  activationFactor: number,
  isWhole: boolean,
): readonly UnitMemory[] {
  const known = memoized(unitMemories, inputs, () => ({ byShape: new Map<string, Map<string, UnitMemory>>(), count: 0 }));
  if (known.count > mostKept) {
    known.byShape.clear();
    known.count = 0;
  }
  const shape = `${contentsKey(chunk)},${activationFactor},${isWhole}`;
  const ofShape = memoized(known.byShape, shape, () => new Map<string, UnitMemory>());
  const count = isWhole ? withWholeBackward : unitMemory;
  return alike.map(({ key, unit, sliced }) =>
    memoized(ofShape, key, () => {
      known.count++;
      return count(inputs, chunk, unit, sliced, activationFactor);
    }),
  );
}

/** What units hold, by chunk and unit: candidates of a plan share many. */
const unitMemories = new WeakMap<MemoryInputs, { readonly byShape: Map<string, Map<string, UnitMemory>>; count: number }>();
const mostKept = 10_000;

/** What one unit holds where its backward is whole. */
type WholeUnitMemory = Pick<UnitMemory, 'activations' | 'offloaded' | 'keysValues' | 'logits' | 'forward' | 'backward'>;

const nothingHeld = { activations: 0, keysValues: 0, logits: 0, keptForWeights: 0 };

/** What one unit holds; `sliced` where it is one of several slices of its sequences. */
export function unitMemory(
  inputs: MemoryInputs,
  chunk: StageContents,
  unit: WorkUnit,
  sliced: boolean,
  activationFactor: number,
): UnitMemory {
  const runs = unitLayers(inputs, chunk, unit);
  const of = { inputs, chunk, unit, sliced, activationFactor, runs };
  const whole = wholeMemory(of);
  const { activations, keysValues, logits } = whole;
  const kept = keptForWeights(inputs, chunk, unit, runs, activationFactor);
  const keptForAll = kept.layers + kept.head;
  const embedding = embeddingBackwardBytes(inputs, chunk);
  const start = { activations, keysValues, logits, keptForWeights: 0 };
  const head = headMoments(inputs, chunk, unit, start);
  return {
    ...whole,
    keyValueGradients: sliced ? stageKeyValueBytes(inputs, chunk, unit) : 0,
    keptForWeights: keptForAll,
    backwardInput: busiest([
      ...head,
      ...busiestInputGradients(of, kept, keysValues),
      {
        ...nothingHeld,
        keptForWeights: keptForAll,
        operation: embedding > 0 ? 'embedding backward' : 'input gradient',
        working: embedding,
      },
    ]),
    backwardWeight: {
      ...nothingHeld,
      keptForWeights: keptForAll,
      operation: head.length > 0 ? 'weight gradient of the head' : 'weight gradient',
      working: 0,
    },
  };
}

const noMoment: BusiestMoment = { ...nothingHeld, operation: '', working: 0 };

/** What `unitMemory` gives, without what only the halves of a backward hold. */
function withWholeBackward(
  inputs: MemoryInputs,
  chunk: StageContents,
  unit: WorkUnit,
  sliced: boolean,
  activationFactor: number,
): UnitMemory {
  const whole = wholeUnitMemory(inputs, chunk, unit, sliced, activationFactor);
  const { activations, offloaded, keysValues, logits, forward, backward } = whole;
  const held = {
    activations,
    keysValues,
    logits,
    keyValueGradients: sliced ? stageKeyValueBytes(inputs, chunk, unit) : 0,
    keptForWeights: 0,
    forward,
    backward,
    backwardInput: noMoment,
    backwardWeight: noMoment,
  };
  return offloaded === undefined ? held : { ...held, offloaded };
}

/** The part of `unitMemory` that orders with whole backwards need. */
export function wholeUnitMemory(
  inputs: MemoryInputs,
  chunk: StageContents,
  unit: WorkUnit,
  sliced: boolean,
  activationFactor: number,
): WholeUnitMemory {
  return wholeMemory({ inputs, chunk, unit, sliced, activationFactor, runs: unitLayers(inputs, chunk, unit) });
}

/** A unit on a chunk, with the layers as it finds them. */
interface UnitOnChunk {
  readonly inputs: MemoryInputs;
  readonly chunk: StageContents;
  readonly unit: WorkUnit;
  readonly sliced: boolean;
  readonly activationFactor: number;
  readonly runs: LayerRuns<UnitLayer>;
}

function wholeMemory({ inputs, chunk, unit, sliced, activationFactor, runs }: UnitOnChunk): WholeUnitMemory {
  const layers = sumOverLayers(runs, ({ kept }) => kept);
  const saved = savedBytes(inputs, chunk, unit, sliced, layers);
  const activations = activationFactor * saved.activations;
  const offloaded = activationFactor * sumOverLayers(runs, ({ waiting, kept }) => waiting - kept);
  const embedding = embeddingBackwardBytes(inputs, chunk);
  const { keysValues, logits } = saved;
  const start = { activations, keysValues, logits, keptForWeights: 0 };
  const operations = layerOperations(inputs, chunk, unit, runs);
  const forward = largest(operations.forward);
  const backward = largest(operations.backward);
  const inLayers = ({ name, bytes }: WorkingSet): BusiestMoment => {
    return { activations, keysValues, logits: 0, keptForWeights: 0, operation: name, working: bytes };
  };
  const forwards = [{ activations, keysValues, logits, keptForWeights: 0, operation: 'forward', working: 0 }, inLayers(forward)];
  const backwards = headMoments(inputs, chunk, unit, start);
  backwards.push(inLayers(backward));
  if (embedding > 0) backwards.push({ ...nothingHeld, operation: 'embedding backward', working: embedding });
  const held = { activations, keysValues, logits, forward: busiest(forwards), backward: busiest(backwards) };
  return offloaded > 0 ? { ...held, offloaded } : held;
}

/** The head's backward, where there is one. */
function headMoments(
  inputs: MemoryInputs,
  chunk: StageContents,
  unit: WorkUnit,
  start: Omit<BusiestMoment, 'operation' | 'working'>,
): BusiestMoment[] {
  const { name, bytes } = headBackward(inputs, chunk, unit);
  return bytes > 0 ? [{ ...start, operation: name, working: bytes }] : [];
}

/**
 * The moment of the layers' input gradients at which most is in use: at the first or the last layer of a run of alike ones, as layers free
 * what they saved and leave what waits for their weights. None without layers.
 */
function busiestInputGradients(
  { inputs, chunk, unit, activationFactor, runs }: UnitOnChunk,
  { each: keptOfEach, head: keptForHead }: KeptForWeights,
  keysValues: number,
): BusiestMoment[] {
  const held = heldBoundaries(inputs, chunk, unit).backward;
  const alike = runs.alike.map((layer, index) => {
    const { name, bytes } = largest(layerInputGradientOperations(inputs, unit, layer));
    const working = bytes + bytesOnTheWay(runs, layer) + held;
    return { operation: name, working, saved: activationFactor * layer.kept, kept: keptOfEach[index] ?? 0 };
  });
  let activations =
    sumOverLayers(runs, (_, index) => alike[index]?.saved ?? 0) + activationFactor * embeddingAndHeadBytes(inputs, chunk, unit);
  let keptNow = keptForHead;
  let most: BusiestMoment | null = null;
  let mostBytes = 0;
  for (let run = runs.which.length - 1; run >= 0; run--) {
    const own = alike[runs.which[run] ?? 0];
    if (own === undefined) continue;
    const { operation, working, saved, kept } = own;
    const layers = runs.layers[run] ?? 0;
    for (const done of [0, Math.max(0, layers - 1)]) {
      const [now, waiting] = [activations - done * saved, keptNow + done * kept];
      const bytes = now + keysValues + waiting + working;
      if (most !== null && !(bytes > mostBytes)) continue;
      mostBytes = bytes;
      most = { activations: now, keysValues, logits: 0, keptForWeights: waiting, operation, working };
    }
    activations -= layers * saved;
    keptNow += layers * kept;
  }
  return most === null ? [] : [most];
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
