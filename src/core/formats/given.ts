import type { AttentionKernel } from '../domain/attention-kernel';
import type { Located } from '../domain/located';
import type { TrainingSpec } from '../domain/request';

/** The fields of `T` that some file (or override) gives; what is missing is filled later and reported. */
export type Given<T> = { readonly [K in keyof T]?: Located<T[K]> };

/** Under `training`. */
export interface TrainingGiven extends Omit<TrainingSpec, 'adapter' | 'attentionKernel' | 'narrowCopies'> {
  /** `unfused` is the same as `attention: unfused`. */
  readonly attentionKernel?: AttentionKernel;
  /** Depths that predict further tokens and are trained along; absent: as many as the model's config has. */
  readonly mtpLayers?: number;
}

/** Under `calibration`. */
export interface CalibrationGiven {
  readonly iterationMs: number;
  readonly steps: readonly MeasuredStepGiven[];
}

/** A measured step of another run: what differs there from this file, by the keys of `--set`. */
export interface MeasuredStepGiven {
  readonly iterationMs: number;
  readonly set: Readonly<Record<string, SettingGiven>>;
}
type SettingGiven = string | number | boolean | readonly number[];
