import type { Given } from '../formats/given';
import { scheduleOn } from '../schedules/on-layout';
import type { Layout } from '../domain/request';
import type { ScheduleName } from '../domain/schedule-names';
import type { ValueOrDefault } from './defaults-recorder';
import { sentence } from '../sentence';

/** A cut with an entry for each chunk of the schedule that is asked for says that the stages have this many. */
export function withChunksOfCut(layout: Given<Layout>, schedule: ScheduleName | undefined, valueOrDefault: ValueOrDefault): Given<Layout> {
  const { stageLayers, pipeline, virtualStages } = layout;
  const chunks = schedule === undefined ? 1 : scheduleOn(schedule, { virtualStages: 1 }).chunksPerStage;
  if (chunks === 'several' || chunks === 1 || virtualStages !== undefined || pipeline === undefined) return layout;
  if (stageLayers?.value?.length !== pipeline.value * chunks) return layout;
  const reason = sentence`layout.stageLayers has an entry for each chunk of ${schedule ?? ''}`;
  const value = valueOrDefault('layout.virtualStages', undefined, () => ({ value: chunks, reason }));
  return { ...layout, virtualStages: { value, source: { kind: 'default', reason } } };
}

/** A cut says how many stages there are. */
export function withStagesOfCut(layout: Given<Layout>, valueOrDefault: ValueOrDefault): Given<Layout> {
  const { stageLayers, pipeline, virtualStages } = layout;
  const stages = (stageLayers?.value?.length ?? 0) / (virtualStages?.value ?? 1);
  if (stages === 0 || pipeline !== undefined || !Number.isInteger(stages)) return layout;
  const reason = sentence`as many as layout.stageLayers has`;
  return {
    ...layout,
    pipeline: {
      value: valueOrDefault('layout.pipeline', undefined, () => ({ value: stages, reason })),
      source: { kind: 'default', reason },
    },
  };
}
