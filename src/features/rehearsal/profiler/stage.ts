import type { Tensor } from 'onnxruntime-node';
import { rowHandling, itemKey, itemText, sliceNeighbours, type Item } from '../core/handling';
import { operationKind, type OperationKind, type Schedule, type WorkUnit } from '../../../core/schedules/schedule';
import type { RehearsedStep, Transfer } from '../protocol';
import type { Runtime } from '../../../profiler/sessions';
import { sequenceTokens } from './parameters';
import { createPartRunner, type PartRunner } from './parts';
import type { StepSessions } from './step-sessions';
import { sharedTensors, requireTensor, weightTensors, type Bag, type InitialWeights, type SharedTensors } from './tensors';

/** The columns of a schedule that say what its passes hand to each other. */
export type StepOrder = Pick<Schedule, 'units' | 'stageOfChunk' | 'kind' | 'chunk' | 'unit'>;

/** What a pass hands to the chunk before or after. */
export interface HandedOn {
  readonly item: Item;
  readonly tensor: Tensor;
}

/** What runs passes: chunks with their weights, gradients, and what waits for later passes. */
export interface StageRunner {
  /**
   * Runs the pass in a row of `order`. What other chunks hand to it was given by `give` before.
   * @returns what it hands on; null where that is nothing.
   * @throws Error where something that it needs is missing: the order is wrong.
   */
  readonly run: (order: StepOrder, row: number) => Promise<HandedOn | null>;
  readonly give: (handed: HandedOn) => void;
  /** Puts keys and values of earlier slices there, as if they had run: a bag with `presentKey` and `presentValue` for each layer. */
  readonly giveKeys: (chunk: number, unit: number, keys: readonly Bag[]) => void;
  /** What nobody has freed. */
  readonly left: () => readonly string[];
  /** Of the passes since `reset`: shares of units on the last chunk, which add up to the step's. */
  readonly loss: () => number;
  /** By name in the model: `layer 3 qkv`, `embedding tokenTable`, `head head`. Fresh ones after `reset`. */
  readonly gradients: () => ReadonlyMap<string, Float32Array>;
  /** Forgets whatever waits. */
  readonly forget: () => void;
  /** Forgets loss, gradients and whatever waits. */
  readonly reset: () => void;
}

/** What the passes of a stage work with. */
interface Work {
  readonly step: RehearsedStep;
  readonly sessions: StepSessions;
  readonly shared: SharedTensors;
  readonly parts: PartRunner;
  readonly shelf: Shelf;
  readonly tables: EmbeddingTables;
  readonly addLoss: (share: number) => void;
}

/** One unit on one chunk. */
interface Place {
  readonly order: StepOrder;
  readonly chunk: number;
  readonly index: number;
  readonly unit: WorkUnit;
  readonly layers: readonly number[];
  /** This many of the first keep only their input. */
  readonly recomputed: number;
  /** Index in the batch of the unit's first sequence. */
  readonly sequence: number;
}

/** A runner of whatever chunks it is asked for. */
export function createStageRunner(runtime: Runtime, step: RehearsedStep, sessions: StepSessions, initial?: InitialWeights): StageRunner {
  const shared = sharedTensors(runtime);
  const parts = createPartRunner(sessions, shared, weightTensors(runtime, step.tied, initial), step.tokens * step.batch);
  const shelf = emptyShelf();
  const tables = embeddingTables(step);
  let loss = 0;
  const work: Work = { step, sessions, shared, parts, shelf, tables, addLoss: (share) => (loss += share) };
  return {
    give({ item, tensor }) {
      shelf.put(item, [new Map([['value', tensor]])]);
    },
    async run(order, row) {
      const { needs, makes, frees } = rowHandling(order, row);
      for (const item of needs) shelf.look(item);
      const tensor = await runPass(work, order, row);
      for (const item of frees) shelf.drop(item);
      const item = makes.find(({ what }) => what === 'activation' || what === 'gradient');
      return item === undefined || tensor === null ? null : { item, tensor };
    },
    giveKeys(chunk, unit, keys) {
      shelf.put({ what: 'keys', chunk, unit }, keys);
    },
    left: shelf.names,
    forget: shelf.clear,
    loss: () => loss,
    gradients: () => new Map([...tables.gradients(), ...parts.gradients()]),
    reset() {
      shelf.clear();
      parts.reset();
      tables.reset();
      loss = 0;
    },
  };
}

