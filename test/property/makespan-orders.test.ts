import assert from 'node:assert/strict';
import fc from 'fast-check';
import { operationKind, schemeUnits, type OperationKind, type Schedule } from '../../src/core/schedules/schedule';
import { simulate } from '../../src/core/schedules/simulate/simulate';
import { passGraph, type PassGraph } from '../../src/core/slicing/makespan/pass-graph';
import { shortestMakespan } from '../../src/core/slicing/makespan/search';
import { cases } from './cases';
import { drawn } from './random-makespans';

/** A pass of a unit on a stage. */
interface Pass {
  readonly kind: OperationKind;
  readonly unit: number;
}

interface Shape {
  readonly microBatches: number;
  readonly slices: number;
  readonly splits: boolean;
}

const { forward, backward, backwardInput, backwardWeight } = operationKind;
const stages = 2;
const tokenUnits = 6;

/** All orders of a stage in which no pass comes before one of the same stage that it needs. */
function stageOrders({ microBatches, slices, splits }: Shape): readonly (readonly Pass[])[] {
  const orders: Pass[][] = [];
  const units = microBatches * slices;
  const back = splits ? backwardInput : backward;
  const kinds = splits ? [forward, backwardInput, backwardWeight] : [forward, backward];
  const grow = (order: readonly Pass[]): void => {
    if (order.length === units * kinds.length) orders.push([...order]);
    const has = (kind: OperationKind, unit: number): boolean => order.some((pass) => pass.kind === kind && pass.unit === unit);
    for (let unit = 0; unit < units; unit++)
      for (const kind of kinds) {
        const isReady =
          kind === forward
            ? unit % slices === 0 || has(forward, unit - 1)
            : kind === backwardWeight
              ? has(back, unit)
              : has(forward, unit) && (unit % slices === slices - 1 || has(back, unit + 1));
        if (isReady && !has(kind, unit)) grow([...order, { kind, unit }]);
      }
  };
  grow([]);
  return orders;
}

function scheduleOf(orders: readonly (readonly Pass[])[], microBatches: number, lengths: readonly number[]): Schedule {
  const rows = orders.flatMap((order, stage) => order.map((pass) => ({ ...pass, stage })));
  return {
    name: 'any order',
    stages,
    stageOfChunk: Uint32Array.of(0, 1),
    units: schemeUnits(Array.from({ length: microBatches }, () => ({ batch: 1, tokens: lengths }))),
    rowStart: Uint32Array.of(0, orders[0]!.length, rows.length),
    kind: Uint8Array.from(rows, ({ kind }) => kind),
    chunk: Uint32Array.from(rows, ({ stage }) => stage),
    unit: Uint32Array.from(rows, ({ unit }) => unit),
    overlapsNext: null,
  };
}

function cutsInto(slices: number): number[][] {
  if (slices === 1) return [[tokenUnits]];
  const cuts: number[][] = [];
  const grow = (cut: readonly number[], left: number): void => {
    if (cut.length === slices - 1) cuts.push([...cut, left]);
    else for (let length = 1; length <= left - (slices - 1 - cut.length); length++) grow([...cut, length], left - length);
  };
  grow([], tokenUnits);
  return cuts;
}

/** The same time for the same pass, with little order in them. */
function passMs(seed: number, stage: number, kind: number, length: number, context: number): number {
  return 1 + 20 * drawn(seed + 7919 * stage + 104_729 * kind + 1_299_709 * length + 15_485_863 * context)();
}

const times = 4 * stages + 1;
const chunks = [0, 1].map((stage) => ({
  forward: 4 * stage,
  backward: 4 * stage + 1,
  backwardInput: 4 * stage + 2,
  backwardWeight: 4 * stage + 3,
  sendForward: 8,
  sendBackward: 8,
}));

function simulatedMs(schedule: Schedule, seed: number, splits: boolean): number {
  const { units } = schedule;
  const column = (kind: number): Float64Array =>
    Float64Array.from({ length: stages * units.length }, (_, cell) => {
      const { tokens, context } = units[cell % units.length]!;
      return passMs(seed, Math.floor(cell / units.length), kind, tokens, context);
    });
  const sends = Float64Array.from(units, ({ tokens }) => 0.5 * tokens);
  return simulate(
    schedule,
    {
      forwardMs: column(forward),
      backwardInputMs: column(splits ? backwardInput : backward),
      backwardWeightMs: splits ? column(backwardWeight) : new Float64Array(stages * units.length),
    },
    { forwardMs: sends, backwardMs: sends, mode: 'edge' },
  ).makespanMs;
}

/** Holds the cut found for one pair of orders to every cut. @returns false where the orders wait for each other. */
function holds(orders: readonly (readonly Pass[])[], { microBatches, slices, splits }: Shape, seed: number): boolean {
  let graph: PassGraph;
  try {
    graph = passGraph(
      scheduleOf(
        orders,
        microBatches,
        Array.from({ length: slices }, () => 1),
      ),
      slices,
      times,
      chunks,
      'all',
    );
  } catch {
    return false;
  }
  const found = shortestMakespan(
    {
      tokens: tokenUnits,
      unit: 1,
      mostSlices: slices,
      times,
      writeTimes: (length, context, out) => {
        for (let at = 0; at < 4 * stages; at++) out[at] = passMs(seed, at >> 2, at & 3, length, context);
        out[times - 1] = 0.5 * length;
      },
      buildGraph: (count) => (count === slices ? graph : null),
    },
    { mostSteps: Infinity },
  );
  const bestMs = Math.min(...cutsInto(slices).map((cut) => simulatedMs(scheduleOf(orders, microBatches, cut), seed, splits)));
  assert.ok(found?.exact === true);
  assert.ok(Math.abs(found.makespanMs - bestMs) <= 1e-9 * bestMs, `${JSON.stringify(orders)}: ${found.makespanMs}, and ${bestMs}`);
  return true;
}

const shapes: readonly Shape[] = [false, true].flatMap((splits) =>
  ([[1, 1], [1, 2], [1, 3], [2, 1], [3, 1]] as const).map(([microBatches, slices]) => ({ microBatches, slices, splits })),
); // prettier-ignore

describe('slices for the shortest makespan in any order', () => {
  it('are the best of all cuts, whichever order two stages have for up to three units', () => {
    let held = 0;
    for (const shape of shapes) {
      const orders = stageOrders(shape);
      // all pairs where there are no more, else as many with an even stride
      const pairs = orders.length ** 2;
      const stride = Math.max(1, Math.floor(pairs / cases(40, 20_000)));
      for (let pair = 0; pair < pairs; pair += stride)
        if (holds([orders[Math.floor(pair / orders.length)]!, orders[pair % orders.length]!], shape, pair)) held++;
    }
    assert.ok(held > cases(100, 10_000), String(held));
  });

  it('are the best of all cuts in orders of two micro-batches of up to three slices', () => {
    const known = new Map<number, readonly (readonly Pass[])[]>();
    const drawing = fc.record({
      slices: fc.integer({ min: 2, max: 3 }),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      same: fc.boolean(),
      seed: fc.nat(1e6),
    });
    fc.assert(
      fc.property(drawing, ({ slices, at, same, seed }) => {
        const shape = { microBatches: 2, slices, splits: false };
        const orders = known.get(slices) ?? stageOrders(shape);
        known.set(slices, orders);
        const first = orders[Math.floor(at * orders.length)]!;
        holds([first, same ? first : orders[seed % orders.length]!], shape, seed);
      }),
      { seed: 24, numRuns: cases(30, 1000) },
    );
  });
});
