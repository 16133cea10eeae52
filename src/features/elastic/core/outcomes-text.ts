import { formatDuration, formatNumber } from '../../../core/format';
import { joinClauses, sentence, type Sentence } from '../../../core/sentence';
import type { OpenInput } from './open-inputs';

/** `2.76x, 409 s: images are always loaded in time; 2.58x, 18.7 min: ...`. */
export function outcomesText({ outcomes }: OpenInput): Sentence {
  const one = ({ value, speedup, totalMs }: OpenInput['outcomes'][number]): Sentence =>
    sentence`${formatNumber(speedup)}x, ${formatDuration(totalMs)}: ${value}`;
  return sentence`${joinClauses(outcomes.map(one))}`;
}
