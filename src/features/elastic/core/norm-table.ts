import { ExpectedError } from '../../../core/errors';
import type { Place } from '../../../core/domain/located';
import { sentence } from '../../../core/sentence';

/** Norms of the gradients of a run, epochs and layers from 0. Plain data. */
export interface NormTable {
  readonly file: string;
  /** By `normKey(epoch, layer)`; absent where the log has none. */
  readonly norms: ReadonlyMap<number, number>;
  /** Where each epoch begins in the log. */
  readonly places: ReadonlyMap<number, Place>;
  /** Where further rows would be. */
  readonly end: Place;
}

/** What a policy asks of a log. */
export interface GradientNorms {
  /** @throws ExpectedError `elastic-norms` when the log has no norm of that layer in that epoch. */
  readonly normAt: (epoch: number, layer: number) => number;
}

/** Largest epoch and layer a log may name. */
export const mostIndex = 10_000;

/** A table with lookups that say what is missing and where it should be. */
export function toGradientNorms({ norms, places, end }: NormTable): GradientNorms {
  return {
    normAt: (epoch, layer) => {
      const norm = norms.get(normKey(epoch, layer));
      if (norm !== undefined) return norm;
      const place = places.get(epoch);
      throw new ExpectedError(
        'elastic-norms',
        place === undefined
          ? sentence`The log has no gradient norms of epoch ${epoch}`
          : sentence`The log has no gradient norm of layer ${layer} in epoch ${epoch}`,
        place === undefined ? sentence`log that epoch, or plan fewer epochs` : sentence`log every layer that is not frozen, counted from 0`,
        place ?? end,
      );
    },
  };
}

/** Of a norm in a table. */
export function normKey(epoch: number, layer: number): number {
  return epoch * 2 * mostIndex + layer;
}
