import type { CancelSignal } from '../errors';
import { maximum } from '../numbers';
import { flowShopBounds, flowShopMs, flowShopObjective } from './flow-shop';
import { searchFlowShop } from './flow-shop-search';
import { bestRound, composeRounds, type Round } from './rounds';
import { roundingSlack, type FoundScheme } from './search';
import { chunkSliceTimes, type SliceRows } from './slice-rows';

interface FlowShopRoundsProblem {
  readonly kinds: readonly SliceRows[];
  readonly sequences: number;
  readonly factors: readonly number[];
  /** Most slices in a round. */
  readonly maximumSlices: number;
  /** Thresholds solved at most for one objective of one round. */
  readonly maximumEvaluations: number;
  /** Labels of begun plans at most, over all rounds. */
  readonly maximumLabels: number;
}

/**
 * Rounds of few slices on stages that differ: the best round of every number of sequences, by the bounds on a flow shop and, where those do
 * not meet, by labels that count their slices; and of these the cheapest composition of the batch (docs/model/slicing.md, Slices in
 * flight).
 * @throws CancelledError
 */
export function solveFlowShopRounds(problem: FlowShopRoundsProblem, signal: CancelSignal | undefined) {
  const rounds: Round[] = [];
  let labels = problem.maximumLabels;
  for (let size = 1; size <= problem.sequences; size++) {
    // What rounds of fewer sequences do together a round of all of them must beat.
    const { objectiveMs: apartMs } = composeRounds([...rounds, { plan: null, boundMs: Infinity, evaluations: 0 }]);
    const { round, labels: made } = flowShopRound(problem, size, apartMs, labels, signal);
    labels = Math.max(0, labels - made);
    rounds.push(round);
  }
  return composeRounds(rounds);
}

/** The best round of `size` sequences; one that takes `apartMs` or more need not be known exactly. */
function flowShopRound(
  { kinds, factors, maximumSlices, maximumEvaluations }: FlowShopRoundsProblem,
  size: number,
  apartMs: number,
  maximumLabels: number,
  signal: CancelSignal | undefined,
): { readonly round: Round; readonly labels: number } {
  const usable = kinds.filter((rows) => rows.sequences <= size);
  const found = [flowShopObjective(factors), ...flowShopBounds(factors)].map(({ sum, slowest }) => {
    const round = bestRound({ kinds, weight: slowest / sum, maximumSlices, maximumEvaluations }, size, signal);
    return { ...round, boundMs: sum * round.boundMs };
  });
  let plan: Round['plan'] = null;
  const offer = (chunks: FoundScheme['chunks']): void => {
    const objectiveMs = flowShopMs(chunkSliceTimes(kinds, chunks), factors);
    if (objectiveMs < (plan?.objectiveMs ?? Infinity)) plan = { chunks, objectiveMs };
  };
  for (const { plan: each } of found)
    if (each !== null) {
      offer(each.chunks);
      offer(each.chunks.toReversed());
    }
  const evaluations = found.reduce((sum, each) => sum + each.evaluations, 0);
  const known = readPlan(plan);
  if (known === null) return { round: { plan: null, boundMs: Infinity, evaluations }, labels: 0 };
  // Equation 5 is an upper bound here: only what follows it bounds the round from below.
  const boundMs = maximum(found.slice(1).map((each) => each.boundMs));
  const capMs = Math.min(known.objectiveMs, apartMs) * (1 - roundingSlack);
  if (boundMs >= capMs) return { round: { plan: known, boundMs: Math.min(boundMs, known.objectiveMs), evaluations }, labels: 0 };
  const better = searchFlowShop({ kinds: usable, sequences: size, factors, capMs, maximumLabels, maximumSlices }, signal);
  if (better.chunks !== null) offer(better.chunks);
  const last = readPlan(plan) ?? known;
  return {
    round: {
      plan: last,
      boundMs: better.complete ? Math.min(last.objectiveMs, apartMs) : Math.min(boundMs, last.objectiveMs),
      evaluations,
    },
    labels: better.labels,
  };
}

/** The checker does not see assignments inside closures. */
function readPlan(plan: Round['plan']): Round['plan'] {
  return plan;
}
