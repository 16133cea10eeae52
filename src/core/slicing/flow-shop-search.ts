import { throwIfCancelled, type CancelSignal } from '../errors';
import { composeBatch } from './batch-program';
import { pathGrowth, type PathGrowth } from './flow-shop';
import type { FoundScheme } from './search';
import { emptyRow, type SliceRows } from './slice-rows';
import { cheapestCut, cheapestSuffixes, tokenScratch } from './token-program';

/** A plan begun: its chunks and slices so far, and the longest paths through them. */
interface Label {
  readonly state: Float64Array;
  readonly slices: number;
  readonly parent: Label | null;
  /** The slice that led here; a chunk of kind `kind` begins where `start` is 0. */
  readonly kind: number;
  readonly start: number;
  readonly end: number;
}

interface FlowShopProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly factors: readonly number[];
  /** Only plans faster than this are looked for, ms. */
  readonly capMs: number;
  /** Labels after which to give up. */
  readonly maximumLabels: number;
  /** Only plans of at most this many slices; left out: any number. */
  readonly maximumSlices?: number;
}

interface FlowShopResult {
  /** The fastest plan, in order; null: none is faster than the cap (where `complete`). */
  readonly chunks: FoundScheme['chunks'] | null;
  /** All plans were evaluated or ruled out. */
  readonly complete: boolean;
  /** Labels made. */
  readonly labels: number;
}

/**
 * The fastest plan on stages that differ by factors, chunks in any order: a label for every begun plan that no other at the same place
 * beats on all paths and that the cheapest suffix could still bring under the cap.
 * @throws CancelledError
 */
export function searchFlowShop(
  { kinds, sequences, factors, capMs, maximumLabels, maximumSlices = Infinity }: FlowShopProblem,
  signal: CancelSignal | undefined,
): FlowShopResult {
  const growth = pathGrowth(factors);
  const ways = waysOn(growth);
  const units = kinds[0]?.units ?? 0;
  const scratch = tokenScratch(units);
  const cuts = kinds.map((rows) => cheapestCut(rows, Infinity, scratch, signal));
  const sizes = kinds.map((rows) => rows.sequences);
  const { totals } = composeBatch(sequences, sizes, cuts);
  const suffixCosts = kinds.map((rows) => {
    cheapestSuffixes(rows, Infinity, scratch, signal);
    return scratch.totals.slice();
  });
  const row = emptyRow();
  const next = new Float64Array(growth.size);
  let made = 0;
  const done: Label[][] = Array.from({ length: sequences + 1 }, () => []);
  done[0] = [{ state: new Float64Array(growth.size), slices: 0, parent: null, kind: 0, start: 0, end: 0 }];
  for (let before = 0; before < sequences; before++)
    for (const [kind, rows] of kinds.entries()) {
      const after = before + rows.sequences;
      if (after > sequences) continue;
      const at: Label[][] = Array.from({ length: units + 1 }, () => []);
      at[0] = done[before] ?? [];
      const laterMs = totals[sequences - after] ?? Infinity;
      for (let start = 0; start < units; start++) {
        throwIfCancelled(signal);
        const labels = at[start] ?? [];
        if (labels.length === 0) continue;
        rows.read(start, Infinity, row);
        for (let index = 0; index < row.length; index++) {
          const ms = row.ms[row.offset + index] ?? Infinity;
          const end = start + 1 + index;
          const suffixMs = (suffixCosts[kind]?.[end] ?? Infinity) + laterMs;
          if (ms === Infinity || suffixMs === Infinity) continue;
          for (const parent of labels) {
            if (parent.slices >= maximumSlices) continue;
            if (++made > maximumLabels) return { chunks: null, complete: false, labels: made };
            growth.grow(parent.state, ms, next);
            const slicesLeft = Math.min(maximumSlices - parent.slices - 1, (sequences - after + 1) * units - end);
            if (leastMs(ways, next, suffixMs, slicesLeft) >= capMs) continue;
            const label = { state: next, slices: parent.slices + 1, parent, kind, start, end };
            keep(end === units ? (done[after] ?? []) : (at[end] ?? []), label, maximumSlices < Infinity);
          }
        }
      }
    }
  const last = growth.size - 1;
  const finished = (done[sequences] ?? []).toSorted((a, b) => (a.state[last] ?? 0) - (b.state[last] ?? 0) || a.slices - b.slices);
  return { chunks: finished[0] === undefined ? null : tracedChunks(finished[0], sizes), complete: true, labels: made };
}

/** A path through what is left: on the stage of entry `from` up to the slowest slice, over to another stage there, and on along that. */
interface WayOn {
  readonly from: number;
  /** Times the sum of what is left, and times its slowest slice. */
  readonly sum: number;
  readonly slowest: number;
}

function waysOn({ size, stay, enter }: PathGrowth): WayOn[] {
  return Array.from({ length: size }, (_, from) => from).flatMap((from) => {
    let crossing = stay[from] ?? 0;
    return Array.from({ length: size - from }, (_, further) => {
      if (further > 0) crossing += enter[from + further] ?? 0;
      const sum = Math.min(stay[from] ?? 0, stay[from + further] ?? 0);
      return { from, sum, slowest: crossing - sum };
    });
  });
}

/**
 * What a begun plan takes at least, ms, with `suffixMs` or more left in at most `slicesLeft` slices. The slowest of them takes no less than
 * their mean (docs/model/slicing.md, Flow-shop bounds).
 */
function leastMs(ways: readonly WayOn[], state: Float64Array, suffixMs: number, slicesLeft: number): number {
  if (suffixMs > 0 && slicesLeft <= 0) return Infinity;
  const slowestMs = suffixMs > 0 ? suffixMs / slicesLeft : 0;
  let least = 0;
  for (const { from, sum, slowest } of ways) least = Math.max(least, (state[from] ?? 0) + sum * suffixMs + slowest * slowestMs);
  return least;
}

/**
 * Adds a label unless another is nowhere longer; drops those that it makes needless. Where slices are `counted`, one with fewer of them may
 * go on where the other may not. The label's state is copied.
 */
function keep(labels: Label[], label: Label, counted: boolean): void {
  for (let index = labels.length - 1; index >= 0; index--) {
    const other = labels[index];
    if (other === undefined) continue;
    const [beaten, beats] = [nowhereLonger(other.state, label.state), nowhereLonger(label.state, other.state)];
    if (beaten && (other.slices <= label.slices || (!counted && !beats))) return;
    if (beats && (!counted || label.slices <= other.slices)) labels.splice(index, 1);
  }
  labels.push({ ...label, state: label.state.slice() });
}

function nowhereLonger(state: Float64Array, than: Float64Array): boolean {
  for (let index = 0; index < state.length; index++) if ((state[index] ?? 0) > (than[index] ?? 0)) return false;
  return true;
}

function tracedChunks(finished: Label, sizes: readonly number[]): FoundScheme['chunks'] {
  const chunks: { sequences: number; ends: number[] }[] = [];
  let ends: number[] = [];
  for (let label = finished; label.parent !== null; label = label.parent) {
    ends.push(label.end);
    if (label.start > 0) continue;
    chunks.push({ sequences: sizes[label.kind] ?? 1, ends: ends.reverse() });
    ends = [];
  }
  return chunks.reverse().map((chunk) => ({ sequences: chunk.sequences, ends: Uint32Array.from(chunk.ends) }));
}
