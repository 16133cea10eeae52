import { ordersDiffer } from '../../cluster/boundaries';
import type { CancelSignal } from '../../errors';
import { formatDuration } from '../../format';
import { kindFor, mostTriedOperations, operationCount, unlessUnmet } from '../../partition/scheduling';
import { sentence, type Sentence } from '../../sentence';
import type { RankOrder } from '../../domain/rank-order';
import type { PlanRequest } from '../../domain/request';
import { rankOrderOf } from '../../domain/runtime';
import { pipelineOf } from '../predict/pipeline';
import type { Candidate } from '../plan';
import { stepMs } from '../predict/predict';
import { worthSaying } from './slower';

/** One line: which groups lie inside a node, and what the step would take in the other order of ranks; none where that is the same. */
export function orderReason(request: PlanRequest, chosen: Candidate, signal: CancelSignal | undefined): Sentence[] {
  const { layout, cluster } = request;
  const kind = kindFor(chosen.schedule, layout);
  if (cluster.groups !== undefined || request.costTable !== null || kind.planned || !ordersDiffer(layout, cluster)) return [];
  if (operationCount(kind, layout, chosen.scheme) > mostTriedOperations) return [];
  const order = rankOrderOf(request);
  const other = otherOrder(order);
  const inOther = { ...request, layout: { ...layout, order: other } };
  const otherMs = unlessUnmet(() => stepMs(pipelineOf(inOther), chosen, signal));
  if (otherMs === null || Math.abs(otherMs - chosen.iterationMs) < worthSaying * chosen.iterationMs) return [];
  const time = formatDuration(otherMs);
  return [
    order === 'tp-cp-ep-dp-pp'
      ? sentence`rank order ${order} keeps replicas inside a node; with pipeline stages there (${other}) a step takes ${time}`
      : sentence`rank order ${order} keeps pipeline stages inside a node; with replicas there (${other}) a step takes ${time}`,
  ];
}

function otherOrder(order: RankOrder): RankOrder {
  return order === 'tp-cp-ep-dp-pp' ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp';
}
