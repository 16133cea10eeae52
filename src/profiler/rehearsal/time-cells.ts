import type { Tensor } from 'onnxruntime-node';
import { operationKind } from '../../core/schedules/schedule';
import type { Cell } from '../../core/spec/profile';
import type { CellTimes, RehearsedStep } from '../../protocol/rehearsal';
import type { Runtime } from '../sessions';
import { madeUp } from './parameters';
import type { StageRunner, StepOrder } from './stage';
import type { Bag } from './tensors';

/** What to time, and how often. */
interface Asked {
  readonly cells: readonly Cell[];
  readonly chunks: readonly number[];
  /** Backward in its two parts too. */
  readonly split: boolean;
  readonly rounds: number;
}

/**
 * Times passes of cells one by one: the same sessions, weights and results as in a step, with made-up activations. Cells take turns, so
 * that a burst of noise does not hit one alone.
 */
export async function timeCells(
  runtime: Runtime,
  step: RehearsedStep,
  runner: StageRunner,
  { cells, chunks, split, rounds }: Asked,
  clock: () => number,
): Promise<CellTimes[]> {
  const timed = chunks.flatMap((chunk) => cells.map((cell) => ({ chunk, cell, ms: [[], [], [], []] as number[][] })));
  // A first round warms up.
  for (let round = -1; round < rounds; round++) {
    for (const { chunk, cell, ms } of timed) {
      for (const isSplit of split ? [false, true] : [false]) {
        const order = orderOf(step, chunk, cell, isSplit);
        prepare(runtime, step, runner, order);
        for (const row of order.kind.keys()) {
          const from = clock();
          await runner.run(order, row);
          const took = clock() - from;
          if (round >= 0) ms[order.kind[row] ?? 0]?.push(took);
        }
        runner.forget();
      }
    }
  }
  runner.reset();
  return timed;
}

/** A pass of each kind of one slice, after another one that makes its context. */
function orderOf({ chunks }: RehearsedStep, chunk: number, { batch, tokens, context }: Cell, isSplit: boolean): StepOrder {
  const before = context > 0 ? [{ microBatch: 0, slice: 0, batch, tokens: context, context: 0 }] : [];
  const units = [...before, { microBatch: 0, slice: before.length, batch, tokens, context }];
  const { forward, backward, backwardInput, backwardWeight } = operationKind;
  const kind = isSplit ? [forward, backwardInput, backwardWeight] : [forward, backward];
  return {
    units,
    stageOfChunk: new Uint32Array(chunks.length),
    kind: Uint8Array.from(kind),
    chunk: Uint32Array.from(kind, () => chunk),
    unit: Uint32Array.from(kind, () => units.length - 1),
  };
}

/** Puts there what the passes of the last unit of `order` take from others. */
function prepare(runtime: Runtime, { job, chunks }: RehearsedStep, runner: StageRunner, order: StepOrder): void {
  const { shape } = job;
  const unit = order.units.length - 1;
  const chunk = order.chunk[0] ?? 0;
  const { batch = 0, tokens = 0, context = 0 } = order.units[unit] ?? {};
  const tensor = (name: string, dims: readonly number[]): Tensor => {
    const elements = dims.reduce((product, extent) => product * extent, 1);
    return new runtime.Tensor('float32', madeUp(name, elements), dims);
  };
  const given = (what: 'activation' | 'gradient'): void => {
    runner.give({ item: { what, chunk, unit }, tensor: tensor(what, [batch * tokens, shape.hidden]) });
  };
  if (chunk > 0) given('activation');
  if (chunk < chunks.length - 1) given('gradient');
  if (context === 0) return;
  const dims = [batch, shape.kvHeads, context, shape.headDim];
  const keys = (): Bag =>
    new Map([
      ['presentKey', tensor('keys', dims)],
      ['presentValue', tensor('values', dims)],
    ]);
  runner.giveKeys(chunk, unit - 1, Array.from({ length: chunks[chunk]?.count ?? 0 }, keys));
}
