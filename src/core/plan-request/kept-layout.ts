import type { ClusterSpec } from '../domain/cluster';
import type { Layout } from '../domain/request';
import { firstLayout, judgedLayout, layoutsFor, type FoundLayout, type LayoutGiven, type PlannedModel } from './first-layout';

/** Sizes that the layout of a scenario decides; replicas take the GPUs that they leave. */
const decidedSizes = ['tensor', 'pipeline', 'expert', 'expertTensor'] as const;

/** Whether the layout of the last plan was assumed, and so is kept. */
export function hasKeptLayout({ kept }: PlannedModel): boolean {
  return kept?.reasons['layout.tensor'] !== undefined || kept?.reasons['layout.pipeline'] !== undefined;
}

/**
 * The layout of the last plan with the sizes that files give by now; null where there is none, it does not divide the model, the GPUs or
 * the batch any more, or no longer fits while another does.
 */
export function keptLayout(given: LayoutGiven, planned: PlannedModel, cluster: ClusterSpec): FoundLayout | null {
  const before = planned.kept?.layout;
  if (before === undefined || !hasKeptLayout(planned)) return null;
  const isSame = (layout: Layout): boolean => decidedSizes.every((key) => given.layout[key] !== undefined || layout[key] === before[key]);
  const layout = layoutsFor(given, planned, cluster).find(isSame);
  if (layout === undefined) return null;
  const found = judgedLayout(given, planned, cluster, layout);
  return found.fits || firstLayout(given, planned, cluster)?.fits !== true ? found : null;
}
