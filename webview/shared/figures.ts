import {
  type Quantity,
  bytesOfQuantity,
  durationQuantity,
  formatCount,
  formatDuration,
  formatDurationRange,
  formatNumber,
  formatPercent,
  formatRate,
} from '../../src/core/format';
import { limitText, memoryVerdict, verdictSentence, verdictWord, type MemoryVerdict } from '../../src/core/memory-model/verdict';
import type { Candidate, Plan } from '../../src/core/planner/plan';
import { lengthsText, machineText } from '../../src/core/plan-request/scenario';
import { sizesText } from '../../src/core/domain/sizes-text';
import { costOfTokens } from '../../src/core/planner/training-cost';
import type { PageLayout } from '../../src/protocol/layout';
import type { ScenarioPart } from '../../src/protocol/page';
import type { TrainingCost } from '../../src/protocol/page';
import type { Host } from '../base/host';
import { h, icon } from '../base/dom';
import { t } from '../base/strings';
import { say } from '../../src/core/sentence';
import { gpusUsed } from '../../src/core/domain/request';
import { amountText, pricedRun } from './training-cost';

/**
 * The numbers of a step: time, bubble, memory; then smaller how fast and how well it trains, and what that takes. The tooltip of each
 * explains what it is based on.
 * @param which three: the first ones, and the cost where a person set what to train on or a price
 */
export function figures(plan: Plan, candidate: Candidate, cost: TrainingCost | undefined, which: 'all' | 'three' = 'all'): HTMLElement {
  const isPriced = (cost?.tokens ?? cost?.gpuHourPrice ?? null) !== null;
  return h(
    'dl',
    { class: 'figures' },
    stepFigure(plan, candidate),
    bubbleFigure(candidate.bubbleRate, t('Share of the step that stages idle, mean over stages')),
    memoryFigure(candidate),
    ...(which === 'all' ? speedFigures(candidate) : []).map((each) => withClass(each, 'figure-minor')),
    ...(which === 'all' || isPriced ? costFigures(plan, candidate, cost) : []).map((each) =>
      withClass(each, 'figure-minor', 'figure-cost'),
    ),
  );
}

function withClass(element: HTMLElement, ...classes: string[]): HTMLElement {
  element.classList.add(...classes);
  return element;
}

function speedFigures({ tokensPerSecond, mfu }: Candidate): HTMLElement[] {
  const trained = t('Tokens of the global batch over the time of a step');
  const used = t('Model FLOPs per second over the peak of all GPUs: {0}. Recompute is not counted.', formatPercent(mfu));
  return [
    figure({ value: formatRate(tokensPerSecond), unit: '' }, t('tokens/s'), null, trained, 'plain'),
    figure({ value: formatNumber(mfu * 100), unit: '%' }, t('MFU'), null, used, 'plain'),
  ];
}

const tokensAsked = 1e9;
const msPerDay = 864e5;

/** GPU hours, and money where a price is given: for the tokens to train on, else for a billion. */
function costFigures({ request }: Plan, { tokensPerSecond }: Candidate, settings: TrainingCost | undefined): HTMLElement[] {
  const { training, cluster, layout } = request;
  const run = pricedRun({ tokens: training.tokens, gpuHourPrice: cluster.pricePerGpuHour }, settings);
  const set = run.tokens === null ? `\n${t('Set terapipe.cost.tokens to the tokens that you train on.')}` : '';
  const unpriced = run.gpuHourPrice === null ? `\n${t('Set terapipe.cost.gpuHour to see what they cost.')}` : '';
  const what = t('{0} tokens', formatCount(run.tokens ?? tokensAsked));
  return runFigures(
    { ...run, tokens: run.tokens ?? tokensAsked },
    { layout, tokensPerSecond },
    t('GPU hours for {0}', what),
    set + unpriced,
  );
}

/** The GPU hours of a run under `name`, and its money where it has a price; `more` ends the tooltip. */
export function runFigures(
  { tokens, gpuHourPrice, currency }: TrainingCost & { readonly tokens: number },
  { layout, tokensPerSecond }: Pick<PageLayout, 'layout' | 'tokensPerSecond'>,
  name: string,
  more = '',
): HTMLElement[] {
  const { days, gpuHours, cost } = costOfTokens(tokens, gpuHourPrice, gpusUsed(layout), tokensPerSecond);
  const what = t('{0} tokens', formatCount(tokens));
  const wall = formatDuration(days * msPerDay);
  const about = t('{0} at {1} tokens/s: {2} on {3} GPUs', what, formatRate(tokensPerSecond), wall, formatCount(gpusUsed(layout)));
  const hours = amountText(gpuHours);
  return [
    figure({ value: hours, unit: '' }, name, null, about + more, 'plain'),
    ...(cost === null || gpuHourPrice === null
      ? []
      : [
          figure(
            { value: amountText(cost), unit: currency },
            t('for {0}', what),
            null,
            t('{0} GPU hours at {1} {2}', hours, formatNumber(gpuHourPrice), currency),
            'plain',
          ),
        ]),
  ];
}

