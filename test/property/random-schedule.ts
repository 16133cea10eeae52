import fc from 'fast-check';
import { operationKind, schemeUnits, type OperationKind, type Schedule, type WorkUnit } from '../../src/core/schedules/schedule';
import type { Durations, LinkTimes, Transfers } from '../../src/core/schedules/simulate/transfers';
import type { Scheme } from '../../src/core/domain/scheme';

/** A schedule that can run, with times for it. */
export interface RandomCase {
  readonly schedule: Schedule;
  readonly durations: Durations;
  readonly transfers: Transfers & { readonly link: LinkTimes };
}

interface Row {
  readonly kind: OperationKind;
  readonly chunk: number;
  readonly unit: number;
  readonly overlapsNext: boolean;
}

const schemes: fc.Arbitrary<Scheme> = fc.array(
  fc.record({ batch: fc.constant(1), tokens: fc.array(fc.constant(8), { minLength: 1, maxLength: 3 }) }),
  { minLength: 1, maxLength: 4 },
);
const ms = fc.array(fc.integer({ min: 0, max: 12 }), { minLength: 1, maxLength: 13 });

/**
 * Any order that can run, of chunks that lie anywhere, slices, whole and split backward, and overlapped pairs: made by running what can
 * run, drawn at random.
 */
export const anyCase: fc.Arbitrary<RandomCase> = fc
  .record({
    scheme: schemes,
    stageOfChunk: fc
      .integer({ min: 1, max: 4 })
      .chain((stages) =>
        fc.array(fc.integer({ min: 0, max: stages - 1 }), { maxLength: 5 }).map((more) => [...Array(stages).keys(), ...more]),
      ),
    places: fc.infiniteStream(fc.nat(1000)),
    forwardMs: ms,
    inputMs: ms,
    weightMs: ms,
    latencyMs: ms,
    linkMs: ms,
    mode: fc.constantFrom('edge' as const, 'sending' as const),
  })
  .map(({ scheme, stageOfChunk, places, forwardMs, inputMs, weightMs, latencyMs, linkMs, mode }) => {
    const draw = (below: number): number => (places.next().value as number) % below;
    const units = schemeUnits(scheme);
    const placed = shuffled(stageOfChunk, draw);
    const schedule = randomSchedule(placed, units, draw);
    const cells = placed.length * units.length;
    return {
      schedule,
      durations: {
        forwardMs: filled(cells, forwardMs),
        backwardInputMs: filled(cells, inputMs),
        backwardWeightMs: filled(cells, weightMs),
      },
      transfers: {
        forwardMs: filled(units.length, latencyMs),
        backwardMs: filled(units.length, [...latencyMs, 1]),
        link: { forwardMs: filled(units.length, linkMs), backwardMs: filled(units.length, [...linkMs, 2]) },
        mode,
      },
    };
  });

/** Columns filled by cycling through a few values. */
export function filled(length: number, values: readonly number[]): Float64Array {
  return Float64Array.from({ length }, (_, index) => values[index % values.length]!);
}

function shuffled(values: readonly number[], draw: (below: number) => number): Uint32Array {
  const order = Uint32Array.from(values);
  for (let last = order.length - 1; last > 0; last--) {
    const other = draw(last + 1);
    [order[last], order[other]] = [order[other]!, order[last]!];
  }
  return order;
}

function randomSchedule(stageOfChunk: Uint32Array, units: readonly WorkUnit[], draw: (below: number) => number): Schedule {
  const stages = Math.max(...stageOfChunk) + 1;
  const rows: Row[][] = Array.from({ length: stages }, () => []);
  const done = new Set<string>();
  const isSplit = new Map<string, boolean>();
  const left = new Set<string>();
  for (const chunk of stageOfChunk.keys())
    units.forEach((_, unit) => {
      const split = draw(2) === 0;
      isSplit.set(`${chunk},${unit}`, split);
      for (const kind of split ? [0, 2, 3] : [0, 1]) left.add(`${kind},${chunk},${unit}`);
    });
  const canRun = (name: string): boolean => needsOf(name, stageOfChunk.length, units).every((needed) => done.has(needed));
  while (left.size > 0) {
    const ready = [...left].filter(canRun);
    const name = ready[draw(ready.length)]!;
    const stage = stageOfChunk[parsed(name).chunk]!;
    const partner =
      parsed(name).kind === operationKind.forward && draw(3) === 0
        ? ready.find((other) => parsed(other).kind !== operationKind.forward && stageOfChunk[parsed(other).chunk] === stage)
        : undefined;
    for (const each of partner === undefined ? [name] : [name, partner]) {
      rows[stage]!.push({ ...parsed(each), overlapsNext: partner !== undefined && each === name });
      left.delete(each);
      done.add(each).add(each.replace(/^[12]/, 'b'));
    }
  }
  const flat = rows.flat();
  return {
    name: 'random',
    stages,
    stageOfChunk,
    units,
    rowStart: Uint32Array.from([0, ...rows.map((_, stage) => rows.slice(0, stage + 1).flat().length)]),
    kind: Uint8Array.from(flat, ({ kind }) => kind),
    chunk: Uint32Array.from(flat, ({ chunk }) => chunk),
    unit: Uint32Array.from(flat, ({ unit }) => unit),
    overlapsNext: flat.some(({ overlapsNext }) => overlapsNext)
      ? Uint8Array.from(flat, ({ overlapsNext }) => (overlapsNext ? 1 : 0))
      : null,
  };
}

