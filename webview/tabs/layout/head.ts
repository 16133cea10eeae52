import { durationQuantity, formatDurationRange, formatNumber, formatRate } from '../../../src/core/format';
import { verdictSentence, verdictWord } from '../../../src/core/memory-model/verdict';
import type { LayoutAnswer, PageLayout } from '../../../src/protocol/layout';
import type { TrainingCost } from '../../../src/protocol/page';
import { h } from '../../base/dom';
import { figure, runFigures, verdictFigure } from '../../shared/figures';
import { capitalised, sentence, stopped } from '../../shared/sentence';
import { t } from '../../base/strings';
import { isSameLayout, tieMs, type LayoutRow } from './rows';
import { proofSentence, tieSentence } from './labels';
import { say } from '../../../src/core/sentence';

/** The best against the config's own in large numbers, then what the best is and how sure that is. */
export function layoutHead(
  answer: LayoutAnswer,
  launched: PageLayout | null,
  rows: readonly LayoutRow[],
  run: TrainingCost,
): HTMLElement | null {
  const best = answer.plans[answer.best];
  if (best === undefined) return null;
  const ties = rows.filter(({ tie, isBest }) => tie && !isBest).length;
  return h(
    'div',
    { class: 'layout-summary' },
    h(
      'dl',
      { class: 'figures' },
      stepFigure(answer, best),
      ...(launched === null ? [] : launchedFigures(answer, best, launched)),
      verdictFigure(best.verdict, best.fits ? t('peak of the best') : say(verdictWord(best.verdict), t)),
      figure({ value: formatRate(best.tokensPerSecond), unit: '' }, t('tokens/s'), null, t('Of the best layout, on all GPUs'), 'plain'),
      figure(
        { value: formatNumber(best.mfu * 100), unit: '%' },
        t('MFU'),
        null,
        t('Model FLOPs over the peak of the GPUs, recompute not counted'),
        'plain',
      ),
      ...(run.tokens === null ? [] : runFigures({ ...run, tokens: run.tokens }, best, t('GPU hours'))),
    ),
    h(
      'ul',
      { class: 'reasons layout-reasons' },
      h('li', { class: 'layout-best' }, `${capitalised(say(best.words, t))}; ${say(best.name, t)}; ${say(best.stages, t)}`),
      answer.launched?.why ? h('li', {}, t('As launched: {0}', stopped(say(answer.launched.why, t)))) : null,
      h('li', { title: sentence(capitalised(say(answer.cost.errorBecause, t))) }, tieSentence(answer, ties)),
      h('li', {}, proofSentence(answer)),
    ),
  );
}

function stepFigure({ cost }: LayoutAnswer, { iterationMs, fits }: PageLayout): HTMLElement {
  const likely = formatDurationRange(iterationMs, cost.range);
  const name = fits ? t('best step') : t('step of the smallest');
  return figure(durationQuantity(iterationMs), name, likely, say(cost.description, t), 'plain');
}

function launchedFigures(answer: LayoutAnswer, best: PageLayout, launched: PageLayout): HTMLElement[] {
  const about = `${capitalised(say(launched.words, t))}; ${say(launched.name, t)}${launched.fits ? '' : `\n${say(verdictSentence(launched.verdict), t)}`}`;
  const own = launched.fits
    ? figure(durationQuantity(launched.iterationMs), t('as launched'), null, about, 'plain')
    : figure(durationQuantity(launched.iterationMs), t('as launched, {0}', say(verdictWord(launched.verdict), t)), null, about, 'error');
  if (isSameLayout(launched, best))
    return [figure(durationQuantity(launched.iterationMs), t('as launched: the best layout'), null, about, 'plain')];
  const isFaster = best.iterationMs <= launched.iterationMs;
  const [shorter, longer] = isFaster ? [best.iterationMs, launched.iterationMs] : [launched.iterationMs, best.iterationMs];
  const tie = launched.iterationMs <= tieMs(answer) && launched.fits;
  const name = tie ? t('within error of the launched layout') : isFaster ? t('faster than launched') : t('slower than launched');
  const apart = isFaster ? t('Step as launched over the best step') : t('Best step over the step as launched');
  return [own, figure({ value: `${formatNumber(longer / shorter)}x`, unit: '' }, name, null, apart, 'plain')];
}
