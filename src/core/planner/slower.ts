import { formatNumber, formatPercent } from '../format';
import { sentence, type Sentence } from '../sentence';

/** Steps that differ by less than this share are as fast. */
const asFast = 0.0005;

/**
 * `31 % slower`, `2.24x the time`, `1.3 % faster` or `as fast`.
 * @param slower time for as many tokens over that of another plan, less 1.
 */
export function costOf(slower: number): Sentence {
  if (Math.abs(slower) < asFast) return sentence`as fast`;
  if (slower >= 1) return sentence`${formatNumber(1 + slower)}x the time`;
  return slower > 0 ? sentence`${formatPercent(slower)} slower` : sentence`${formatPercent(-slower)} faster`;
}
