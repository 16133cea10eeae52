import { startErrors } from '../../src/core/findings';
import { formatBytes, formatDuration, formatDurationRange, formatPercent, plural } from '../../src/core/format';
import { memoryVerdict } from '../../src/core/memory-model/verdict';
import { bestWay, wayText } from '../../src/core/planner/lengths/length-reasons';
import { largestLoss, type BubbleCause, type Loss } from '../../src/core/planner/explain/losses';
import { stepPartNames } from '../../src/core/planner/explain/step-part-names';
import { chosenCandidate, type Candidate, type Plan } from '../../src/core/planner/plan';
import { slowdownText } from '../../src/core/planner/explain/slower';
import { say } from '../../src/core/sentence';
import type { PageState } from '../../src/protocol/page';
import { fill, h, icon } from '../base/dom';
import { partAttributes } from '../base/parts';
import type { Host } from '../base/host';
import { t } from '../base/strings';
import { button } from '../base/ui';
import { menuButton } from './menu';
import { openedLayout } from './opened-layout';
import { whenChanged } from './when-changed';

/** One verdict, on top of the page: a screen reader hears it first, and again when an edit changed it. */
interface Glance {
  readonly element: HTMLElement;
  /** Null hides it. A verdict on a file that has errors by now shows how many edits old it is: the last good plan is what is shown. */
  readonly show: (verdict: VerdictText | null, state: PageState) => void;
}

/** The text of a verdict, its first sentence in bold, and what would help. */
export interface VerdictText {
  readonly sentences: readonly string[];
  /** Whether the run cannot be as it is planned. */
  readonly isOver: boolean;
  readonly helps: readonly Help[];
}

interface Help {
  readonly label: string;
  /** Where a narrow page has no room for more next to the verdict. */
  readonly shortLabel?: string;
  /** The one that stays what it is whatever is found; no fix is. */
  readonly isPrimary: boolean;
  readonly act: () => void;
}

/** Verdicts that were made: a page may have that of a plan and that of an elastic run. */
let glances = 0;

/**
 * Makes a verdict; its buttons apply what it suggests.
 * @param lines one: what does not fit into it is in its tooltip, and all fixes but the first in a menu
 */
export function makeGlance(lines: 'one line' | 'as many as it takes' = 'as many as it takes'): Glance {
  const id = `glance-words-${(glances += 1)}`;
  const words = h('p', { class: 'glance-words', id, 'aria-live': 'polite' });
  const help = h('div', { class: 'glance-help' });
  const sign = h('span', { class: 'glance-sign' });
  const element = h(
    'section',
    { class: 'glance', ...partAttributes, 'aria-label': t('Verdict'), 'aria-describedby': id },
    sign,
    words,
    help,
  );
  const changed = whenChanged();
  const isOneLine = lines === 'one line';
  return {
    element,
    show: (verdict, state) => {
      element.hidden = verdict === null;
      if (verdict === null) return;
      const { sentences, isOver, helps } = verdict;
      const refused = refusedText(state);
      const editsAgo = state.error === null && startErrors(state.findings).length === 0 ? 0 : state.staleEdits;
      changed([sentences, refused, isOver, editsAgo, helps.map(({ label }) => label)], () => {
        element.classList.toggle('glance-over', refused !== null || (isOver && editsAgo === 0));
        element.classList.toggle('glance-past', refused === null && editsAgo > 0);
        fill(sign, icon(isOver || refused !== null ? 'error' : 'check'));
        const past = editsAgo === 0 ? '' : `${t('{0} ago:', plural(editsAgo, t('edit'), t('edits')))} `;
        const [ofPlan = '', ...rest] = sentences;
        const shown = [...(refused === null ? [] : [refused]), past + ofPlan, ...rest];
        const [first = '', ...others] = shown.map(kept);
        fill(words, h('strong', {}, first), ...others.flatMap((each) => (isOneLine ? [' ', h('span', {}, each)] : [` ${each}`])));
        if (isOneLine) words.title = shown.join(' ');
        fill(help, ...(isOneLine ? helpMenu(helps) : helps.map(helpButton)));
      });
    },
  };
}

/** That the launcher refuses the files as written, whatever their plan is. Not shown for an opened layout, which is not in the files. */
function refusedText(state: PageState): string | null {
  const errors = startErrors(state.findings).length;
  if (state.plan === null || openedLayout(state) !== null || errors === 0) return null;
  return `${t('Does not start as written: {0}', plural(errors, t('error'), t('errors')))}.`;
}

function helpButton({ label, isPrimary, act }: Help, index: number): HTMLElement {
  return button({ label, focusKey: `verdict-help-${index}`, onClick: act, appearance: isPrimary ? 'primary' : 'secondary' });
}

/** The same with its short label where the page is narrow. Not in a `span`: the toolkit makes that as small as an icon. */
function shortButton(help: Help): HTMLElement {
  const element = helpButton(help, 0);
  const { label, shortLabel } = help;
  if (shortLabel === undefined) return element;
  element.setAttribute('aria-label', label);
  element.title = label;
  fill(element, h('bdi', { class: 'help-long' }, label), h('bdi', { class: 'help-short' }, shortLabel));
  return element;
}

/** The first as a button, the others in a menu. */
function helpMenu([first, ...others]: readonly Help[]): HTMLElement[] {
  if (first === undefined) return [];
  const items = others.map(({ label, act }) => ({ label, run: act }));
  return [shortButton(first), ...(items.length === 0 ? [] : [menuButton(t('Fixes'), items)])];
}

