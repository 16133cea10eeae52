import {
  bytesOfQuantity,
  durationQuantity,
  formatDuration,
  formatDurationRange,
  formatNumber,
  formatPercent,
  plural,
  type Quantity,
} from '../../src/core/format';
import { nodeGroups } from '../../src/core/cluster/groups';
import { limitText, verdictOf, verdictSentence, verdictWord, type MemoryVerdict } from '../../src/core/memory-model/verdict';
import type { Candidate, Plan } from '../../src/core/planner/plan';
import { h, icon } from '../base/dom';
import { t } from '../base/strings';
import { say } from '../../src/core/sentence';

/** The three main numbers: step time, bubble, memory. The tooltip of each says what it is based on. */
export function figures(plan: Plan, candidate: Candidate): HTMLElement {
  return h(
    'dl',
    { class: 'figures' },
    stepFigure(plan, candidate),
    bubbleFigure(candidate.bubbleRate, t('Idle share of the pipeline part, mean over the stages')),
    memoryFigure(candidate),
  );
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
  return figure(durationQuantity(iterationMs), t('per step'), likely, `${parts}\n${sure}`, 'plain');
}

/** The idle share of a pipeline; `about` says of what. */
export function bubbleFigure(bubbleRate: number, about: string): HTMLElement {
  return figure({ value: formatNumber(bubbleRate * 100), unit: '%' }, t('bubble'), null, `${about}: ${formatPercent(bubbleRate)}`, 'plain');
}

function memoryFigure({ memory }: Candidate): HTMLElement {
  const verdict = verdictOf(memory);
  const name = verdict.fits ? t('peak, stage {0}', verdict.stage) : t('{0}, stage {1}', say(verdictWord(verdict), t), verdict.stage);
  return verdictFigure(verdict, name);
}

/** A peak beside what is usable, red where it does not fit; the tooltip is the verdict. */
export function verdictFigure(verdict: MemoryVerdict, name: string): HTMLElement {
  const { used, capacity, unit } = bytesOfQuantity(verdict.peakBytes, verdict.usableBytes);
  const about = `${say(verdictSentence(verdict), t)}\n${say(limitText(verdict), t)}`;
  return figure({ value: used, unit: `/ ${capacity} ${unit}` }, name, null, about, verdict.fits ? 'plain' : 'error');
}

type Tone = 'plain' | 'error';

/** A large number with its unit and name; the tooltip says what it is based on. */
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
      h('span', { class: 'figure-unit' }, ` ${unit}`),
    ),
  );
}

/** The model, its size and the machine in one line: `175B parameters · 96 stages × TP 4 · 48 nodes × 8 V100-16GB`. */
export function setting({ request, parameters }: Plan, countText: (count: number) => string): string[] {
  const { layout, cluster } = request;
  const parallel = [
    plural(layout.pipeline, t('stage'), t('stages')),
    layout.tensor > 1 ? `TP ${layout.tensor}` : '',
    layout.data > 1 ? `DP ${layout.data}` : '',
    layout.context > 1 ? `CP ${layout.context}` : '',
    layout.virtualStages > 1 ? `VP ${layout.virtualStages}` : '',
  ].filter((part) => part !== '');
  return [
    t('{0} parameters', countText(parameters)),
    parallel.join(' × '),
    nodeGroups(cluster)
      .map(({ nodes, gpusPerNode, gpu }) => t('{0} × {1} {2}', countText(nodes), countText(gpusPerNode), gpu.name))
      .join(' + '),
  ];
}
