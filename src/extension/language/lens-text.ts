import { capitalised } from '../../core/text';
import { startErrors } from '../../core/findings';
import { formatCount, formatDuration, formatTokens, plural } from '../../core/format';
import { isLauncher } from '../../core/launchers/registry';
import { isAsFast, launchedAgainstBest } from '../../core/layout-search/launched';
import { mayFit, verdictText } from '../../core/memory-model/verdict';
import type { Plan } from '../../core/planner/plan';
import { machineText, scenarioNames, scenarioText, type ScenarioChange } from '../../core/plan-request/scenario';
import { factsOfRun } from '../../host/sessions/run-facts';
import { totalsText } from './launcher-facts';
import type { LayoutSearch } from '../../host/sessions/layout-search-host';
import type { PrefillAnswer } from '../../features/prefill/core/answer';
import type { PrefillSession } from '../../features/prefill/host/prefills';
import { isStale, type SessionState } from '../../host/sessions/session-state';
import { elasticText, planText, planSummary } from '../../host/plan-summary';
import { say, type Translate } from '../../core/sentence';

/** Text and command of one lens. */
export interface LensText {
  readonly title: string;
  /** The command that a click runs. */
  readonly runs: string;
  readonly tooltip: string;
  /** Whether the command is about the config, and takes it as its argument. */
  readonly isOfFile: boolean;
}

/** Lens inputs that the session's state does not hold. */
interface LensContext {
  readonly prefill: PrefillSession | null;
  readonly changes: readonly ScenarioChange[];
}

/** Longest text of all lenses of a file together, characters: what a narrow window shows, VS Code's separator (3) included. */
const longestLenses = 80;
const separator = 3;

/** Two lenses over a config: one statement on its plan, and the one action that matters most. */
export function configLenses(
  state: SessionState,
  search: LayoutSearch | null,
  t: Translate,
  { prefill, changes }: LensContext = { prefill: null, changes: [] },
): readonly LensText[] {
  const { plan, elastic, error } = state;
  if (plan !== null) return planLenses(state, plan, { search, prefill, changes }, t);
  if (elastic !== null && error === null) return [elasticLens(state, elastic, longestLenses, t)];
  const totals = totalsLens(state, t);
  return [
    planless(state, longestLenses - (totals === null ? 0 : totals.title.length + separator), t),
    ...(totals === null ? [] : [totals]),
  ];
}

function planLenses(
  state: SessionState,
  plan: Plan,
  { search, prefill, changes }: LensContext & { readonly search: LayoutSearch | null },
  t: Translate,
): readonly LensText[] {
  const next = actionLens(state, plan, { search, prefill, changes }, t);
  const refusal = refusalText(state, t);
  const { stepText } = planSummary(plan);
  const title =
    refusal !== null
      ? [refusal, state.staleEdits > 0 ? t('before: {0} / step', stepText) : t('{0} / step', stepText)].join(between)
      : statement(state, plan, search, longestLenses - separator - next.title.length, t);
  return [{ title, runs: 'terapipe.openTimeline', tooltip: statementTooltip(state, plan, t), isOfFile: true }, next];
}

/**
 * `Fits, 3.3 GiB free · 16.0 s / step · best 14.8 s`; where no search knows a best layout, the GPUs that are planned for.
 * @param longest characters; what is beyond it is left out from the end.
 */
function statement(state: SessionState, plan: Plan, search: LayoutSearch | null, longest: number, t: Translate): string {
  const { verdict, stepText, isWithoutEnds } = planSummary(plan);
  const step = isWithoutEnds ? t('{0} / step without embedding and head', stepText) : t('{0} / step', stepText);
  const fits = say(verdictText(verdict), t);
  const parts = [
    isStale(state) ? t('Before the last edits: {0}', fits) : capitalised(fits),
    step,
    bestText(search, isStale(state), t) ?? planned(plan, t),
  ];
  while (parts.length > 2 && parts.join(between).length > longest) parts.pop();
  return cut(parts.join(between), longest);
}

const between = ' · ';

/** `8 x H100-80GB, batch 32`. */
function planned({ request }: Plan, t: Translate): string {
  return t('{0}, batch {1}', machineText(request), formatCount(request.training.globalBatch));
}

/** The best layout of a search; null where none is known. @param isAged the statement already names that it is of before the last edits. */
function bestText(search: LayoutSearch | null, isAged: boolean, t: Translate): string | null {
  if (search === null) return null;
  const { answer, running, staleEdits } = search;
  if (answer === null) {
    const best = running?.kind === 'searching' ? running.best : null;
    return best === null ? null : t('best so far {0}', formatDuration(best.iterationMs));
  }
  const { best, launched } = answer.result;
  if (!best.fits) return t('no layout fits');
  const time = formatDuration(best.iterationMs);
  if (staleEdits > 0 && !isAged) return t('earlier best {0}', time);
  return launched !== null && isAsFast(launched, best) ? t('best layout') : t('best {0}', time);
}

/** What the statement is of, and the rest of its numbers. */
function statementTooltip(state: SessionState, plan: Plan, t: Translate): string {
  const totals = state.launcher === null ? null : totalsText(factsOfRun(state), state.launcher, t);
  const lines = [say(scenarioText(plan.request), t), planText(planSummary(plan), t), totals];
  return [...lines.filter((line) => line !== null), t('Open timeline')].join('; ');
}

