import type { ClusterSpec } from '../domain/cluster';
import type { Run } from '../run/run';
import type { LocatedPartial } from '../run/given';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import { parameterCount } from '../model/parameters';
import type { ModelSpec } from '../domain/model';
import type { Fallback, ValueOrDefault } from './defaults-recorder';
import {
  firstLayout,
  givenLayout,
  judgedLayout,
  layoutsFor,
  type FoundLayout,
  type LayoutSettings,
  type PlannedModel,
} from './first-layout';
import { keptFallback } from './scenario';
import { sizesText } from '../domain/sizes-text';
import { ordersDiffer } from '../cluster/boundaries';
import type { Layout, PlanRequest } from '../domain/request';
import { runtimeProfile } from '../domain/runtime';
import { requireCut } from '../partition/stages';
import { sentence, type Sentence } from '../sentence';

/**
 * The layout of a run on its cluster: what files give, completed from a first layout, which is recorded as assumed.
 *
 * @param known the first layout, where it was found with the nodes.
 * @throws ExpectedError `layout-world-size`, `plan-stage-layers`.
 */
export function resolveLayout(
  run: Run,
  planned: PlannedModel,
  cluster: ClusterSpec,
  known: FoundLayout | null,
  valueOrDefault: ValueOrDefault,
): Layout {
  const given = run.layout;
  const { model } = planned;
  const world = cluster.nodes * cluster.gpusPerNode;
  requireCutGiven(given, model);
  const decided = givenLayout(run, planned, cluster);
  const kept = decided === null && known === null ? keptLayout(run, planned, cluster) : null;
  const found = known ?? kept ?? (decided === null ? firstLayout(run, planned, cluster) : { layout: decided, fits: false, hasRoom: false });
  if (found === null) {
    throw new ExpectedError(
      'layout-world-size',
      sentence`No TP, PP and DP sizes use all ${formatCount(world)} GPUs with the fixed settings`,
      sentence`leave one of layout.tensor, layout.pipeline and layout.data open, or set all of them`,
    );
  }
  const { tensor, pipeline, data, context, expert, expertTensor, virtualStages, stageLayers } = found.layout;
  const on = (): Sentence => sentence`${formatCount(parameterCount(model))} parameters on ${formatCount(world)} ${cluster.gpu.name}`;
  const reason = (): Sentence =>
    found.hasRoom
      ? sentence`by a quick estimate the fastest that fits ${on()} with room to spare; search layouts for a better one`
      : found.fits
        ? sentence`the least model parallelism that fits ${on()}; search layouts for a better one`
        : sentence`the least model parallelism that comes near to fitting ${on()}; search layouts for a better one`;
  /** Of one size of the layout: kept, or why it is not, and this one is taken. */
  const assumed = (key: 'tensor' | 'pipeline' | 'expert', value: number, why = reason): Fallback<number> => {
    if (kept !== null) return keptFallback(planned.kept, `layout.${key}`, value) ?? { value, reason: why() };
    if (!hasKeptLayout(planned) || planned.kept === undefined) return { value, reason: why() };
    return { value, reason: sentence`${sizesText(planned.kept.layout)} of the first plan no longer runs: ${why()}` };
  };
  return {
    tensor: valueOrDefault('layout.tensor', given.tensor, () => assumed('tensor', tensor)),
    pipeline: valueOrDefault('layout.pipeline', given.pipeline, () => assumed('pipeline', pipeline)),
    data: valueOrDefault('layout.data', given.data, () => ({ value: data, reason: replicasLeft(world, tensor * pipeline * context) })),
    context: valueOrDefault('layout.context', given.context, () => ({ value: context, reason: sentence`no context parallelism set` })),
    expert:
      model.experts === null
        ? expert
        : valueOrDefault('layout.expert', given.expert, () =>
            assumed('expert', expert, () =>
              expert > 1 ? (found.hasRoom ? reason() : sentence`the least that fits`) : sentence`no expert parallelism set`,
            ),
          ),
    ...(expertTensor === undefined
      ? {}
      : {
          expertTensor:
            given.expertTensor === undefined
              ? valueOrDefault('layout.expertTensor', undefined, () => ({
                  value: expertTensor,
                  reason: sentence`experts whole on a GPU, as launchers run small ones`,
                }))
              : expertTensor,
        }),
    virtualStages,
    ...(stageLayers === undefined ? {} : { stageLayers }),
  };
}

/** Sizes that the layout of a scenario decides; replicas take the GPUs that they leave. */
const decidedSizes = ['tensor', 'pipeline', 'expert', 'expertTensor'] as const;

/** Whether the layout of the last plan was assumed, and so is kept. */
function hasKeptLayout({ kept }: PlannedModel): boolean {
  return kept?.reasons['layout.tensor'] !== undefined || kept?.reasons['layout.pipeline'] !== undefined;
}

/**
 * The layout of the last plan with the sizes that files give by now; null where there is none, it does not divide the model, the GPUs or
 * the batch any more, or no longer fits while another does.
 */
function keptLayout(given: LayoutSettings, planned: PlannedModel, cluster: ClusterSpec): FoundLayout | null {
  const before = planned.kept?.layout;
  if (before === undefined || !hasKeptLayout(planned)) return null;
  const isSame = (layout: Layout): boolean => decidedSizes.every((key) => given.layout[key] !== undefined || layout[key] === before[key]);
  const layout = layoutsFor(given, planned, cluster).find(isSame);
  if (layout === undefined) return null;
  const found = judgedLayout(given, planned, cluster, layout);
  return found.fits || firstLayout(given, planned, cluster)?.fits !== true ? found : null;
}

/**
 * The order of ranks as the files give it. Otherwise the runtime's, which is recorded as assumed if the order decides which groups are
 * inside a node.
 */
export function resolveOrder(
  { order }: LocatedPartial<Layout>,
  layout: Layout,
  { training, cluster }: Pick<PlanRequest, 'training' | 'cluster'>,
  valueOrDefault: ValueOrDefault,
): Pick<Layout, 'order'> {
  if (order?.value !== undefined) return { order: order.value };
  const { name, rankOrder } = runtimeProfile(training);
  if (cluster.groups === undefined && ordersDiffer(layout, cluster))
    valueOrDefault('layout.order', undefined, () => ({ value: rankOrder, reason: sentence`${name} numbers ranks so` }));
  return {};
}

/** Refuses a cut that does not fit the stages and the model where it is written. */
export function requireCutGiven({ stageLayers, pipeline, virtualStages }: LocatedPartial<Layout>, model: ModelSpec): void {
  if (stageLayers?.value === undefined) return;
  const { value, source } = stageLayers;
  const virtual = virtualStages?.value ?? 1;
  const layout = { pipeline: pipeline?.value ?? value.length / virtual, virtualStages: virtual, stageLayers: value };
  requireCut(layout, model, source.kind === 'file' ? source.place : undefined);
}

/** Why there are this many replicas, of this many GPUs each. */
function replicasLeft(world: number, replica: number): Sentence {
  return replica > world
    ? sentence`one replica: it has ${formatCount(replica)} GPUs, more than the ${formatCount(world)} there are`
    : sentence`what is left of ${formatCount(world)} GPUs`;
}
