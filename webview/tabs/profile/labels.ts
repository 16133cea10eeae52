import { formatCount, formatDuration, formatNumber, formatRate, formatTokens, plural } from '../../../src/core/format';
import type { FitError, Profile, ProviderName } from '../../../src/core/domain/profile';
import { t } from '../../base/strings';
import { kneeShare, type Direction, type Knee, type Point, type Ratio } from './points';
import { signedPercent, percentText } from '../../charts/ticks';
import { maximum, minimum } from '../../../src/core/numbers';

/** The text of a tooltip on a point; the first line is its title. */
export function pointLines({ sample, direction, measuredMs, fittedMs, errorPercent }: Point): string[] {
  const { tokens, context, batch, rounds, holdOut } = sample;
  const slice = batch === 1 ? formatTokens(tokens) : t('{0} × {1}', formatCount(batch), formatTokens(tokens));
  const what = direction === 'forward' ? t('Forward of {0}', slice) : t('Backward of {0}', slice);
  return [
    context === 0 ? what : t('{0} after {1}', what, formatCount(context)),
    fittedMs === null
      ? t('Measured {0}', formatDuration(measuredMs))
      : t('Measured {0}, fitted {1}', formatDuration(measuredMs), formatDuration(fittedMs)),
    ...(errorPercent === null ? [] : [t('Error {0}', signedPercent(errorPercent))]),
    t('Best of {0}', plural(rounds, t('round'), t('rounds'))) + (holdOut ? ` · ${t('hold-out')}` : ''),
  ];
}

/** The text of a tooltip on a ratio. */
export function ratioLines(ratio: Ratio, direction: Direction): string[] {
  const what = direction === 'forward' ? t('Forward of {0}', formatTokens(ratio.tokens)) : t('Backward of {0}', formatTokens(ratio.tokens));
  return [what, t('{0}x the time', formatNumber(ratio[direction]))];
}

function unbroken(text: string): string {
  return text.replace(' ', '\u00a0');
}

/** Where small slices stop paying, in a sentence. */
export function kneeSentence(knee: Knee): string {
  const best = t('{0} tokens/s at {1}', formatRate(knee.bestPerSecond), formatTokens(knee.bestTokens));
  const share = unbroken(percentText(kneeShare * 100));
  return knee.atSmallest
    ? t('Every measured length reaches {0} of the best throughput ({1}).', share, best)
    : t('From {0} on, slices reach {1} of the best throughput ({2}).', formatTokens(knee.tokens), share, best);
}

/** How many judged points meet the goal. */
export function errorSentence(points: readonly Point[], goalPercent: number): string {
  const within = points.filter(({ errorPercent }) => Math.abs(errorPercent ?? 0) <= goalPercent).length;
  const goal = unbroken(percentText(goalPercent));
  return points.some(({ sample }) => sample.holdOut)
    ? t('{0} of {1} points held out of the fit are within {2}.', formatCount(within), formatCount(points.length), goal)
    : t(
        'No slice was kept out of the fit: these are its residuals, {0} of {1} within {2}.',
        formatCount(within),
        formatCount(points.length),
        goal,
      );
}

/** What the figures were judged on. */
export function methodSentence({ method, cells }: FitError): string {
  return method === 'hold-out'
    ? t('On {0} held out of the fit', plural(cells, t('slice'), t('slices')))
    : t('By leaving each of {0} out in turn', plural(cells, t('slice'), t('slices')));
}

/** Name of an execution provider as its makers write it. */
export function providerName(provider: ProviderName): string {
  const names: Readonly<Record<ProviderName, string>> = { cuda: 'CUDA', dml: 'DirectML', coreml: 'CoreML', webgpu: 'WebGPU', cpu: 'CPU' };
  return names[provider];
}

/** When a profile was measured, in the reader's own manner; the raw text when it is not a date. */
export function whenText(measuredAt: string): string {
  const date = new Date(measuredAt);
  if (Number.isNaN(date.getTime())) return measuredAt;
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(date);
}

/** Samples of all parts together. */
export function sampleCount({ samples }: Profile): number {
  return samples.layer.length + samples.embedding.length + samples.head.length;
}

/** Operators of the attention, once when both directions ran the same. */
export function attentionText({ attention }: Profile): string {
  const { forward, backward } = attention;
  if (forward === '' && backward === '') return '';
  return forward === backward ? forward : t('{0}, backward {1}', forward, backward);
}

/** How another profile compares, in a sentence. */
export function ratioSentence(name: string, ratios: readonly Ratio[]): string {
  const span = (direction: Direction): string => {
    const values = ratios.map((ratio) => ratio[direction]);
    const [least, most] = [formatNumber(minimum(values)), formatNumber(maximum(values))];
    return least === most ? `${least}x` : t('{0} to {1}x', least, most);
  };
  return t('{0} takes {1} the time forward and {2} backward.', name, span('forward'), span('backward'));
}
