import { operationKind, type OperationKind, type Schedule } from './schedule';

/** What the kinds of operations have in common, and what is one colour: forward, backward (whole or of the input), weight backward. */
export const part = { forward: 0, backward: 1, weight: 2 } as const;
export type Part = (typeof part)[keyof typeof part];

const partOfKind = [part.forward, part.backward, part.backward, part.weight] as const;

/** Part of a kind of operation, as in the `kind` column. */
export function operationPart(kind: number | undefined): Part {
  return partOfKind[kind ?? 0] ?? part.forward;
}

/**
 * Where each operation is: entry `3 * (chunk * units.length + unit) + part` is its row, -1 where there is none. Built once for many
 * questions.
 */
export type Parts = Int32Array;

/** Looks at every row once. */
export function indexParts({ stageOfChunk, units, kind, chunk, unit }: Schedule): Parts {
  const parts = new Int32Array(3 * stageOfChunk.length * units.length).fill(-1);
  for (let row = 0; row < kind.length; row++)
    parts[3 * ((chunk[row] ?? 0) * units.length + (unit[row] ?? 0)) + operationPart(kind[row])] = row;
  return parts;
}

/** Row of an operation, or -1; whole and input backward stand for each other. */
export function findRow({ stageOfChunk, units }: Schedule, parts: Parts, kind: OperationKind, chunk: number, unit: number): number {
  if (chunk < 0 || chunk >= stageOfChunk.length || unit < 0 || unit >= units.length) return -1;
  return parts[3 * (chunk * units.length + unit) + operationPart(kind)] ?? -1;
}

/**
 * Row whose result another chunk hands to a row: the same unit's forward on the chunk before, or its backward on the next; -1 where nobody
 * does.
 */
export function findSourceRow(schedule: Schedule, parts: Parts, row: number): number {
  const { kind, chunk, unit } = schedule;
  const c = chunk[row] ?? 0;
  const u = unit[row] ?? 0;
  const what = kind[row];
  if (what === operationKind.backwardWeight) return -1;
  return what === operationKind.forward
    ? findRow(schedule, parts, operationKind.forward, c - 1, u)
    : findRow(schedule, parts, operationKind.backward, c + 1, u);
}

/** Last row of the pair that a row begins, else the row itself: when that ends, so does what the row does. */
export function lastOfPair({ overlapsNext }: Schedule, row: number): number {
  return overlapsNext?.[row] === 1 ? row + 1 : row;
}
