import { formatDuration, formatTokens } from '../../../src/core/format';
import { t } from '../../base/strings';
import type { SliceRow } from './groups';

/** The text of a tooltip on a slice. */
export function sliceLines({ slice, tokens, context, forwardMs, backwardMs }: SliceRow): string[] {
  return [
    t('Slice {0} · {1}', slice, formatTokens(tokens)),
    t('After {0}', formatTokens(context)),
    ...(forwardMs === null || backwardMs === null
      ? []
      : [t('Forward {0}, backward {1}', formatDuration(forwardMs), formatDuration(backwardMs))]),
  ];
}
