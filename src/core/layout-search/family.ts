import type { ScheduleName } from '../spec/schedule-names';
import type { Layout, TrainingSpec } from '../spec/request';

/** One way to run the step but for the cut of its layers into stages. */
export interface Family {
  readonly layout: Layout;
  readonly training: TrainingSpec;
  /** `1F1B` with virtual stages is interleaved. */
  readonly schedule: ScheduleName;
  /** Equal token slices of a sequence; 1 but for TeraPipe and Seq1F1B. */
  readonly slices: number;
  readonly keys: FamilyKeys;
}

/** What families share: those of equal `time` take as long for a slice on a stage, and save as much of it; of equal `sliced` also for all slices of a micro-batch; those of equal `holding` hold as much all the time, and exchange gradients as long. */
export interface FamilyKeys {
  readonly time: string;
  readonly sliced: string;
  readonly holding: string;
}