/** The one action that matters most: what does not start or fit is mended first, then what is faster is shown. */
function actionLens(
  state: SessionState,
  plan: Plan,
  { search, prefill, changes }: LensContext & { readonly search: LayoutSearch | null },
  t: Translate,
): LensText {
  const ofFile = (title: string, runs: string, tooltip: string): LensText => ({ title, runs, tooltip, isOfFile: true });
  if (refusalText(state, t) !== null) return problemsLens(t);
  const isSearched = search !== null && (search.answer !== null || search.running !== undefined);
  const better = search?.answer?.result;
  const [change] = changes;
  if (!mayFit(planSummary(plan).verdict)) {
    if (better?.best.fits === true) return ofFile(t('Show best layout'), 'terapipe.openLayout', t('Compare layouts'));
    return isSearched ? problemsLens(t) : ofFile(t('Search layouts'), 'terapipe.openLayout', t('Search layouts that fit'));
  }
  if (change !== undefined) return changeLens(change, t);
  if (state.elastic !== null) return elasticLens(state, state.elastic, longestAction, t);
  const prompt = prefill?.answer ?? null;
  if (prompt !== null) return prefillLens(prompt, t);
  if (better !== undefined) {
    const isBest = better.launched !== null && isAsFast(better.launched, better.best);
    const against = launchedAgainstBest(better);
    const tooltip = against === null ? t('Compare layouts') : capitalised(say(against.title, t));
    return ofFile(isBest ? t('Compare layouts') : t('Show best layout'), 'terapipe.openLayout', tooltip);
  }
  if (isSearched) return ofFile(t('Searching layouts…'), 'terapipe.openLayout', t('Compare layouts'));
  if (isLaunched(state)) return ofFile(t('Search layouts'), 'terapipe.openLayout', t('Compare layouts'));
  return ofFile(t('Open timeline'), 'terapipe.openTimeline', t('Open timeline'));
}

/** Characters that an action whose text has numbers may take; a statement has the rest. */
const longestAction = 30;

/** A launcher's file, whose layout somebody launches. */
function isLaunched({ launcher, format }: SessionState): boolean {
  return launcher !== null && format !== 'pytorch-schedule' && isLauncher(format);
}

function problemsLens(t: Translate): LensText {
  return { title: t('Show problems'), runs: 'workbench.actions.view.problems', tooltip: t('Show problems'), isOfFile: false };
}

/** What an edit changed of the scenario although no file sets it. */
function changeLens({ key, from, to, reason }: ScenarioChange, t: Translate): LensText {
  const name = say(scenarioNames[key], t);
  const tooltip = reason === null ? key : capitalised(say(reason, t));
  const title = cut(t('{0}: {1}, was {2}', name, to, from), longestAction);
  return { title, runs: 'terapipe.changeScenario', tooltip, isOfFile: true };
}

/** That a launcher refuses the files as they are, which a plan of them does not show; null where it starts them. */
export function refusalText({ findings }: Pick<SessionState, 'findings'>, t: Translate): string | null {
  const errors = startErrors(findings).length;
  return errors === 0 ? null : t('Does not start as written: {0}', plural(errors, t('error'), t('errors')));
}

/** While there is no plan: what is under way, or what stops it. */
function planless({ error, progress, findings }: SessionState, longest: number, t: Translate): LensText {
  // what a launcher refuses stops a run before what the planner cannot count
  const stops = startErrors(findings)[0]?.message ?? error?.what;
  const title = progress !== null ? t('Planning…') : stops === undefined ? t('Plan') : t('Plan: {0}', say(stops, t));
  return { title: cut(title, longest), runs: 'terapipe.plan', tooltip: t('Plan this model'), isOfFile: true };
}

/** A launcher's totals while it is not planned. */
function totalsLens(state: SessionState, t: Translate): LensText | null {
  const { launcher } = state;
  const title = launcher === null ? null : totalsText(factsOfRun(state), launcher, t);
  if (title === null) return null;
  return { title: cut(title, longestTotals), runs: 'terapipe.explorer.focus', tooltip: t('Show models and plans'), isOfFile: false };
}

/** Characters of the totals, which leave room for what stops planning. */
const longestTotals = 48;

function elasticLens(state: SessionState, { plan }: NonNullable<SessionState['elastic']>, longest: number, t: Translate): LensText {
  const title = t('Elastic: {0}', elasticText(plan, t));
  const aged = isStale(state) ? t('{0} (before the last edits)', title) : title;
  return { title: cut(aged.length <= longest ? aged : title, longest), runs: 'terapipe.openElastic', tooltip: aged, isOfFile: true };
}

function prefillLens({ asked, prefill }: PrefillAnswer, t: Translate): LensText {
  const text = t('First token of {0} in {1}', formatTokens(asked.tokens), formatDuration(prefill.timeToFirstTokenMs));
  const title = t('First token in {0}', formatDuration(prefill.timeToFirstTokenMs));
  return { title: cut(title, longestAction), runs: 'terapipe.planPrefill', tooltip: text, isOfFile: true };
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}
