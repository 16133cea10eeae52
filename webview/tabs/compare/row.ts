import { bytesOfQuantity, column } from '../../../src/core/format';
import { memoryVerdict, verdictSentence, verdictWord, type MemoryVerdict } from '../../../src/core/memory-model/verdict';
import { chosenCandidate, type Candidate, type Plan } from '../../../src/core/planner/plan';
import { isTie } from '../../../src/core/planner/explain/reasons';
import { neededFor } from '../../../src/core/schedules/runtimes';
import { h, icon, type Child } from '../../base/dom';
import { capitalised } from '../../shared/sentence';
import { t } from '../../base/strings';
import { candidateOperations } from '../../base/store';
import { makeSurface, type Surface } from '../../base/surface';
import { makeLaneBuffers } from '../../charts/lanes/draw-lanes';
import { drawWholeStep } from '../../charts/lanes/whole-step';
import { plotIn } from '../../charts/plot';
import { say } from '../../../src/core/sentence';
import { maximum } from '../../../src/core/numbers';

/** What the rows of one plan are measured against. */
interface Scale {
  /** What speed-ups are over: 1F1B, or the chosen one where it is not compared. */
  readonly baseline: Pick<Candidate, 'name' | 'iterationMs'>;
  /** Where all timelines end at the latest, ms. */
  readonly longestMs: number;
}

/** The scale of a plan's candidates. */
export function timeScale(plan: Plan): Scale {
  const { candidates } = plan;
  return {
    baseline: candidates.find(({ id }) => id === '1f1b') ?? chosenCandidate(plan),
    longestMs: maximum(candidates.map(({ pipelineMs }) => pipelineMs)),
  };
}

/** One candidate as a row; `pick` shows its timeline. */
export interface CompareRow {
  readonly element: HTMLElement;
  readonly redraw: () => void;
  /** Marks the candidate that the other views show. */
  readonly mark: (isShown: boolean) => void;
}

/** Makes the row of a candidate; `withheld`: when a timeline comes that the host has. */
export function makeCompareRow(plan: Plan, candidate: Candidate, scale: Scale, withheld: Withheld, pick: () => void): CompareRow {
  const { iterationMs, bubbleRate, memory } = candidate;
  const verdict = memoryVerdict(memory);
  const needs = neededFor(candidate.schedule, plan.request);
  const surface = miniTimeline(candidate, scale.longestMs);
  const button = h(
    'button',
    { class: 'link', type: 'button', 'data-focus': `candidate-${candidate.id}`, title: t('Show its timeline') },
    capitalised(say(candidate.name, t)),
  );
  const numeric = (className: string, ...text: readonly Child[]): HTMLElement => h('td', { class: `numeric ${className}` }, ...text);
  const { used, capacity, unit } = bytesOfQuantity(verdict.peakBytes, verdict.usableBytes);
  const element = h(
    'tr',
    { 'data-candidate': candidate.id, onclick: pick },
    h(
      'th',
      { scope: 'row' },
      h(
        'div',
        { class: 'compare-name' },
        button,
        candidate.id === plan.chosen ? h('span', { class: 'tag' }, t('chosen')) : null,
        isTie(plan, candidate)
          ? h('span', { class: 'tag', title: t('Closer to the chosen one than the error bar') }, t('within error'))
          : null,
        needs === null
          ? null
          : h('span', { class: 'compare-needs', title: t('{0} runs it', capitalised(say(needs, t))) }, t('another runtime')),
      ),
    ),
    numeric('compare-step', column.duration(iterationMs)),
    numeric('compare-speed-up', `${column.number(scale.baseline.iterationMs / iterationMs)}x`),
    numeric('compare-bubble', column.percent(bubbleRate)),
    numeric('compare-memory', used, h('span', { class: 'compare-capacity' }, ` / ${capacity}`), ` ${unit}`),
    fitCell(verdict),
    h(
      'td',
      { class: 'compare-timeline' },
      candidate.timeline === null
        ? h('span', { class: 'hint' }, missingText(withheld))
        : h('div', { class: 'compare-canvas' }, surface.canvas),
    ),
  );
  const mark = (isShown: boolean): void => {
    element.classList.toggle('marked', isShown);
    button.setAttribute('aria-current', String(isShown));
  };
  return { element, redraw: surface.redraw, mark };
}

/** Null where there is no timeline to come. */
type Withheld = 'comes' | 'on request' | null;

function missingText(withheld: Withheld): string {
  if (withheld === null) return t('too many operations to draw');
  return withheld === 'comes' ? '' : t('many operations: click to draw them');
}

function fitCell(verdict: MemoryVerdict): HTMLElement {
  const words = say(verdictWord(verdict), t);
  return h(
    'td',
    { class: `fit fit-${verdict.fits ? 'fits' : 'over'}`, title: say(verdictSentence(verdict), t) },
    h('span', { class: 'fit-content' }, icon(verdict.fits ? 'check' : 'error'), h('span', { class: 'fit-words' }, words)),
  );
}

function miniTimeline(candidate: Candidate, longestMs: number): Surface {
  const buffers = makeLaneBuffers();
  return makeSurface('mini-timeline', (target) => {
    const operations = candidateOperations(candidate);
    if (operations === null) return;
    const { width, ...plot } = plotIn(target, {});
    const share = operations.timeline.makespanMs / longestMs;
    drawWholeStep(target, { ...plot, width: Math.max(1, width * share) }, { operations }, buffers);
  });
}
