import type { ScheduleName } from '../domain/schedule-names';
import type { Layout, TrainingSpec } from '../domain/request';
import { scheduleLabel, scheduleOn } from '../schedules/on-layout';

/** Candidates that differ only in the cut of the layers into stages. */
export interface CandidateGroup {
  readonly layout: Layout;
  readonly training: TrainingSpec;
  /** `1F1B` with virtual stages is interleaved. */
  readonly schedule: ScheduleName;
  /** Equal token slices of a sequence; 1 except for TeraPipe and Seq1F1B. Where they are solved for, the most that there may be. */
  readonly slices: number;
  /** Slices are solved for the layout, and may be of unequal lengths. */
  readonly solved?: true;
  readonly keys: GroupKeys;
}

/**
 * Keys under which results are shared. Same `time`: a slice takes as long on a stage and saves as many bytes. Same `sliced`: the same for
 * each slice of a micro-batch. Same `holding`: the same static memory and time of the gradient collectives.
 */
interface GroupKeys {
  readonly time: string;
  readonly sliced: string;
  readonly holding: string;
}

/** A layout except for its virtual stages. */
export type Sizes = Omit<Layout, 'virtualStages'>;

/** Identifies a schedule. */
export function scheduleKey({ schedule, layout }: CandidateGroup): string {
  return scheduleLabel(scheduleOn(schedule, layout));
}

/** Identifies a set of parallel sizes. */
export function sizesKey({ layout }: CandidateGroup): string {
  const { tensor, pipeline, context, data, expert } = layout;
  return `${tensor},${pipeline},${context},${data},${expert}`;
}
