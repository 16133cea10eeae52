import type { AttentionKernel } from '../domain/runtime';
import type { Located } from '../domain/located';
import type { TrainingSpec } from '../domain/request';

/** The fields of `T` that a file or an override sets; the missing ones are resolved later and reported. */
export type LocatedPartial<T> = { readonly [K in keyof T]?: Located<T[K]> };

/** Under `training`. */
export interface TrainingSettings extends Omit<TrainingSpec, 'adapter' | 'attentionKernel' | 'narrowCopies'> {
  /** `unfused` is the same as `attention: unfused`. */
  readonly attentionKernel?: AttentionKernel;
  /** Depths that predict further tokens and are trained along; absent: as many as the model's config has. */
  readonly mtpLayers?: number;
}

/** Under `calibration`. */
export interface CalibrationSettings {
  readonly iterationMs: number;
  readonly steps: readonly MeasuredStepSettings[];
}

/** A measured step of another run: what differs there from this file, by the keys of `--set`. */
export interface MeasuredStepSettings {
  readonly iterationMs: number;
  readonly set: Readonly<Record<string, OverrideValue>>;
}
type OverrideValue = string | number | boolean | readonly number[];
