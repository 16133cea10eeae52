import { operationPart, type Part } from '../../../src/core/schedules/parts';
import { isRecord } from '../../../src/core/records';
import type { Timeline } from '../../../src/core/schedules/schedule';
import { setting } from '../../base/view-state';
import { at, indexOperations, type Operations } from '../../base/operations';
import type { TailPart } from '../../../src/core/planner/explain/tail';

/** What the shades of a colour distinguish. `auto`: the chunks of a stage where it has several, else micro-batches. */
const shadings = ['auto', 'micro-batch', 'slice', 'chunk'] as const;
export type Shading = (typeof shadings)[number];

/** What the legend switches off. */
const legendKinds = ['forward', 'backward', 'weight', 'gradientExchange', 'optimizer', 'copies'] as const;
export type LegendKind = (typeof legendKinds)[number];

/** How the person looks at the passes of a timeline. */
export interface TimelineLook {
  readonly hiddenKinds: readonly LegendKind[];
  /** Chunks of every stage, counted on it from 0. */
  readonly hiddenChunks: readonly number[];
  readonly shading: Shading;
}

const initialLook: TimelineLook = { hiddenKinds: [], hiddenChunks: [], shading: 'auto' };

/** Reads a look that was saved: what does not fit falls back. */
function readLook(value: unknown): TimelineLook {
  if (!isRecord(value)) return initialLook;
  const { hiddenKinds, hiddenChunks, shading } = value;
  return {
    hiddenKinds: legendKinds.filter((kind) => Array.isArray(hiddenKinds) && hiddenKinds.includes(kind)),
    hiddenChunks: Array.isArray(hiddenChunks) ? hiddenChunks.filter((chunk): chunk is number => Number.isSafeInteger(chunk)) : [],
    shading: shadings.find((known) => known === shading) ?? initialLook.shading,
  };
}

export const timelineLook = setting('timelineLook', readLook);

/** What shades distinguish in a timeline, once `auto` is decided. */
export function resolveShading({ sliced, chunked }: Operations, { shading }: TimelineLook): Exclude<Shading, 'auto'> {
  if (shading === 'auto' || (shading === 'slice' && !sliced) || (shading === 'chunk' && !chunked)) return chunked ? 'chunk' : 'micro-batch';
  return shading;
}

/** Where each chunk is on its stage, from 0. */
export function chunksOnStages({ stageOfChunk, stages }: Timeline): Int32Array {
  const met = new Int32Array(stages);
  return Int32Array.from(stageOfChunk, (stage) => {
    const place = met[stage] ?? 0;
    met[stage] = place + 1;
    return place;
  });
}

/** The end of the step that the look hides. */
export function hiddenTail({ hiddenKinds }: TimelineLook): ReadonlySet<TailPart['kind']> {
  const exchange = hiddenKinds.includes('gradientExchange');
  return new Set([
    ...(exchange ? (['gradientExchange', 'hiddenExchange'] as const) : []),
    ...hiddenKinds.filter((kind) => kind === 'optimizer'),
  ]);
}

const painted = new WeakMap<Operations, { readonly key: string; readonly operations: Operations }>();

/** The operations to paint: those that the look shows, each with its shade. Built once for each look. O(operations) */
export function lookedAt(operations: Operations, look: TimelineLook): Operations {
  const shading = resolveShading(operations, look);
  const key = JSON.stringify([look.hiddenKinds, look.hiddenChunks, shading]);
  const known = painted.get(operations);
  if (known?.key === key) return known.operations;
  const isPlain = look.hiddenKinds.length === 0 && look.hiddenChunks.length === 0;
  const shown = isPlain ? operations : without(operations, look);
  const made = shading === 'micro-batch' ? shown : { ...shown, shades: rowShades(shown.timeline, shading) };
  painted.set(operations, { key, operations: made });
  return made;
}

const kindOfPart: Readonly<Record<Part, LegendKind>> = { 0: 'forward', 1: 'backward', 2: 'weight' };

function without({ timeline, ofFile }: Operations, { hiddenKinds, hiddenChunks }: TimelineLook): Operations {
  const places = chunksOnStages(timeline);
  const isHidden = (chunk: number): boolean => hiddenChunks.includes(at(places, chunk));
  const passes = withoutCopies(timeline, (chunk) => hiddenKinds.includes('copies') || isHidden(chunk));
  const { stages, rowStart, kind, chunk, unit, startMs, endMs } = passes;
  const rows: number[] = [];
  const starts = new Uint32Array(stages + 1);
  for (let stage = 0; stage < stages; stage++) {
    for (let row = at(rowStart, stage); row < at(rowStart, stage + 1); row++)
      if (!hiddenKinds.includes(kindOfPart[operationPart(kind[row])]) && !isHidden(at(chunk, row))) rows.push(row);
    starts[stage + 1] = rows.length;
  }
  return indexOperations(
    {
      ...passes,
      rowStart: starts,
      kind: Uint8Array.from(rows, (row) => at(kind, row)),
      chunk: Uint32Array.from(rows, (row) => at(chunk, row)),
      unit: Uint32Array.from(rows, (row) => at(unit, row)),
      startMs: Float64Array.from(rows, (row) => at(startMs, row)),
      endMs: Float64Array.from(rows, (row) => at(endMs, row)),
      arrivalMs: null,
      overlapsNext: null,
    },
    ofFile,
  );
}

function withoutCopies(timeline: Timeline, isHidden: (chunk: number) => boolean): Timeline {
  const { copies, copyTimes, ...passes } = timeline;
  if (copies === undefined || copyTimes === undefined) return timeline;
  const shown = [...copies.chunk.keys()].filter((copy) => !isHidden(at(copies.chunk, copy)));
  const pick = (column: ArrayLike<number>): Uint32Array => Uint32Array.from(shown, (copy) => at(column, copy));
  const times = (column: Float64Array): Float64Array => Float64Array.from(shown, (copy) => at(column, copy));
  return {
    ...passes,
    copies: {
      start: Uint32Array.from(copies.start, (first) => shown.filter((copy) => copy < first).length),
      after: pick(copies.after),
      before: pick(copies.before),
      chunk: pick(copies.chunk),
      unit: pick(copies.unit),
      back: Uint8Array.from(shown, (copy) => at(copies.back, copy)),
      to: copies.to,
    },
    copyTimes: { startMs: times(copyTimes.startMs), endMs: times(copyTimes.endMs) },
  };
}

function rowShades(timeline: Timeline, shading: 'slice' | 'chunk'): Uint8Array {
  const { kind, chunk, unit, units } = timeline;
  const places = chunksOnStages(timeline);
  return Uint8Array.from(kind, (_, row) => (shading === 'chunk' ? at(places, at(chunk, row)) : (units[at(unit, row)]?.slice ?? 0)) % 4);
}
