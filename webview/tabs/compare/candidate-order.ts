import { candidatePeakBytes, type Candidate } from '../../../src/core/planner/plan';
import { isRecord } from '../../../src/core/records';
import { setting } from '../../base/view-state';

/** Columns that the candidates can be ordered by. Speed-up is the step's time turned over. */
const compareColumns = ['step', 'speedUp', 'bubble', 'memory'] as const;
export type CompareColumn = (typeof compareColumns)[number];

/** An order of the candidates. */
interface CompareOrder {
  readonly by: CompareColumn;
  readonly descending: boolean;
}

/** How candidates are ordered; null: as the planner has them. */
export const compareOrder = setting<CompareOrder | null>('compareOrder', (saved) => {
  const by = isRecord(saved) ? compareColumns.find((column) => column === saved['by']) : undefined;
  return by === undefined || !isRecord(saved) ? null : { by, descending: saved['descending'] === true };
});

/** The order after a press on a column's title: the best first, or turned over when the column decides already. */
export function pressed(order: CompareOrder | null, column: CompareColumn): CompareOrder {
  return { by: column, descending: order?.by === column ? !order.descending : column === 'speedUp' };
}

/** The candidates in an order, null being the planner's; those that are alike stay as the planner has them, whichever way round. */
export function ordered(candidates: readonly Candidate[], order: CompareOrder | null): readonly Candidate[] {
  if (order === null) return candidates;
  const { by, descending } = order;
  const sign = descending ? -1 : 1;
  return candidates.toSorted((a, b) => sign * (valueOf(a, by) - valueOf(b, by)));
}

function valueOf(candidate: Candidate, by: CompareColumn): number {
  switch (by) {
    case 'step':
      return candidate.iterationMs;
    case 'speedUp':
      return 1 / candidate.iterationMs;
    case 'bubble':
      return candidate.bubbleRate;
    case 'memory':
      return candidatePeakBytes(candidate);
  }
}
