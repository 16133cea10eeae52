import { gpusUsed } from '../../../src/core/domain/request';
import { sizesText } from '../../../src/core/domain/sizes-text';
import { formatDuration, formatPercent, formatRate } from '../../../src/core/format';
import { usedText, verdictText } from '../../../src/core/memory-model/verdict';
import { stepShares } from '../../../src/core/planner/explain/limit-labels';
import { stepParts } from '../../../src/core/layout-search/result';
import type { LayoutAnswer, LayoutPoint, PageFound } from '../../../src/protocol/layout';
import type { TrainingCost } from '../../../src/protocol/page';
import { costOfTokens } from '../../../src/core/planner/training-cost';
import { h, type Child } from '../../base/dom';
import type { Host } from '../../base/host';
import { capitalised, sentence } from '../../shared/sentence';
import { amountText } from '../../shared/training-cost';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import type { LayoutRow } from './rows';
import { stepPartNames } from '../../../src/core/planner/explain/step-part-names';
import { say } from '../../../src/core/sentence';

/** Everything about the picked layout, and what can be done with it. `open` shows it as a full plan. */
export function layoutDetail(answer: LayoutAnswer, row: LayoutRow, run: TrainingCost, open: () => void, host: Host): Child[] {
  const { plan, found, isBest, isLaunched } = row;
  const tag = (text: string): HTMLElement => h('span', { class: 'tag' }, text);
  return [
    h(
      'h2',
      { class: 'layout-name', title: say(plan.words, t) },
      h('span', {}, sizesText(plan.layout)),
      isBest ? tag(answer.plans[answer.best]?.fits === true ? t('best') : t('least memory')) : null,
      !isBest && row.tie ? tag(t('within error')) : null,
      isLaunched ? tag(t('as launched')) : null,
    ),
    h('p', { class: 'layout-how' }, capitalised(say(plan.name, t))),
    h(
      'p',
      { class: 'hint' },
      [
        say(plan.settings, t),
        ...(plan.recompute === null ? [] : [say(plan.recompute, t)]),
        ...(found === null ? [] : [say(found.stages, t)]),
      ].join(', '),
    ),
    numbers(row, run),
    found?.why ? h('p', { class: 'layout-why' }, sentence(capitalised(say(found.why, t)))) : null,
    found === null ? null : partBars(found),
    actions(row, open, host, answer),
  ];
}

function numbers({ plan }: LayoutRow, { tokens, gpuHourPrice, currency }: TrainingCost): HTMLElement {
  const run = tokens === null ? null : costOfTokens(tokens, gpuHourPrice, gpusUsed(plan.layout), plan.tokensPerSecond);
  const cost = run?.cost ?? null;
  const rows: readonly (readonly [name: string, value: string])[] = [
    [t('Step'), formatDuration(plan.iterationMs)],
    [t('Peak memory'), `${usedText(plan.verdict)}, ${say(verdictText(plan.verdict), t)}`],
    [t('Bubble'), formatPercent(plan.bubbleRate)],
    [t('Tokens per second'), formatRate(plan.tokensPerSecond)],
    [t('MFU'), formatPercent(plan.mfu)],
    ...(run === null ? [] : [[t('GPU hours'), amountText(run.gpuHours)] as const]),
    ...(cost === null ? [] : [[t('Cost'), `${amountText(cost)} ${currency}`.trim()] as const]),
  ];
  return h(
    'dl',
    { class: 'pairs layout-pairs' },
    ...rows.map(([name, value]) => h('div', { class: 'pair' }, h('dt', {}, name), h('dd', {}, value))),
  );
}

/** Where the time of a step goes, as bars. */
function partBars({ parts, iterationMs }: PageFound): HTMLElement {
  const shares = stepShares(
    stepParts.map((part) => [part, parts[part]] as const),
    iterationMs,
  );
  return h(
    'table',
    { class: 'layout-parts' },
    h('caption', {}, t('Step time, mean of all stages')),
    h(
      'tbody',
      {},
      ...shares.map(([part, share]) => {
        const bar = h('span', { class: part === 'bubble' ? 'layout-bar layout-bar-idle' : 'layout-bar' });
        bar.style.width = `${100 * share}%`;
        return h(
          'tr',
          {},
          h('th', { scope: 'row' }, capitalised(say(stepPartNames[part], t))),
          h('td', { class: 'layout-track' }, bar),
          h('td', { class: 'numeric' }, formatDuration(parts[part])),
        );
      }),
    ),
  );
}

function actions({ index, isLaunched }: LayoutRow, open: () => void, host: Host, { id, isReadOnly }: LayoutAnswer): HTMLElement {
  const post = (type: 'applyLayout' | 'exportLayout') => (): void => {
    if (index !== null) host.post({ type, point: { answer: id, index } satisfies LayoutPoint });
  };
  const secondary = { appearance: 'secondary' } as const;
  return h(
    'div',
    { class: 'layout-actions' },
    button({ label: t('Open'), onClick: open, ...(isLaunched ? secondary : {}) }),
    index === null || isLaunched || isReadOnly === true
      ? null
      : button({ label: t('Apply to config…'), onClick: post('applyLayout'), ...secondary }),
    index === null ? null : button({ label: t('Export…'), onClick: post('exportLayout'), ...secondary }),
  );
}