function stepFigure(plan: Plan, candidate: Candidate): HTMLElement {
  const { pipelineMs, gradientExchangeMs, optimizerMs, iterationMs } = candidate;
  const likely = formatDurationRange(iterationMs, plan.cost.range);
  const parts = t(
    'Pipeline {0}, gradient exchange {1}, optimizer {2}',
    formatDuration(pipelineMs),
    formatDuration(gradientExchangeMs),
    formatDuration(optimizerMs),
  );
  const sure = t('Likely {0}: {1}', likely, say(plan.cost.errorBecause, t));
  return figure(durationQuantity(iterationMs), t('per step'), null, `${parts}\n${sure}`, 'plain');
}

/** The idle share of a pipeline; `about` names it. */
export function bubbleFigure(bubbleRate: number, about: string): HTMLElement {
  return figure({ value: formatNumber(bubbleRate * 100), unit: '%' }, t('bubble'), null, `${about}: ${formatPercent(bubbleRate)}`, 'plain');
}

function memoryFigure({ memory }: Candidate): HTMLElement {
  const verdict = memoryVerdict(memory);
  const name = verdict.fits ? t('peak, stage {0}', verdict.stage) : t('{0}, stage {1}', say(verdictWord(verdict), t), verdict.stage);
  return verdictFigure(verdict, name);
}

/** A peak and what is usable, red where it does not fit; the tooltip is the verdict. */
export function verdictFigure(verdict: MemoryVerdict, name: string): HTMLElement {
  const { used, capacity, unit } = bytesOfQuantity(verdict.peakBytes, verdict.usableBytes);
  const about = `${say(verdictSentence(verdict), t)}\n${say(limitText(verdict), t)}`;
  return figure({ value: used, unit: `/ ${capacity} ${unit}` }, name, null, about, verdict.fits ? 'plain' : 'error');
}

type Tone = 'plain' | 'error';

/** A large number with its unit and name; the tooltip explains what it is based on. */
export function figure({ value, unit }: Quantity, name: string, after: string | null, tooltip: string, tone: Tone): HTMLElement {
  return h(
    'div',
    { class: `figure figure-${tone}`, title: tooltip, tabindex: 0 },
    h('dt', {}, name, after === null ? null : h('span', { class: 'figure-after' }, ` ${after}`)),
    h(
      'dd',
      {},
      tone === 'plain' ? null : icon('error'),
      h('span', { class: 'figure-value' }, value),
      unit === '' ? null : h('span', { class: 'figure-unit' }, ` ${unit}`),
    ),
  );
}

/** What is planned in one line: `175B parameters · TP4 PP96 DP1 · 384 x V100-16GB · 2,048 tokens · batch 8`; the scenario as buttons. */
export function setting({ request, parameters }: Plan, countText: (count: number) => string, host: Host): (HTMLElement | string)[] {
  return [
    h('span', { class: 'setting-parameters' }, t('{0} parameters', countText(parameters))),
    sizesText(request.layout),
    ...scenarioChips(request, host),
  ];
}

/** What a plan is for, a button each that changes it. */
function scenarioChips({ cluster, layout, training }: Plan['request'], host: Host): HTMLElement[] {
  const chip = (about: ScenarioPart, text: string, title: string): HTMLElement =>
    h(
      'button',
      {
        class: 'link scenario',
        type: 'button',
        title: `${text}\n${title}`,
        'data-focus': `scenario-${about}`,
        onclick: () => host.post({ type: 'command', command: 'terapipe.changeScenario', about }),
      },
      text,
    );
  return [
    chip('gpus', machineText({ cluster, layout }), t('Change the GPU or how many there are')),
    chip('sequence', say(lengthsText(training), t), t('Change the sequence length')),
    chip('batch', t('batch {0}', formatCount(training.globalBatch)), t('Change the global batch')),
  ];
}
