import { formatDuration } from '../../src/core/format';
import type { PastPlan } from '../../src/protocol/what-if';
import { t } from '../base/strings';
import { isAsFast } from '../../src/core/planner/explain/slower';

/** `tensor 4 to 2`, a text for each change. */
export function changeTexts({ changes }: PastPlan): string[] {
  return changes.map(({ key, a, b }) => t('{0} {1} to {2}', key.replace(/^(?:layout|training|cluster)\./, ''), a, b));
}

/** How much longer a step takes: `+1.2 s`, `as fast`. */
export function differenceText(before: PastPlan, after: PastPlan): string {
  const ms = after.figures.iterationMs - before.figures.iterationMs;
  if (isAsFast(after.figures.iterationMs / before.figures.iterationMs)) return t('as fast');
  return `${ms > 0 ? '+' : '\u2212'}${formatDuration(Math.abs(ms))}`;
}