function runPass(work: Work, order: StepOrder, row: number): Promise<Tensor | null> {
  const place = unitPlace(work.step, order, order.chunk[row] ?? 0, order.unit[row] ?? 0);
  const kind = (order.kind[row] ?? operationKind.forward) as OperationKind;
  switch (kind) {
    case operationKind.forward:
      return forward(work, place);
    case operationKind.backwardInput:
      return backward(work, place, 'backwardInput');
    case operationKind.backwardWeight:
      return backwardWeight(work, place);
    case operationKind.backward:
      return backward(work, place, 'backward');
  }
}

async function forward(work: Work, place: Place): Promise<Tensor> {
  const { step, sessions, shared, parts, shelf } = work;
  const { chunk, index, unit, layers, recomputed } = place;
  const isLast = chunk === step.chunks.length - 1;
  let x = chunk === 0 ? await embedded(work, place) : shelf.value({ what: 'activation', chunk, unit: index });
  const saved: Bag[] = [];
  const keys: Bag[] = [];
  for (const at of layers.keys()) {
    const results = await layerForward(work, place, at, x);
    saved.push(at < recomputed ? new Map([['x', x]]) : savedForBackward(sessions, 'layer', new Map([['x', x]]), results));
    keys.push(only(results, ['presentKey', 'presentValue']));
    x = requireTensor(results, 'y');
  }
  if (step.forwardOnly === true) {
    shelf.put({ what: 'keys', chunk, unit: index }, keys);
    return x;
  }
  if (isLast) {
    const bag = new Map([
      ['x', x],
      ['labels', shared.integers(unitTokens(step, place, 1))],
    ]);
    const results = await parts.run('head', 'forward', 'head', unit, bag);
    saved.push(savedForBackward(sessions, 'head', bag, results));
    work.addLoss(Number(requireTensor(results, 'loss').data[0]));
  }
  shelf.put({ what: 'saved', chunk, unit: index }, saved);
  shelf.put({ what: 'keys', chunk, unit: index }, keys);
  return x;
}

/** Runs a layer of a unit's chunk on its input, after the keys and values of the slices before. */
function layerForward(
  { step, shared, parts, shelf }: Work,
  { order, chunk, index, unit, layers }: Place,
  at: number,
  x: Tensor,
): Promise<Bag> {
  const before = sliceNeighbours(order, index).earlier ? shelf.look({ what: 'keys', chunk, unit: index - 1 }) : [];
  const none = shared.noKeys(step.job.shape, unit.batch);
  const bag = new Map([
    ['x', x],
    ['pastKey', before[at]?.get('presentKey') ?? none],
    ['pastValue', before[at]?.get('presentValue') ?? none],
  ]);
  requireContext(bag, unit);
  return parts.run('layer', 'forward', `layer ${layers[at] ?? NaN}`, unit, bag);
}

/** What backward takes of a forward pass: its operands and what it saves. */
function savedForBackward(sessions: StepSessions, part: 'layer' | 'head', operands: Bag, results: Bag): Bag {
  return new Map([
    ...operands,
    ...[...sessions.of(part, 'forward').saves].map((name): [string, Tensor] => [name, requireTensor(results, name)]),
  ]);
}

async function embedded({ step, shared, parts }: Work, place: Place): Promise<Tensor> {
  const ids = shared.integers(unitTokens(step, place, 0));
  return requireTensor(await parts.run('embedding', 'forward', 'embedding', place.unit, new Map([['ids', ids]])), 'y');
}

