import type { ScheduleName } from '../domain/schedule-names';
import { usualCut } from '../partition/stages';
import { scheduleOn } from '../schedules/on-layout';
import { placeChunks } from '../schedules/registry';
import type { SearchPoint } from './known';
import type { SearchProblem } from './search-problem';

/** Whether the files launch a whole layout, on which the batch divides. */
export function isLaunched({ request: { training, layout }, launched = false }: SearchProblem): boolean {
  return launched && Number.isInteger(training.globalBatch / layout.data / training.microBatch);
}

/** The layout of a request, in the terms of a search, with a schedule that a plan of it compares. */
export function ownPoint(request: SearchProblem['request'], schedule: ScheduleName): SearchPoint {
  const { layout, training } = request;
  return {
    layout,
    training,
    schedule,
    slices: 1,
    keys: { time: 'own', sliced: 'own', holding: 'own' },
    stageLayers: layout.stageLayers ?? equalStageLayers(request, schedule),
  };
}

/** Layers of each stage, as equal as the schedule's chunks allow. */
function equalStageLayers({ model, training, layout }: SearchProblem['request'], schedule: ScheduleName): number[] {
  const { placement, chunks } = scheduleOn(schedule, layout);
  const layers = Array.from({ length: layout.pipeline }, () => 0);
  const cut = usualCut(model, training, layout.pipeline * chunks);
  placeChunks(placement, layout.pipeline, chunks).forEach((stage, chunk) => {
    layers[stage] = (layers[stage] ?? 0) + (cut[chunk] ?? 0);
  });
  return layers;
}
