import { limitsOn } from '../memory-model/reserved';
import type { PlanRequest } from '../domain/request';
import type { CandidateGroup } from './candidate-group';

/** What the limit of a layout depends on. */
export type LimitedGroup = Pick<CandidateGroup, 'layout' | 'training'>;

/** The highest peak that fits a GPU of a request under a layout, bytes: the limit of its plan (`limitsOn`). */
export function usableBytesOf({ cluster }: Pick<PlanRequest, 'cluster'>, group: LimitedGroup): number {
  return limitsOn(group, cluster.gpu.memoryBytes).usableBytes;
}