async function backward(work: Work, place: Place, pass: 'backward' | 'backwardInput'): Promise<Tensor> {
  const { step, sessions, shared, parts, shelf, tables } = work;
  const { order, chunk, index, unit, layers, recomputed, sequence } = place;
  const { earlier, later } = sliceNeighbours(order, index);
  const saved = shelf.look({ what: 'saved', chunk, unit: index });
  const keys = shelf.look({ what: 'keys', chunk, unit: index });
  const fromLater = later ? shelf.look({ what: 'keyGradient', chunk, unit: index }) : [];
  const toEarlier: Bag[] = [];
  const forWeights: Bag[] = [];
  let dy: Tensor;
  if (chunk === step.chunks.length - 1) {
    const results = await parts.run('head', pass, 'head', unit, saved[layers.length] ?? new Map());
    forWeights.unshift(weightInputs(results));
    dy = requireTensor(results, 'dx');
  } else dy = shelf.value({ what: 'gradient', chunk, unit: index });
  for (const [at, layer] of [...layers.entries()].reverse()) {
    const present = keys[at] ?? new Map<string, Tensor>();
    const zeros = shared.zeros(requireTensor(present, 'presentKey').dims);
    const dKeys = new Map([
      ['dKeyIn', fromLater[at]?.get('dPastKey') ?? zeros],
      ['dValueIn', fromLater[at]?.get('dPastValue') ?? zeros],
      ['dy', dy],
    ]);
    const kept = saved[at] ?? new Map<string, Tensor>();
    const all =
      at < recomputed ? savedForBackward(sessions, 'layer', kept, await layerForward(work, place, at, requireTensor(kept, 'x'))) : kept;
    const results = await parts.run('layer', pass, `layer ${layer}`, unit, new Map([...all, ...present, ...dKeys]));
    toEarlier.unshift(only(results, ['dPastKey', 'dPastValue']));
    forWeights.unshift(at < recomputed ? new Map([...all, ...weightInputs(results)]) : weightInputs(results));
    dy = requireTensor(results, 'dx');
  }
  if (earlier) shelf.put({ what: 'keyGradient', chunk, unit: index - 1 }, toEarlier);
  if (pass === 'backwardInput') shelf.put({ what: 'weightInputs', chunk, unit: index }, [...forWeights, new Map([['dx', dy]])]);
  else if (chunk === 0) tables.add(unit, sequence, dy);
  return dy;
}

async function backwardWeight({ step, parts, shelf, tables }: Work, { chunk, index, unit, layers, sequence }: Place): Promise<null> {
  const saved = shelf.look({ what: 'saved', chunk, unit: index });
  const inputs = shelf.look({ what: 'weightInputs', chunk, unit: index });
  const both = (at: number): Bag => new Map([...(saved[at] ?? []), ...(inputs[at] ?? [])]);
  for (const [at, layer] of layers.entries()) await parts.run('layer', 'backwardWeight', `layer ${layer}`, unit, both(at));
  if (chunk === step.chunks.length - 1) await parts.run('head', 'backwardWeight', 'head', unit, both(layers.length));
  if (chunk === 0) tables.add(unit, sequence, requireTensor(inputs.at(-1) ?? new Map(), 'dx'));
  return null;
}

function weightInputs(results: Bag): Bag {
  return new Map([...results].filter(([name]) => name.startsWith('w.')));
}

function only(bag: Bag, names: readonly string[]): Bag {
  return new Map(names.map((name) => [name, requireTensor(bag, name)]));
}

/** Keys and values that came must be those of the slice's context, all of it. */
function requireContext(bag: Bag, { slice, microBatch, context }: WorkUnit): void {
  const there = requireTensor(bag, 'pastKey').dims[2] ?? 0;
  if (there !== context)
    throw new Error(`slice ${slice} of micro-batch ${microBatch} has ${context} tokens before it, and keys of ${there} came`);
}

/** Ids of a unit's tokens, or with `shift` 1 those that follow. */
function unitTokens({ tokens, job }: RehearsedStep, { unit, sequence }: Place, shift: 0 | 1): number[] {
  return Array.from({ length: unit.batch }, (_, at) => [
    ...sequenceTokens(sequence + at, tokens, job.shape.vocab).subarray(unit.context + shift, unit.context + unit.tokens + shift),
  ]).flat();
}

