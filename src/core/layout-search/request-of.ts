import { scheduleKind, placeChunks } from '../schedules/registry';
import { scheduleOn } from '../schedules/on-layout';
import { chunkLayers } from '../partition/stages';
import type { Layout, PlanRequest } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import type { FoundPlan } from './result';
import { searchKeys } from '../domain/layout-choices';

/**
 * The request whose plan is a layout that a search found: its sizes, its cut, its schedule and, for TeraPipe and Seq1F1B, its slices are
 * fixed, so that `makePlan` chooses just that and predicts the same time and memory. Slices of the config are of its own layout: a schedule
 * without any drops them.
 *
 * @param request of the search.
 */
export function toPlanRequest(request: PlanRequest, { point, scheme }: Pick<FoundPlan, 'point' | 'scheme'>): PlanRequest {
  const { training, schedule } = point;
  const fixed = { ...request };
  delete fixed.freeVirtualStages;
  const decided = new Set(['schedule', 'layout.stageLayers', ...searchKeys.flatMap((key) => [`layout.${key}`, `training.${key}`])]);
  return {
    ...fixed,
    training,
    layout: foundLayout(point),
    schedule,
    slicing: foundSlicing(request.slicing, schedule, scheme),
    assumptions: request.assumptions.filter(({ key }) => !decided.has(key)),
  };
}

/** The slices that were found for the layout. A split rule of the files is kept only if it gives the same slices. */
function foundSlicing({ unit, split }: PlanRequest['slicing'], schedule: ScheduleName, scheme: Scheme): PlanRequest['slicing'] {
  if (!scheduleKind(schedule).sliced) return { unit, scheme: null };
  const isSplit = split !== undefined && scheme.every(({ tokens }) => tokens.join() === split.lengths.join());
  return { unit, scheme, ...(isSplit ? { split } : {}) };
}

/** The layout of a point with its cut, chunk by chunk where it has virtual stages. */
function foundLayout({ layout, schedule, stageLayers }: FoundPlan['point']): Layout {
  const { pipeline, virtualStages } = layout;
  if (virtualStages === 1 && stageLayers.length === pipeline) return { ...layout, stageLayers };
  // chunk by chunk on a layout without virtual stages it is what a plan makes of that by itself
  if (virtualStages === 1) return uncut(layout);
  const kind = scheduleOn(schedule, layout);
  return { ...layout, stageLayers: chunkLayers(stageLayers, placeChunks(kind.placement, pipeline, kind.chunks)) };
}

function uncut(layout: Layout): Layout {
  const { stageLayers, ...rest } = layout;
  return stageLayers === undefined ? layout : rest;
}
