import { formatNumber, formatPercent } from '../../format';
import { sentence, type Sentence } from '../../sentence';

/** A smaller share of a step is not worth a word. */
export const worthSaying = 0.005;

/** Whether a step is as long as another: their ratio prints as 0.0 % of difference. */
export function isAsFast(ratio: number): boolean {
  return Math.abs(ratio - 1) < 0.0005;
}

/**
 * `31 % slower`, `2.24x the time`, `1.3 % faster`, `1.83x as fast` or `as fast`: A is as much faster than B as B is slower than A.
 * @param slower time for as many tokens over that of another plan, less 1.
 */
export function slowdownText(slower: number): Sentence {
  if (isAsFast(1 + slower)) return sentence`as fast`;
  const times = slower > 0 ? 1 + slower : 1 / (1 + slower);
  if (times >= 2) return slower > 0 ? sentence`${formatNumber(times)}x the time` : sentence`${formatNumber(times)}x as fast`;
  return slower > 0 ? sentence`${formatPercent(times - 1)} slower` : sentence`${formatPercent(times - 1)} faster`;
}
