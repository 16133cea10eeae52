import { candidatePeakBytes, type Candidate, type CandidateId, type Plan } from '../../../src/core/planner/plan';
import { isRecord } from '../../../src/core/records';
import { neededFor } from '../../../src/core/schedules/runtimes';
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

/** Whether ways are listed that need another runtime, and more than a few. */
export const compareAll = setting('compareAll', (saved) => saved === true);

/** Ways that are listed before all are asked for: the chosen one, the one shown, and the first that the runtime runs. */
const listedWays = 6;

/** Which candidates, in their order, are listed; with a comparison above them none is, until all are asked for. */
export function listed(
  inOrder: readonly Candidate[],
  { request, chosen }: Plan,
  shown: CandidateId,
  isCompared: boolean,
): ReadonlySet<CandidateId> {
  if (isCompared) return new Set();
  const runs = inOrder.filter(({ schedule }) => neededFor(schedule, request) === null).slice(0, listedWays);
  return new Set([chosen, shown, ...runs.map(({ id }) => id)]);
}

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
