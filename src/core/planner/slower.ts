import { formatNumber, formatPercent } from '../format';
import { sentence, type Sentence } from '../sentence';

/** Whether a step is as long as another: their ratio prints as 0.0 % of difference. */
export function isAsFast(ratio: number): boolean {
  return Math.abs(ratio - 1) < 0.0005;
}

/**
 * `31 % slower`, `2.24x the time`, `1.3 % faster` or `as fast`.
 * @param slower time for as many tokens over that of another plan, less 1.
 */
export function costOf(slower: number): Sentence {
  if (isAsFast(1 + slower)) return sentence`as fast`;
  if (slower >= 1) return sentence`${formatNumber(1 + slower)}x the time`;
  return slower > 0 ? sentence`${formatPercent(slower)} slower` : sentence`${formatPercent(-slower)} faster`;
}