function unitPlace({ chunks }: RehearsedStep, order: StepOrder, chunk: number, index: number): Place {
  const unit = order.units[index];
  const { first, count, recomputed } = chunks[chunk] ?? { first: 0, count: 0, recomputed: 0 };
  if (unit === undefined) throw new Error(`there is no unit ${index}`);
  const before = order.units.filter(({ slice, microBatch }) => slice === 0 && microBatch < unit.microBatch);
  return {
    order,
    chunk,
    index,
    unit,
    layers: Array.from({ length: count }, (_, at) => first + at),
    recomputed,
    sequence: before.reduce((sum, { batch }) => sum + batch, 0),
  };
}

/** What passes leave for each other. */
interface Shelf {
  readonly put: (item: Item, bags: readonly Bag[]) => void;
  readonly look: (item: Item) => readonly Bag[];
  /** Of an item that is one tensor. */
  readonly value: (item: Item) => Tensor;
  readonly drop: (item: Item) => void;
  readonly clear: () => void;
  readonly names: () => readonly string[];
}

function emptyShelf(): Shelf {
  const items = new Map<string, readonly Bag[]>();
  const look = (item: Item): readonly Bag[] => {
    const bags = items.get(itemKey(item));
    if (bags === undefined) throw new Error(`${itemText(item)} is missing`);
    return bags;
  };
  return {
    put(item, bags) {
      if (items.has(itemKey(item))) throw new Error(`${itemText(item)} exists already`);
      items.set(itemKey(item), bags);
    },
    look,
    value: (item) => requireTensor(look(item)[0] ?? new Map(), 'value'),
    drop: (item) => void items.delete(itemKey(item)),
    clear: () => {
      items.clear();
    },
    names: () => [...items.keys()],
  };
}

/** Between the processes of stages. */
export interface Mail {
  /** Returns at once. */
  readonly send: (toStage: number, handed: HandedOn) => void;
  /** Resolves when it is here. */
  readonly take: (item: Item) => Promise<Tensor>;
  /** How long what came since the last call was on its way. */
  readonly transfers: () => readonly Transfer[];
}

/** Gradients of the token and position tables, which grow row by row where they are. */
interface EmbeddingTables {
  /** Adds the gradient of a unit's embedded tokens, [batch * tokens, hidden]. @param first index in the batch of its first sequence. */
  readonly add: (unit: WorkUnit, first: number, dx: Tensor) => void;
  readonly gradients: () => ReadonlyMap<string, Float32Array>;
  readonly reset: () => void;
}

function embeddingTables({ job, tokens }: RehearsedStep): EmbeddingTables {
  const { hidden, vocab, learnedPositions } = job.shape;
  const tables = new Map<string, Float32Array>();
  const table = (name: string, rows: number): Float32Array => {
    const made = tables.get(name) ?? new Float32Array(rows * hidden);
    tables.set(name, made);
    return made;
  };
  return {
    add(unit, first, dx) {
      const values = dx.data as Float32Array;
      const ofTokens = table('embedding tokenTable', vocab);
      const ofPositions = learnedPositions ? table('embedding positionTable', job.limits.sequence) : null;
      for (let sequence = 0; sequence < unit.batch; sequence++) {
        const ids = sequenceTokens(first + sequence, tokens, vocab);
        for (let token = 0; token < unit.tokens; token++) {
          const row = values.subarray((sequence * unit.tokens + token) * hidden, (sequence * unit.tokens + token + 1) * hidden);
          addRow(ofTokens, (ids[unit.context + token] ?? 0) * hidden, row);
          if (ofPositions !== null) addRow(ofPositions, (unit.context + token) * hidden, row);
        }
      }
    },
    gradients: () => tables,
    reset: () => {
      tables.clear();
    },
  };
}

function addRow(sum: Float32Array, at: number, row: Float32Array): void {
  for (let i = 0; i < row.length; i++) sum[at + i] = (sum[at + i] ?? 0) + (row[i] ?? 0);
}
