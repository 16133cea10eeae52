import { formatBytes, formatCount, formatDuration, formatRate } from '../../../core/format';
import type { Report } from '../../../core/report';
import { counted, sentence, type Sentence, type Value } from '../../../core/sentence';
import type { Largest, LargestLimit, NextSize } from './largest';
import { largestUnits, type LargestKind } from './kinds';

/** What is the most that fits, the stage that limits it and the price of the next size. */
export function largestReport(found: Largest): Report {
  return { headline: headline(found), blocks: [{ rows: rows(found), left: [1] }], notes: found.notes.map((note) => sentence`${note}.`) };
}

/** A size with its unit: `24,576 tokens`. */
export function sizeText(value: number, what: LargestKind): Sentence {
  return counted(value, largestUnits[what], undefined, (size) => size.toLocaleString('en-US'));
}

/** The stage that limits a size, and what fills it. */
export function limitText({ stage, stages, peakBytes, usableBytes, part, partBytes }: LargestLimit): Sentence {
  return sentence`stage ${stage} of ${stages}, ${formatBytes(peakBytes)} of ${formatBytes(usableBytes)} usable, most of it ${part} (${formatBytes(partBytes)})`;
}

/** What the next size lacks, or that none was refused; null where there is neither. */
export function nextText({ what, plan, next }: Largest): Sentence | null {
  if (plan === null) return null;
  if (next !== null) return sentence`${sizeText(next.value, what)}: ${lackText(next)}`;
  return what === 'fewest-gpus' ? null : sentence`nothing larger was refused`;
}

/** Up to which size it may fit; null where none beyond the answer may. */
export function mayFitText({ what, mayFit }: Pick<Largest, 'what' | 'mayFit'>): Sentence | null {
  if (mayFit === null) return null;
  const size = sizeText(mayFit, what);
  return what === 'fewest-gpus' ? sentence`${size} may be enough, but may not fit` : sentence`up to ${size} may fit, but may not`;
}

/** `does not fit, 1.5 GiB over on stage 0`, or why it may not fit. */
export function lackText({ tight, overBytes, limit }: NextSize): Sentence {
  if (overBytes === null) return sentence`may not fit: cached blocks need more than there is on stage ${limit.stage}`;
  const over = formatBytes(overBytes);
  return tight
    ? sentence`may not fit: uses ${over} of the safety margin on stage ${limit.stage}`
    : sentence`does not fit, ${over} over on stage ${limit.stage}`;
}

function headline({ what, value, next, because }: Largest): Sentence {
  if (value !== null)
    return what === 'fewest-gpus'
      ? sentence`Fewest that fit: ${sizeText(value, what)}`
      : sentence`Most that fits: ${sizeText(value, what)}`;
  if (next !== null) {
    const size = sizeText(next.value, what);
    return next.tight || next.overBytes === null
      ? sentence`None fits for certain: ${size} ${lackText(next)}`
      : sentence`None fits: ${size} need ${formatBytes(next.overBytes)} more than is usable`;
  }
  return because === null ? sentence`No size can be planned` : sentence`No size can be planned: ${because}`;
}

function rows(found: Largest): Value[][] {
  const { what, plan, next, sets, step } = found;
  const limit = plan?.limit ?? next?.limit;
  const [nextSize, doubtful] = [nextText(found), mayFitText(found)];
  return [
    ...(plan === null
      ? []
      : [
          ['layout', sentence`${formatCount(plan.gpus)} GPUs, ${plan.layout}, ${plan.schedule}`],
          ['step', sentence`${formatDuration(plan.iterationMs)}, ${formatRate(plan.tokensPerSecond)} tokens/s`],
        ]),
    ...(limit === undefined ? [] : [['limit', limitText(limit)]]),
    ...(nextSize === null ? [] : [[what === 'fewest-gpus' && next !== null ? 'fewer' : 'next', nextSize]]),
    ...(doubtful === null ? [] : [['may fit', doubtful]]),
    ...(step !== null && step > 1 ? [['steps of', sizeText(step, what)]] : []),
    ...(sets === null ? [] : [['settings', sets.join(' ')]]),
  ];
}
