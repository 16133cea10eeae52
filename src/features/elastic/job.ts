import * as v from 'valibot';
import type { ElasticAnswer } from './core/answer';
import type { ElasticRequest } from './core/request';
import { ours, some } from '../../protocol/thread-values';

/** Asks the planner's thread for the plan of a run that freezes layers. */
export const elasticJob = {
  asks: v.object({ request: ours<ElasticRequest>({ model: some, cluster: some, freezing: some, epochs: v.number() }) }),
  answers: ours<ElasticAnswer>({ plan: some, spans: v.array(some), steps: v.array(some) }),
};
