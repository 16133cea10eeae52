import { sizesText } from '../../../core/domain/sizes-text';
import type { ElasticEpoch } from './plan';

/** `TP1 PP8 DP2`: the layout of an epoch. Runs that freeze layers have no tensor, context or expert parallelism. */
export function epochLayout({ pipelineLength, replicas }: Pick<ElasticEpoch, 'pipelineLength' | 'replicas'>): string {
  return sizesText({ tensor: 1, pipeline: pipelineLength, data: replicas, context: 1, expert: 1 });
}
