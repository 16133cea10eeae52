import { formatDuration, formatNumber } from '../../../core/format';
import { sentence, type Sentence } from '../../../core/sentence';
import type { OpenInput } from './open-inputs';

/** What the run takes at each value: `2.76x, 409 s: images are always loaded in time`. */
export function outcomeTexts({ outcomes }: OpenInput): Sentence[] {
  return outcomes.map(({ value, speedup, totalMs }) => sentence`${formatNumber(speedup)}x, ${formatDuration(totalMs)}: ${value}`);
}
