import { clusterText } from '../cluster/groups';
import type { LocatedPartial } from '../run/given';
import { ExpectedError, type CancelSignal } from '../errors';
import { formatNumber } from '../format';
import type { Located } from '../domain/located';
import { fittingLayout } from './mixed-layout';
import { placeStages } from './place-stages';
import type { Layout, PlanRequest } from '../domain/request';
import { joinClauses, sentence, type Sentence } from '../sentence';

/**
 * One line that compares the step of each group of nodes by itself, with parallel sizes chosen again, with the step of all groups. Both are
 * estimates of stage placement (1F1B). None on a cluster of one kind of node.
 */
export function groupComparison(request: PlanRequest, signal?: CancelSignal): Sentence[] {
  const { model, training, layout, cluster, constants, schedule } = request;
  const { groups } = cluster;
  if (groups === undefined) return [];
  const together = placeStages({ inputs: { model, training, layout, cluster, constants }, schedule, signal }).stepMs;
  const comparisons = groups.map((group) => {
    const single = { ...group, groups: [group] };
    const { context, expert, expertTensor } = layout;
    const given = kept({ context, expert, ...(expertTensor === undefined ? {} : { expertTensor }) });
    const trainingOn = ({ tensor }: Layout) => ({ ...training, sequenceParallel: tensor > 1 });
    try {
      const found = fittingLayout({ given, model, cluster: single, constants, schedule, trainingOn, signal });
      const times = found === null ? null : (found.stepMs * training.globalBatch) / together;
      return times === null
        ? sentence`${clusterText(group)} only: does not fit`
        : sentence`${clusterText(group)} only: ${formatNumber(times)}x the time`;
    } catch (error) {
      if (error instanceof ExpectedError) return sentence`${clusterText(group)} only: cannot run it`;
      throw error;
    }
  });
  return [sentence`${joinClauses(comparisons)}`];
}

/** Sizes that a layout keeps on other nodes. */
function kept(sizes: Pick<Layout, 'context' | 'expert' | 'expertTensor'>): LocatedPartial<Layout> {
  const located = Object.entries(sizes).map(([key, value]): [string, Located<number>] => [
    key,
    { value, source: { kind: 'default', reason: sentence`as on all nodes` } },
  ]);
  return Object.fromEntries(located);
}
