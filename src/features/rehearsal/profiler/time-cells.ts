import type { Tensor } from 'onnxruntime-node';
import { memoized } from '../../../core/records';
import { operationKind, type OperationKind, type WorkUnit } from '../../../core/schedules/schedule';
import type { Cell } from '../../../core/domain/profile';
import type { CellTimes, RehearsedStep } from '../protocol';
import type { Runtime } from '../../../profiler/sessions';
import type { TimeWork } from './machine-clock';
import { madeUpNumbers } from './parameters';
import type { StageRunner, StepOrder } from './stage';
import type { Bag } from './tensors';

/** What to time, and how often. */
interface CellTimings {
  readonly cells: readonly Cell[];
  readonly chunks: readonly { readonly chunk: number; readonly runner: StageRunner }[];
  /** Backward in its two parts too. */
  readonly split: boolean;
  readonly rounds: number;
}

/** Made-up activations: always the same of a name and extents. */
type MadeUp = (name: string, dims: readonly number[]) => Tensor;

/** A cell on a chunk, and the unit that it is among those of its group. */
interface TimedCell {
  readonly chunk: number;
  readonly runner: StageRunner;
  readonly cell: Cell;
  readonly units: readonly WorkUnit[];
  readonly unit: number;
  readonly ms: readonly number[][];
}

const { forward, backward, backwardInput, backwardWeight } = operationKind;

/**
 * Times passes one by one: the same sessions, weights and results as in a step, with made-up activations. As in a step, cells go forward
 * one after the other and backward in reverse, as many tokens at a time as the step has, so that memory and caches are as full. Each round
 * runs all of them, so that a burst of noise does not hit only one.
 */
export async function timeCells(
  runtime: Runtime,
  step: RehearsedStep,
  { cells, chunks, split, rounds }: CellTimings,
  timeWork: TimeWork,
): Promise<CellTimes[]> {
  const madeUp = madeUpTensors(runtime);
  const groups = cellGroups(step, cells).map((group) => timedCells(group, chunks));
  const run = async (timed: TimedCell, kind: OperationKind, isCounted: boolean): Promise<void> => {
    const { ms } = await timeWork(() => timed.runner.run(singlePassOrder(step, timed, kind), 0));
    if (isCounted) timed.ms[kind]?.push(ms);
  };
  // A first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (const group of groups) {
      for (const backwards of split ? [[backward], [backwardInput, backwardWeight]] : [[backward]]) {
        for (const timed of group) {
          giveForward(madeUp, step, timed);
          await run(timed, forward, round >= 0);
        }
        for (const timed of group.toReversed()) {
          giveBackward(madeUp, step, timed);
          for (const kind of backwards) await run(timed, kind, round >= 0);
        }
        for (const { runner } of chunks) runner.forget();
      }
    }
  }
  for (const { runner } of chunks) runner.reset();
  return groups.flat().map(({ chunk, cell, ms }) => ({ chunk, cell, ms }));
}

/** Cells of as many tokens together as the step has, or one. */
function cellGroups({ tokens, batch }: RehearsedStep, cells: readonly Cell[]): Cell[][] {
  const groups: Cell[][] = [];
  let held = Infinity;
  for (const cell of cells) {
    held += cell.batch * cell.tokens;
    if (held > tokens * batch) {
      groups.push([]);
      held = cell.batch * cell.tokens;
    }
    groups.at(-1)?.push(cell);
  }
  return groups;
}

/** Each cell is a slice of a micro-batch of its own, after another one that stands for its context. */
function timedCells(cells: readonly Cell[], chunks: CellTimings['chunks']): TimedCell[] {
  const units: WorkUnit[] = [];
  return cells.flatMap((cell, microBatch) => {
    const { batch, tokens, context } = cell;
    if (context > 0) units.push({ microBatch, slice: 0, batch, tokens: context, context: 0 });
    units.push({ microBatch, slice: context > 0 ? 1 : 0, batch, tokens, context });
    const unit = units.length - 1;
    return chunks.map(({ chunk, runner }) => ({ chunk, runner, cell, units, unit, ms: [[], [], [], []] }));
  });
}

function singlePassOrder({ chunks }: RehearsedStep, { chunk, units, unit }: TimedCell, kind: OperationKind): StepOrder {
  return {
    units,
    stageOfChunk: new Uint32Array(chunks.length),
    kind: Uint8Array.of(kind),
    chunk: Uint32Array.of(chunk),
    unit: Uint32Array.of(unit),
  };
}

/** Puts there what the forward pass takes from others. */
function giveForward(madeUp: MadeUp, { job, chunks }: RehearsedStep, { runner, chunk, cell, unit }: TimedCell): void {
  const { shape } = job;
  const { batch, tokens, context } = cell;
  if (chunk > 0) runner.give({ item: { what: 'activation', chunk, unit }, tensor: madeUp('activation', [batch * tokens, shape.hidden]) });
  if (context === 0) return;
  const dims = [batch, shape.kvHeads, context, shape.headDim];
  const keys = (): Bag =>
    new Map([
      ['presentKey', madeUp('keys', dims)],
      ['presentValue', madeUp('values', dims)],
    ]);
  runner.giveKeys(chunk, unit - 1, Array.from({ length: chunks[chunk]?.count ?? 0 }, keys));
}

/** Puts there what the backward pass takes from others. */
function giveBackward(madeUp: MadeUp, { job, chunks }: RehearsedStep, { runner, chunk, cell, unit }: TimedCell): void {
  if (chunk === chunks.length - 1) return;
  const tensor = madeUp('gradient', [cell.batch * cell.tokens, job.shape.hidden]);
  runner.give({ item: { what: 'gradient', chunk, unit }, tensor });
}

function madeUpTensors(runtime: Runtime): MadeUp {
  const made = new Map<string, Tensor>();
  return (name, dims) =>
    memoized(made, `${name} ${dims.join()}`, () => {
      const elements = dims.reduce((product, extent) => product * extent, 1);
      return new runtime.Tensor('float32', madeUpNumbers(name, elements), dims);
    });
}