function parsed(name: string): Row {
  const [kind, chunk, unit] = name.split(',').map(Number) as [OperationKind, number, number];
  return { kind, chunk, unit, overlapsNext: false };
}

/** Names `kind,chunk,unit` of what an operation needs by the rules in words; kind `b` stands for a whole or an input backward. */
export function needsOf(name: string, chunks: number, units: readonly WorkUnit[]): string[] {
  const { kind, chunk, unit } = parsed(name);
  const sameMicroBatch = (other: number): boolean => units[other]?.microBatch === units[unit]!.microBatch;
  if (kind === operationKind.backwardWeight) return [`b,${chunk},${unit}`];
  if (kind === operationKind.forward)
    return [...(chunk > 0 ? [`0,${chunk - 1},${unit}`] : []), ...(sameMicroBatch(unit - 1) ? [`0,${chunk},${unit - 1}`] : [])];
  return [
    `0,${chunk},${unit}`,
    ...(chunk + 1 < chunks ? [`b,${chunk + 1},${unit}`] : []),
    ...(sameMicroBatch(unit + 1) ? [`b,${chunk},${unit + 1}`] : []),
  ];
}

/** Times of every row by definition: the latest of what it waits for, looked up recursively. */
export function timesByDefinition({ schedule, durations, transfers }: RandomCase): {
  startMs: number[];
  endMs: number[];
  arrivalMs: number[];
} {
  const { stageOfChunk, units, rowStart, kind, chunk, unit, overlapsNext } = schedule;
  const rowOf = new Map<string, number>();
  kind.forEach((what, row) => {
    const place = `${chunk[row]!},${unit[row]!}`;
    rowOf.set(`${what},${place}`, row);
    if (what === operationKind.backward || what === operationKind.backwardInput) rowOf.set(`b,${place}`, row);
  });
  const known = new Map<string, number>();
  const once = (name: string, row: number, make: () => number): number => {
    const key = `${name}${row}`;
    const value = known.get(key) ?? make();
    known.set(key, value);
    return value;
  };
  const stageOf = (row: number): number => stageOfChunk[chunk[row]!]!;
  const isFirst = (row: number): boolean => row === rowStart[stageOf(row)];
  const isPaired = (row: number): boolean => overlapsNext?.[row] === 1;
  const direction = (row: number): 'forwardMs' | 'backwardMs' => (kind[row] === operationKind.forward ? 'forwardMs' : 'backwardMs');
  const goesTo = (row: number): number | undefined => {
    if (kind[row] === operationKind.backwardWeight) return undefined;
    const target = stageOfChunk[chunk[row]! + (kind[row] === operationKind.forward ? 1 : -1)];
    return target === stageOf(row) ? undefined : target;
  };
  const ready = (row: number): number =>
    Math.max(
      0,
      ...needsOf(`${kind[row]!},${chunk[row]!},${unit[row]!}`, stageOfChunk.length, units).map((name) => {
        const needed = rowOf.get(name)!;
        return chunk[needed] === chunk[row] ? finished(needed) : arrival(needed);
      }),
    );
  const start = (row: number): number =>
    once('start', row, () => {
      if (!isFirst(row) && isPaired(row - 1)) return computeEnd(row - 1);
      return Math.max(isFirst(row) ? 0 : end(row - 1), ready(row), isPaired(row) ? ready(row + 1) : 0);
    });
  const computeEnd = (row: number): number => {
    const cell = chunk[row]! * units.length + unit[row]!;
    const { forwardMs, backwardInputMs, backwardWeightMs } = durations;
    const busyMs = [forwardMs[cell]!, backwardInputMs[cell]! + backwardWeightMs[cell]!, backwardInputMs[cell]!, backwardWeightMs[cell]!];
    return start(row) + busyMs[kind[row]!]!;
  };
  const finished = (row: number): number => (isPaired(row) ? computeEnd(row + 1) : computeEnd(row));
  /** When the sender is done with it. */
  const end = (row: number): number => {
    if (transfers.mode === 'edge' || isPaired(row)) return computeEnd(row);
    const sends = !isFirst(row) && isPaired(row - 1) ? [row - 1, row] : [row];
    return Math.max(computeEnd(row), ...sends.map(sent));
  };
  const sent = (row: number): number =>
    once('sent', row, () => {
      const to = goesTo(row);
      if (to === undefined) return finished(row);
      let before = row - 1;
      while (before >= rowStart[stageOf(row)]! && goesTo(before) !== to) before--;
      const linkFree = before >= rowStart[stageOf(row)]! ? sent(before) : 0;
      return Math.max(finished(row), linkFree) + transfers.link[direction(row)][unit[row]!]!;
    });
  const arrival = (row: number): number => sent(row) + (goesTo(row) === undefined ? 0 : transfers[direction(row)][unit[row]!]!);
  const rows = Array.from(kind.keys());
  return { startMs: rows.map(start), endMs: rows.map(end), arrivalMs: rows.map(arrival) };
}
