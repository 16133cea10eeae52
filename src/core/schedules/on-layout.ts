import { ExpectedError } from '../errors';
import { runtimeProfile } from '../domain/runtime';
import type { Layout, TrainingSpec } from '../domain/request';
import { namedSchedules, type ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import type { ScheduleKind } from './kind';
import { interleavedKind, scheduleKind } from './registry';

/** What a schedule that a config may name is on a layout. */
export interface ScheduleOnLayout extends ScheduleKind {
  /** As a config names it: `1F1B` on virtual stages is interleaved. */
  readonly schedule: ScheduleName;
  /** On each stage: the kind's own number, or the layout's virtual stages. */
  readonly chunks: number;
  /** The plan chose that number, as no file gives any. */
  readonly isChosen?: true;
  /** Micro-batches of a group, of a kind that is `grouped`, as the plan chose them; absent: as files set them. */
  readonly groupedMicroBatches?: number;
}

/** What every schedule is on a layout. */
export type SchedulesOnLayout = Readonly<Record<ScheduleName, ScheduleOnLayout>>;

type VirtualStages = Pick<Layout, 'virtualStages'>;

/** Chunks on each stage when a kind that is free runs on a layout without virtual stages. */
const usualChunks = 2;

const resolved: SchedulesOnLayout[] = [];

/** What every schedule is on a layout, one object for each number of virtual stages. */
export function schedulesOn({ virtualStages }: VirtualStages): SchedulesOnLayout {
  return (resolved[virtualStages] ??= Object.fromEntries(
    namedSchedules.map((schedule) => {
      const kind = (virtualStages > 1 ? interleavedKind(schedule) : undefined) ?? scheduleKind(schedule);
      const free = virtualStages > 1 ? virtualStages : usualChunks;
      return [schedule, { ...kind, schedule, chunks: kind.chunksPerStage === 'several' ? free : kind.chunksPerStage }];
    }),
  ) as Record<ScheduleName, ScheduleOnLayout>);
}

/** What a schedule is on a layout: `1F1B` on virtual stages is interleaved, as in Megatron-LM. */
export function scheduleOn(schedule: ScheduleName, layout: VirtualStages): ScheduleOnLayout {
  return schedulesOn(layout)[schedule];
}

/** The name by which launchers and candidates ask for a schedule on a layout: on virtual stages interleaved 1F1B is 1F1B. */
export function plainName(schedule: ScheduleName, { virtualStages }: VirtualStages): ScheduleName {
  return (virtualStages > 1 ? scheduleKind(schedule).interleaves : undefined) ?? schedule;
}

/** The label of a kind in a list: interleaving by what it interleaves. */
export function scheduleLabel({ name, interleaves }: ScheduleKind): string {
  return interleaves === undefined ? name : `interleaved ${interleaves}`;
}

/** Whether a kind runs the virtual stages of a layout; one stands for what no file sets. */
export function runsVirtualStages({ chunksPerStage }: ScheduleKind, virtualStages: number): boolean {
  return virtualStages === 1 || chunksPerStage === 'several' || chunksPerStage === virtualStages;
}

/** Whether a stage starts its optimizer and the next step without waiting for the other stages. */
export function isPostValidated({ postValidated }: Pick<ScheduleKind, 'postValidated'>, training: Pick<TrainingSpec, 'runtime'>): boolean {
  return postValidated && runtimeProfile(training).postValidates;
}

/** A simulation of more operations is too long to try something that a plan only mentions. */
export const mostTriedOperations = 200_000;

/** Operations that simulating `scheme` takes: forward and backward of each unit on each chunk, or forward and both halves of backward. */
export function operationCount(
  { chunks, splitsBackward }: ScheduleOnLayout,
  { pipeline }: Pick<Layout, 'pipeline'>,
  scheme: Scheme,
): number {
  return (splitsBackward ? 3 : 2) * pipeline * chunks * unitCount(scheme);
}

/** Micro-batches, or slices of them. */
export function unitCount(scheme: Scheme): number {
  return scheme.reduce((units, { tokens }) => units + tokens.length, 0);
}

/** Whether an error is that of a schedule that cannot run on its stages, layers or micro-batches. */
export function isUnmet(error: unknown): error is ExpectedError {
  return error instanceof ExpectedError && error.code === 'schedule-unmet';
}

/** What `run` returns; null where its schedule cannot run on its stages, layers or micro-batches. */
export function unlessUnmet<T>(run: () => T): T | null {
  try {
    return run();
  } catch (error) {
    if (isUnmet(error)) return null;
    throw error;
  }
}
