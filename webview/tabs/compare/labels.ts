import { formatDuration, formatPercent } from '../../../src/core/format';
import type { PartDifference } from '../../../src/features/compare/core/plans';
import type { ComparedSide, ComparisonAnswer, PageComparison } from '../../../src/features/compare/protocol';
import { stepPartNames } from '../../../src/core/planner/explain/step-part-names';
import { capitalised } from '../../shared/sentence';
import { t } from '../../base/strings';
import type { SideId } from './settings';
import { say } from '../../../src/core/sentence';
import { own } from '../../../src/core/records';

/** What the sides are called in tables and captions. */
export function badges({ reported }: Pick<ComparisonAnswer, 'reported'>): Readonly<Record<SideId, string>> {
  return reported.kind === 'plan' ? { a: 'A', b: 'B' } : { a: t('Predicted'), b: t('Measured') };
}

/** What a side is: its file, or its part in a search of layouts. */
export function sideName({ role, file }: Pick<ComparedSide, 'role' | 'file'>): string {
  switch (role) {
    case 'config':
    case 'earlier':
    case 'measured':
      return file;
    case 'launched':
      return t('as launched');
    case 'planned':
      return t('as planned');
    case 'best':
      return t('best layout');
  }
}

/** What a config is compared with, while there is no answer yet. */
export function otherName({ role, file }: PageComparison['other']): string {
  return sideName({ role, file });
}

/** `A · gpt3/terapipe.json · TeraPipe · 1.48 s · bubble 9.8 %`. */
export function sideCaption(answer: ComparisonAnswer, id: SideId): string {
  const side = answer[id];
  const { how, lengthMs, bubbleRate } = side;
  return [
    badges(answer)[id],
    sideName(side),
    ...(how === '' ? [] : [capitalised(say(how, t))]),
    ...(lengthMs === null ? [] : [formatDuration(lengthMs)]),
    ...(bubbleRate === null ? [] : [t('bubble {0}', formatPercent(bubbleRate))]),
  ].join(' · ');
}

/** What a part of the step is called. */
export function comparedPartName(part: PartDifference['part']): string {
  return part === 'layers' ? t('The stages at work') : capitalised(say(stepPartNames[part], t));
}

/** What a key of `terapipe.json`, or of what was chosen, is called where it is not a key. */
export function requestName(key: string): string {
  const names: Readonly<Record<string, string>> = {
    slices: t('slices a sequence'),
    microBatches: t('micro-batches a replica'),
    chunksPerStage: t('chunks of layers per stage'),
  };
  return own(names, key) ?? key;
}

/** A difference with its sign: `+3.2 ms`, `-12 GiB`; what rounding leaves of nothing has none. */
export function signed(by: number, text: (amount: number) => string): string {
  const amount = text(Math.abs(by));
  if (by === 0 || amount === text(0)) return text(0);
  return `${by < 0 ? '−' : '+'}${amount}`;
}
