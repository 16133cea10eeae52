import { formatDuration, formatPercent } from '../../src/core/format';
import type { PageState } from '../../src/protocol/page';
import { t } from '../base/strings';

/** How good the best slices so far are; empty when none are known. */
export function incumbentText(incumbent: PageState['incumbent']): string {
  if (incumbent === null) return '';
  const { latencyMs, lowerBoundMs } = incumbent;
  if (isProved(latencyMs, lowerBoundMs)) return t('Best so far {0}, proved optimal', formatDuration(latencyMs));
  const gap = formatPercent(1 - lowerBoundMs / latencyMs);
  return t('Best so far {0}, at least {1} (gap {2})', formatDuration(latencyMs), formatDuration(lowerBoundMs), gap);
}

/** Whether a time is at its lower bound, up to rounding. */
export function isProved(latencyMs: number, lowerBoundMs: number): boolean {
  return lowerBoundMs >= latencyMs * (1 - 1e-9);
}
