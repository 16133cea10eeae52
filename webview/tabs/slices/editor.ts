import { formatBytes, formatDuration, formatPercent } from '../../../src/core/format';
import type { Candidate, Plan } from '../../../src/core/planner/plan';
import { fill, h } from '../../base/dom';
import { nextFrame } from '../../base/frame';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { makeBars } from '../../charts/memory/bars';
import { makeMiniature } from '../../charts/lanes/whole-step';
import { makeShareStrip, type Share } from './bar';
import { ruleName } from './cuts';
import { busiestStage, sliceRows, type SliceRow } from './groups';
import { makeCutHandles } from './handles';
import { addCut, cutAlike, cutGrid, knownCuts, recut, tryScheme, workShares, type KnownSlices, type Lengths } from './trial';
import { costText, inFlightText } from './words';
import { maximum } from '../../../src/core/numbers';

/** Schedules of more operations are simulated when a cut is let go, not while it is dragged; of rules none is before it is picked. */
const quickOperations = 60_000;
/** More cuts are too close to be taken hold of. */
const mostCuts = 128;

/** What is tried: lengths of a sequence, in the place of the plan's own, on a schedule. */
interface Trial {
  readonly plan: Plan;
  readonly base: Candidate;
  readonly lengths: Lengths;
  readonly rule: KnownSlices['rule'] | null;
  readonly made: Candidate | null;
}

interface CutEditor {
  readonly element: HTMLElement;
  readonly update: (plan: Plan, base: Candidate) => void;
}

/** Slicing schemes above the schedule of one, the cuts of one to be moved, and the memory that is in flight next to it. */
export function makeCutEditor(store: Store): CutEditor {
  let trial: Trial | null = null;
  const ways = h('div', { class: 'cut-ways', role: 'group', 'aria-label': t('Slicing schemes') });
  const answer = h('p', { class: 'cut-answer', 'aria-live': 'polite' });
  const reset = button({ label: t('Back to the plan'), appearance: 'secondary', onClick: () => pick('plan') });
  const add = button({
    label: t('Add a cut'),
    appearance: 'secondary',
    onClick: () => {
      if (trial === null) return;
      const { lengths, plan } = trial;
      const longest = lengths.indexOf(maximum(lengths));
      change(addCut(lengths, longest, cutGrid(plan.request, lengths)), false);
    },
  });
  const strips = makeStrips(() => trial);
  const handles = makeCutHandles({
    lengths: () => trial?.lengths ?? [],
    unit: () => (trial === null ? 1 : cutGrid(trial.plan.request, trial.lengths)),
    onChange: (lengths, moving) => change(lengths, moving),
  });
  strips.ofLengths.append(handles.element);
  const made = (): Candidate | null => trial?.made ?? null;
  const schedule = makeMiniature('cut-lanes', made);
  const memoryText = h('p', { class: 'hint', 'aria-live': 'polite' });
  const bars = makeBars({
    axis: false,
    profile: () => made()?.memory ?? null,
    stage: () => null,
    onPoint: (stage) => {
      const memory = made()?.memory.stages.find((each) => each.stage === stage);
      const candidate = made();
      const rest = candidate === null ? '' : inFlightText(candidate);
      memoryText.textContent = memory === undefined ? rest : t('stage {0}: {1}', memory.stage, formatBytes(memory.peakBytes));
    },
    onPick: (stage) => store.setView({ tab: 'memory', stage }),
  });
  const flow = scheduleFlow(h('div', { class: 'strip-canvas cut-timeline' }, schedule.canvas), bars.canvas, memoryText);
  const element = h(
    'section',
    { class: 'cut-editor', 'aria-label': t('Try other cuts') },
    ways,
    h('div', { class: 'cut-head' }, answer, reset, add),
    strips.element,
    flow,
  );

  function show(): void {
    if (trial === null) return;
    const { base, lengths, made: candidate, rule } = trial;
    answer.textContent = costText(candidate, base);
    answer.classList.toggle('cut-worse', candidate !== null && candidate.iterationMs > base.iterationMs * (1 + 1e-6));
    memoryText.textContent = candidate === null ? '' : inFlightText(candidate);
    reset.hidden = rule === 'plan';
    handles.element.hidden = lengths.length > mostCuts;
    handles.update();
    strips.redraw();
    schedule.redraw();
    bars.redraw();
    for (const way of ways.querySelectorAll('button')) way.setAttribute('aria-pressed', String(way.dataset['rule'] === rule));
  }

  function change(lengths: Lengths, moving: boolean): void {
    if (trial === null) return;
    const { plan, base, made: before } = trial;
    const own = base.scheme[0]?.tokens ?? [];
    const isPlan = lengths.join() === own.join();
    trial = { ...trial, lengths, rule: isPlan ? 'plan' : null };
    const large = operationCount(base) > quickOperations;
    if (isPlan) trial = { ...trial, made: base };
    else if (!moving || !large) trial = { ...trial, made: tryScheme(plan, base.schedule, recut(base.scheme, own, lengths)) };
    else trial = { ...trial, made: before };
    if (moving) nextFrame(show);
    else show();
  }

  function pick(rule: KnownSlices['rule']): void {
    if (trial === null) return;
    const { plan, base } = trial;
    const way = knownCuts(base).find((each) => each.rule === rule);
    if (way === undefined) return;
    trial = { ...trial, lengths: way.lengths, rule, made: simulateCut(plan, base, way) };
    show();
  }

  return {
    element,
    update: (plan, base) => {
      if (trial?.base === base) return;
      trial = { plan, base, lengths: base.scheme[0]?.tokens ?? [], rule: 'plan', made: base };
      fill(ways, ...knownCuts(base).map((way) => wayButton(plan, base, way, () => pick(way.rule))));
      show();
    },
  };
}

