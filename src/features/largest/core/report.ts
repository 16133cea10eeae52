import { formatBytes, formatCount, formatDuration, formatRate } from '../../../core/format';
import type { Report } from '../../../core/report';
import { counted, sentence, type Sentence, type Value } from '../../../core/sentence';
import type { Largest, LargestLimit } from './largest';
import { largestUnits, type LargestKind } from './sizes';

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
  if (next !== null)
    return sentence`${sizeText(next.value, what)}: does not fit, ${formatBytes(next.overBytes)} over on stage ${next.limit.stage}`;
  return what === 'fewest-gpus' ? null : sentence`nothing larger was refused`;
}

function headline({ what, value, next, because }: Largest): Sentence {
  if (value !== null)
    return what === 'fewest-gpus'
      ? sentence`Fewest that fit: ${sizeText(value, what)}`
      : sentence`Most that fits: ${sizeText(value, what)}`;
  if (next !== null) return sentence`None fits: ${sizeText(next.value, what)} need ${formatBytes(next.overBytes)} too much`;
  return because === null ? sentence`No size can be planned` : sentence`No size can be planned: ${because}`;
}

function rows(found: Largest): Value[][] {
  const { what, plan, next, sets, step } = found;
  const limit = plan?.limit ?? next?.limit;
  const nextSize = nextText(found);
  return [
    ...(plan === null
      ? []
      : [
          ['layout', sentence`${formatCount(plan.gpus)} GPUs, ${plan.layout}, ${plan.schedule}`],
          ['step', sentence`${formatDuration(plan.iterationMs)}, ${formatRate(plan.tokensPerSecond)} tokens/s`],
        ]),
    ...(limit === undefined ? [] : [['limit', limitText(limit)]]),
    ...(nextSize === null ? [] : [[what === 'fewest-gpus' && next !== null ? 'fewer' : 'next', nextSize]]),
    ...(step !== null && step > 1 ? [['steps of', sizeText(step, what)]] : []),
    ...(sets === null ? [] : [['settings', sets.join(' ')]]),
  ];
}
