import { scheduleChunks, type Chunks } from '../../partition/chunks';
import type { PlanRequest } from '../../domain/request';
import type { Candidate } from '../../planner/plan';
import { scheduleOn } from '../../schedules/on-layout';

/** The layers of a plan's chunks, which PyTorch calls stages, and of its pipeline ranks. */
export function plannedChunks(request: PlanRequest, { schedule, chunksPerStage }: Pick<Candidate, 'schedule' | 'chunksPerStage'>): Chunks {
  return scheduleChunks(request, { ...scheduleOn(schedule, request.layout), chunks: chunksPerStage });
}
