import type { TimeFit } from '../../../../src/core/domain/profile';
import { timeFunction } from '../../../../src/core/measured-profile/fit';

/** The time, ms, that a fit gives a cell. */
export function fitMs(fit: TimeFit, cell: { readonly batch: number; readonly tokens: number; readonly context: number }): number {
  return timeFunction(fit)(cell.batch, cell.tokens, cell.context);
}