/** The schedule and its memory. */
function scheduleFlow(schedule: HTMLElement, bars: HTMLCanvasElement, memoryText: HTMLElement): HTMLElement {
  const named = (className: string, name: string, ...content: readonly HTMLElement[]): HTMLElement =>
    h('div', { class: className }, h('div', { class: 'slice-name' }, name), ...content);
  return h(
    'div',
    { class: 'cut-flow' },
    named('cut-schedule', t('Schedule with these slices'), schedule),
    named('cut-memory', t('Memory of the stages'), h('div', { class: 'strip-canvas cut-bars' }, bars), memoryText),
  );
}

function operationCount({ scheme, busyMs, chunksPerStage }: Candidate): number {
  return 2 * busyMs.length * chunksPerStage * scheme.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

const known = new WeakMap<Candidate, Map<string, Candidate | null>>();

/** What a known way to cut makes of a plan's candidate; simulated once. */
function simulateCut(plan: Plan, base: Candidate, { rule, lengths }: KnownSlices): Candidate | null {
  if (rule === 'plan') return base;
  const found = known.get(base) ?? new Map<string, Candidate | null>();
  known.set(base, found);
  const made = found.has(rule) ? (found.get(rule) ?? null) : tryScheme(plan, base.schedule, cutAlike(base.scheme, lengths));
  found.set(rule, made);
  return made;
}

/** A way to cut: its lengths in miniature, and what a step with it takes. */
function wayButton(plan: Plan, base: Candidate, way: KnownSlices, onPick: () => void): HTMLElement {
  const made = operationCount(base) > quickOperations ? null : simulateCut(plan, base, way);
  const name = way.rule === 'plan' ? (base.certificate === null ? t('The plan') : ruleName('solved')) : ruleName(way.rule);
  const longer = made === null ? null : made.iterationMs / base.iterationMs - 1;
  const strip = makeShareStrip(() => lengthShares(way.lengths, candidateRows(made), (_, tokens) => tokens));
  strip.redraw();
  return h(
    'button',
    { class: 'cut-way', type: 'button', 'aria-pressed': 'false', 'data-rule': way.rule, 'data-focus': `way-${way.rule}`, onclick: onPick },
    h('span', { class: 'cut-name' }, name),
    h('span', { class: 'cut-strip' }, strip.canvas),
    h('span', { class: 'cut-step' }, made === null ? '' : formatDuration(made.iterationMs)),
    h('span', { class: 'cut-longer' }, longer === null || way.rule === 'plan' ? '' : longerText(longer)),
  );
}

/** `+9.72 %`; `< 0.1 %` where the difference is within error. */
function longerText(longer: number): string {
  if (Math.abs(longer) < 0.001) return '< 0.1 %';
  return `${longer < 0 ? '-' : '+'}${formatPercent(Math.abs(longer))}`;
}

function candidateRows(candidate: Candidate | null): readonly SliceRow[] {
  if (candidate === null) return [];
  return sliceRows(candidate.scheme, candidate.timeline, busiestStage(candidate.busyMs)).slice(0, candidate.scheme[0]?.tokens.length ?? 0);
}

function lengthShares(lengths: Lengths, rows: readonly SliceRow[], value: (index: number, tokens: number, ms: number) => number): Share[] {
  return lengths.map((tokens, index) => {
    const row = rows[index];
    const ms = row?.tokens === tokens ? (row.forwardMs ?? 0) + (row.backwardMs ?? 0) : 0;
    return { value: value(index, tokens, ms), ms, text: '' };
  });
}

/** Lengths, times and work of the slices of one sequence, each strip as wide as the whole sequence. */
function makeStrips(trial: () => Trial | null): {
  readonly element: HTMLElement;
  readonly ofLengths: HTMLElement;
  readonly redraw: () => void;
} {
  const shares = (
    value: (index: number, tokens: number, ms: number) => number,
    text: (share: Share, tokens: number) => string,
  ): Share[] => {
    const now = trial();
    if (now === null) return [];
    return lengthShares(now.lengths, candidateRows(now.made), value).map((share, index) => ({
      ...share,
      text: text(share, now.lengths[index] ?? 0),
    }));
  };
  const work = (): readonly number[] => {
    const now = trial();
    return now === null ? [] : workShares(now.plan.request, now.lengths);
  };
  const whole = (): number => work().reduce((sum, each) => sum + each, 0);
  const strips = [
    [
      t('Tokens'),
      makeShareStrip(() =>
        shares(
          (_, tokens) => tokens,
          (_, tokens) => String(tokens),
        ),
      ),
    ],
    [
      t('Time'),
      makeShareStrip(() =>
        shares(
          (_, __, ms) => Math.max(ms, 1e-9),
          ({ ms }) => (ms > 0 ? formatDuration(ms) : ''),
        ),
      ),
    ],
    [
      t('Work'),
      makeShareStrip(() => {
        const [of, all] = [work(), whole()];
        return shares(
          (index) => of[index] ?? 0,
          ({ value }) => formatPercent(value / all),
        );
      }),
    ],
  ] as const;
  const boxes = strips.map(([, { canvas }]) => h('div', { class: 'slice-canvas cut-lane' }, canvas));
  return {
    element: h(
      'div',
      { class: 'cut-strips' },
      ...strips.flatMap(([name], index) => [h('span', { class: 'slice-name' }, name), boxes[index] ?? null]),
    ),
    ofLengths: boxes[0] ?? h('div'),
    redraw: () => {
      for (const [, strip] of strips) strip.redraw();
    },
  };
}
