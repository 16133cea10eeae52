import type { CostTable, MeasuredCost } from '../domain/slice-cost';

/**
 * Slice times by bilinear interpolation in a table of measured ones. Outside the measured range nothing is promised that was not measured:
 * a slice shorter than the shortest measured one takes as long as that one (a GPU that is not full takes the same time for less), a context
 * below the first takes the first; beyond the last length or context the last cell's line continues, or level if it falls (then it is
 * noise). A single measured length scales in proportion upwards, a single context holds for all. So times of a table without negative
 * entries are never negative. The table is of batch 1; `batch` sequences at once take as long as one after another. Ask only for batch 1
 * where that is not wanted.
 */
export function tableCost({ tokens, contexts, forwardMs, backwardMs }: CostTable): MeasuredCost {
  const [only = 1] = tokens;
  const at = (rows: readonly (readonly number[])[], length: number, context: number): number => {
    const column = (row: number): number => along(contexts, context, (index) => rows[row]?.[index] ?? 0);
    return tokens.length === 1 ? column(0) * Math.max(1, length / only) : along(tokens, length, column);
  };
  return (batch, length, context) => ({
    forwardMs: batch * at(forwardMs, length, context),
    backwardMs: batch * at(backwardMs, length, context),
  });
}

/**
 * Linear interpolation of `value(index)` over ascending points: level below the first, the last cell's line beyond the last but never
 * falling there.
 */
function along(points: readonly number[], position: number, value: (index: number) => number): number {
  const last = points.length - 1;
  const first = points[0] ?? 0;
  if (last <= 0 || position <= first) return value(0);
  let cell = 1;
  while (cell < last && (points[cell] ?? 0) < position) cell++;
  const from = points[cell - 1] ?? 0;
  const to = points[cell] ?? 0;
  const start = value(cell - 1);
  const end = value(cell);
  const beyond = position > to;
  if (beyond && end < start) return end;
  return start + ((position - from) / (to - from)) * (end - start);
}

/**
 * Contexts between which `tableCost` is affine in the context, for every length: those of the table, and beyond the longest length those
 * where the last cell's line begins or ceases to fall.
 */
export function tableKinks({ tokens, contexts, forwardMs, backwardMs }: CostTable): readonly number[] {
  const kinks = new Set(contexts);
  const last = tokens.length - 1;
  if (last < 1) return [...kinks];
  for (const rows of [forwardMs, backwardMs]) {
    const at = (row: number, context: number): number => along(contexts, context, (index) => rows[row]?.[index] ?? 0);
    const rise = (context: number): number => at(last, context) - at(last - 1, context);
    // Both lines continue past the last context, so one step further shows where they meet.
    const end = contexts.at(-1) ?? 0;
    const points = [...contexts, end + 1];
    points.forEach((from, index) => {
      const to = points[index + 1];
      const [before, after] = [rise(from), rise(to ?? from)];
      if (before === after) return;
      const crossing = from + (before / (before - after)) * ((to ?? from) - from);
      if (crossing > from && (from === end || crossing < (to ?? from))) kinks.add(crossing);
    });
  }
  return [...kinks].sort((a, b) => a - b);
}