/** The verdict on a candidate of a plan. */
export function planVerdict(plan: Plan, candidate: Candidate, state: PageState, host: Host): VerdictText {
  const { fits } = memoryVerdict(candidate.memory);
  const isHelped = !fits && candidate.id === plan.chosen && openedLayout(state) === null;
  return { sentences: verdictSentences(plan, candidate), isOver: !fits, helps: isHelped ? fitActions(state, host) : [] };
}

/** A number keeps its unit on the same line. */
function kept(text: string): string {
  return text.replace(/(?<=\d) /g, '\u00a0');
}

/** Whether it fits; and where it does, how long a step takes and what most of it is lost to. */
function verdictSentences(plan: Plan, candidate: Candidate): string[] {
  const { fits, tight, roomBytes, crowdedBytes, stage } = memoryVerdict(candidate.memory);
  const range = formatDurationRange(candidate.iterationMs, plan.cost.range);
  const step = [t('{0} per step ({1}).', formatDuration(candidate.iterationMs), range), ...lengthsSentence(plan)];
  if (fits && tight)
    return [t('May not fit: cached blocks need {0} more than there is on stage {1}.', formatBytes(crowdedBytes), stage), ...step];
  if (tight) return [t('May not fit: uses {0} of the safety margin on stage {1}.', formatBytes(-roomBytes), stage), ...step];
  if (!fits) return [t('Does not fit: {0} over on stage {1}.', formatBytes(-roomBytes), stage), ...step];
  const loss = largestLoss(plan, candidate);
  return [
    t('Fits, {0} free.', formatBytes(roomBytes)),
    ...step,
    ...(loss === null ? [] : [t('{0} of it is {1}.', shareWord(loss.share), lossName(loss, candidate.busyMs.length))]),
  ];
}

/** What documents of many lengths take, where they are given: the step above is of sequences that are all as long. */
function lengthsSentence({ overLengths }: Plan): string[] {
  const best = bestWay(overLengths?.ways ?? []);
  if (best === null) return [];
  return [t('With the lengths of your documents {0} expected: {1}.', formatDuration(best.expectedMs), say(wayText(best), t))];
}

/** `Half`, `A third`, or in per cent. */
function shareWord(share: number): string {
  const words = [
    [1 / 4, t('A quarter')],
    [1 / 3, t('A third')],
    [1 / 2, t('Half')],
    [2 / 3, t('Two thirds')],
    [3 / 4, t('Three quarters')],
  ] as const;
  return words.find(([value]) => Math.abs(share - value) <= 0.01)?.[1] ?? formatPercent(share);
}

function lossName({ to, cause, stage }: Loss, stages: number): string {
  const name = say(stepPartNames[to], t);
  return cause === null ? name : t('{0}, mostly {1}', name, causeName(cause, stage, stages));
}

function causeName(cause: BubbleCause, stage: number, stages: number): string {
  if (cause === 'fill') return t('filling and draining the pipeline');
  if (cause === 'data') return t('waiting for other stages');
  if (cause === 'link') return t('waiting for links');
  if (stage === 0) return t('waiting for the first stage, the slowest');
  return stage === stages - 1 ? t('waiting for the last stage, the slowest') : t('waiting for stage {0}, the slowest', stage);
}

/** Fixes that are named next to the search. */
const shownFixes = 2;

/**
 * What would make it fit: a search of layouts, the one button that is always present and always means that; and the cheapest fixes, among
 * them the best layout of a search that has ended. Empty where no finding reports that it does not fit.
 */
function fitActions(state: PageState, host: Host): Help[] {
  const finding = state.findings.find(({ code }) => code === 'memory-over-capacity');
  if (finding === undefined) return [];
  const fixes = finding.fixes.map(({ title, slower = 0 }) => ({
    slower,
    label: say(title, t),
    act: () => host.post({ type: 'fix', code: finding.code, title: say(title) }),
  }));
  const found = foundFix(state, host);
  const cheapest = [...fixes, ...(found === null ? [] : [found])].toSorted((a, b) => a.slower - b.slower).slice(0, shownFixes);
  return [
    { label: t('Search layouts that fit'), shortLabel: t('Search'), isPrimary: true, act: () => openSearch(state, host) },
    ...cheapest.map(({ label, act }) => ({ label, isPrimary: false, act })),
  ];
}

/** Opens the search that ended or is running; else starts one. */
function openSearch({ layout = null }: PageState, host: Host): void {
  const isSearched = layout !== null && (layout.running !== null || (layout.answer !== null && layout.staleEdits === 0));
  if (isSearched) host.post({ type: 'openTab', tab: 'layout', candidate: null });
  else host.post({ type: 'command', command: 'terapipe.searchLayout' });
}

/** The best layout of a search of the files as they are. */
function foundFix({ plan, layout = null }: PageState, host: Host): (Help & { readonly slower: number }) | null {
  if (layout === null) return null;
  const { answer, staleEdits } = layout;
  const best = answer?.plans[answer.best];
  if (plan === null || answer === null || answer.isReadOnly === true || staleEdits > 0 || best?.fits !== true) return null;
  const slower = chosenCandidate(plan).tokensPerSecond / best.tokensPerSecond - 1;
  return {
    slower,
    isPrimary: false,
    label: t('Apply the best layout: fits, {0}', say(slowdownText(slower), t)),
    act: () => host.post({ type: 'applyLayout', point: { answer: answer.id, index: answer.best } }),
  };
}
