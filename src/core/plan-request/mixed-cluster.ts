import { joinNodeGroups, clusterText } from '../cluster/groups';
import type { ClusterSpec } from '../domain/cluster';
import type { Layout, PlanRequest, TrainingSpec } from '../domain/request';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Run } from '../run/run';
import { parameterCount } from '../model/parameters';
import { mixedLayout } from '../partition/mixed-layout';
import { sentence } from '../sentence';
import type { ValueOrDefault } from './defaults-recorder';
import type { PlannedModel } from './first-layout';
import { priceGiven } from './resolve-cluster';
import { requireCutGiven } from './resolve-layout';

/**
 * The cluster of a run with several kinds of nodes; null for others.
 * @throws ExpectedError `cluster-groups-measured`, placed, when files give measured times: they are of one kind of GPU, and no file names
 * it.
 */
export function mixedCluster(run: Run): ClusterSpec | null {
  if (run.groups === undefined) return null;
  const { costTable, profile, calibration } = run;
  const measured = [
    ['cost.table', costTable],
    ['cost.profile', profile?.value === null ? undefined : profile],
    ['calibration.iterationMs', calibration?.iterationMs],
    ['calibration.steps', calibration?.steps],
  ] as const;
  for (const [key, setting] of measured)
    if (setting !== undefined)
      throw new ExpectedError(
        'cluster-groups-measured',
        sentence`${key} is of one kind of GPU, and cluster.groups has several`,
        sentence`remove ${key}; what is known of a GPU goes to its group, as cluster.groups[0].gpu.gemmEfficiency`,
        setting.source.kind === 'file' ? setting.source.place : undefined,
      );
  return { ...joinNodeGroups(run.groups.value), ...priceGiven(run) };
}

/** Sizes, place and cut of the stages on nodes of several kinds. */
export function resolveMixedLayout(
  run: Run,
  { model, signal }: PlannedModel,
  { cluster, constants }: Pick<PlanRequest, 'cluster' | 'constants'>,
  trainingOn: (layout: Layout) => TrainingSpec,
  valueOrDefault: ValueOrDefault,
): Layout {
  const given = run.layout;
  requireCutGiven(given, model);
  const { layout, fits } = mixedLayout({
    given,
    model,
    cluster,
    constants,
    schedule: run.schedule?.value ?? null,
    trainingOn,
    signal,
  });
  const parameters = formatCount(parameterCount(model));
  const reason = fits
    ? sentence`the shortest step of the sizes that fit`
    : sentence`the nearest to fitting ${parameters} parameters on ${clusterText(cluster)}`;
  valueOrDefault('layout.tensor', given.tensor, () => ({ value: layout.tensor, reason }));
  valueOrDefault('layout.pipeline', given.pipeline, () => ({
    value: layout.pipeline,
    reason: sentence`every group takes as many stages as its GPUs make`,
  }));
  valueOrDefault('layout.data', given.data, () => ({ value: layout.data, reason }));
  valueOrDefault('layout.context', given.context, () => ({ value: layout.context, reason: sentence`no context parallelism set` }));
  valueOrDefault('layout.stageNodeGroups', given.stageNodeGroups, () => ({
    value: layout.stageNodeGroups,
    reason: sentence`the order of the groups with the shortest step`,
  }));
  valueOrDefault('layout.stageLayers', given.stageLayers, () => ({
    value: layout.stageLayers,
    reason: sentence`this makes the slowest stage fastest`,
  }));
  return layout;
}
