import { formatDuration } from '../../../src/core/format';
import type { ComparisonAnswer } from '../../../src/features/compare/protocol';
import type { Operation, Operations } from '../../base/operations';
import { t } from '../../base/strings';
import { operationName, unitText } from '../../charts/lanes/labels';
import { otherSide, sideOperations } from './compared-sides';
import { findCounterpart } from './counterpart';
import { badges } from './labels';
import type { SideId } from './settings';

/** What a pass is, when it runs on either side, and how far they are apart. */
export function passLines(answer: ComparisonAnswer, side: SideId, of: Operations, operation: Operation): string[] {
  const to = sideOperations(answer, otherSide[side]);
  const other = to === null ? null : findCounterpart(operation, of, to);
  const [a, b] = side === 'a' ? [operation, other] : [other, operation];
  const names = badges(answer);
  const when = (name: string, pass: Operation | null): string[] =>
    pass === null ? [] : [t('{0}: {1} from {2}', name, formatDuration(pass.endMs - pass.startMs), formatDuration(pass.startMs))];
  const tokens = unitText(of, operation);
  return [
    operationName(of, operation),
    ...(tokens === null ? [] : [tokens]),
    ...when(names.a, a),
    ...when(names.b, b),
    ...(a === null || b === null ? [] : [apartText(names.b, a, b)]),
  ];
}

function apartText(name: string, a: Operation, b: Operation): string {
  const late = b.startMs - a.startMs;
  const longer = b.endMs - b.startMs - (a.endMs - a.startMs);
  const begins = late < 0 ? t('begins {0} sooner', formatDuration(-late)) : t('begins {0} later', formatDuration(late));
  const takes = longer < 0 ? t('takes {0} less', formatDuration(-longer)) : t('takes {0} more', formatDuration(longer));
  return t('{0} {1}, {2}', name, begins, takes);
}
