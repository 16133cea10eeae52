import { operationKind, type OperationKind } from '../../../src/core/schedules/schedule';
import { operationPart } from '../../../src/core/schedules/parts';
import { at, stageRows, type Operations } from '../../base/operations';
import { own } from '../../../src/core/records';

/** What to look for; a field left out matches everything. */
interface Query {
  readonly stage?: number;
  readonly chunk?: number;
  readonly microBatch?: number;
  readonly slice?: number;
  readonly kind?: OperationKind;
}

const fieldNames: Readonly<Record<string, 'stage' | 'chunk' | 'microBatch' | 'slice'>> = {
  r: 'stage',
  rank: 'stage',
  s: 'stage',
  st: 'stage',
  stage: 'stage',
  c: 'chunk',
  chunk: 'chunk',
  m: 'microBatch',
  mb: 'microBatch',
  batch: 'microBatch',
  sl: 'slice',
  slice: 'slice',
};

/** A stage of a schedule file is a chunk here. */
const fieldNamesOfFile = { ...fieldNames, s: 'chunk', st: 'chunk', stage: 'chunk' } as const;

/**
 * Reads `stage 3 micro-batch 0 slice 4 backward`, short `st3 mb0 sl4 b`, or just `3 0 4` in that order; `chunk 5`, and `input` or `weight`
 * (`i`, `w`) for the parts of a split backward.
 * Of a schedule file (`ofFile`) `rank 1 stage 3 micro-batch 0`, or only the rank, micro-batch and stage. Null when nothing in it is
 * understood.
 */
export function parseQuery(text: string, ofFile = false): Query | null {
  const names: Readonly<Record<string, 'stage' | 'chunk' | 'microBatch' | 'slice'>> = ofFile ? fieldNamesOfFile : fieldNames;
  const tokens =
    text
      .toLowerCase()
      .replace(/micro[\s-]*batch/g, 'mb')
      .match(/[a-z]+|\d+/g) ?? [];
  const found: { stage?: number; chunk?: number; microBatch?: number; slice?: number; kind?: OperationKind } = {};
  const order = ['stage', 'microBatch', ofFile ? 'chunk' : 'slice'] as const;
  let pending: keyof typeof found | null = null;
  for (const token of tokens) {
    if (/^\d+$/.test(token)) {
      const field = pending ?? order.find((name) => found[name] === undefined);
      if (field === undefined || found[field] !== undefined) return null;
      found[field] = Number(token);
      pending = null;
    } else if (/^(?:f|fwd|forward)$/.test(token)) found.kind = operationKind.forward;
    else if (/^(?:b|bwd|backward)$/.test(token)) found.kind ??= operationKind.backward;
    else if (/^(?:i|input)$/.test(token)) found.kind = operationKind.backwardInput;
    else if (/^(?:w|weight|weights)$/.test(token)) found.kind = operationKind.backwardWeight;
    else if (token === 'gradient') continue;
    else {
      const field = own(names, token);
      if (field === undefined) return null;
      pending = field;
    }
  }
  return pending === null && Object.keys(found).length > 0 ? found : null;
}

/** Every row that matches, stage by stage; ascending. */
export function findRows(operations: Operations, query: Query): Uint32Array {
  const { timeline, count, stages } = operations;
  const { stage } = query;
  const { first, end } = stage === undefined ? { first: 0, end: count } : stage < stages ? stageRows(operations, stage) : nothing;
  const rows: number[] = [];
  for (let row = first; row < end; row++) {
    const unit = timeline.units[at(timeline.unit, row)];
    if (
      unit !== undefined &&
      (query.microBatch === undefined || unit.microBatch === query.microBatch) &&
      (query.slice === undefined || unit.slice === query.slice) &&
      (query.chunk === undefined || at(timeline.chunk, row) === query.chunk) &&
      (query.kind === undefined || matchesKind(at(timeline.kind, row), query.kind))
    )
      rows.push(row);
  }
  return Uint32Array.from(rows);
}

const nothing = { first: 0, end: 0 };

/** Index of the next match behind row `after` (1), or the one before it (-1), wrapping round; -1 where nothing matches. */
export function nextMatch(rows: Uint32Array, after: number, direction: 1 | -1): number {
  if (rows.length === 0) return -1;
  const behind = rows.findIndex((row) => (direction === 1 ? row > after : row >= after));
  if (direction === 1) return behind < 0 ? 0 : behind;
  return behind <= 0 ? rows.length - 1 : behind - 1;
}

/** Backward finds whole ones and those of the input; the parts of a split backward find themselves. */
function matchesKind(kind: number, wanted: OperationKind): boolean {
  return wanted === operationKind.backward ? operationPart(kind) === operationPart(wanted) : kind === wanted;
}
