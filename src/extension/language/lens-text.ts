import { capitalised } from '../../core/text';
import { startErrors } from '../../core/findings';
import { formatDuration, plural } from '../../core/format';
import { microBatchesPerReplica } from '../../core/launchers/layout-sizes';
import { isLauncher } from '../../core/launchers/registry';
import { launchedAgainstBest } from '../../core/layout-search/launched';
import { verdictText } from '../../core/memory-model/verdict';
import type { Plan } from '../../core/planner/plan';
import { scenarioNames, scenarioText, type ScenarioChange } from '../../core/plan-request/scenario';
import { factsOfRun, totalGpus, totalsText } from './launcher-facts';
import type { LayoutSearch } from '../sessions/layout-search-host';
import type { PrefillSession } from '../../features/prefill/vscode/prefills';
import { prefillLens } from '../../features/prefill/vscode/shown';
import { isStale, type SessionState } from '../sessions/session-state';
import { elasticText, planText, planSummary } from '../views/summary';
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

/** Longest error message, which may quote a file, and longest name of a profile that a lens shows whole, characters. */
const longestMessage = 100;
const longestName = 30;

/**
 * The lenses over a config: the verdict of its plan, its time, its layout compared with others, memory, measured times, the run's totals
 * and what freezing layers gains. Together they are short enough for a narrow window.
 */
export function configLenses(
  state: SessionState,
  search: LayoutSearch | null,
  t: Translate,
  { prefill, changes }: LensContext = { prefill: null, changes: [] },
): readonly LensText[] {
  const totals = totalsLens(state, t);
  const elastic = elasticLens(state, t);
  const more = [...(totals === null ? [] : [totals]), ...(elastic === null ? [] : [elastic]), ...prefillLens(state, prefill, t)];
  if (state.plan !== null) return [...planLenses(state, state.plan, search, t), ...changeLens(changes, t), ...more];
  return elastic !== null && state.error === null ? more : [planless(state, t), ...more];
}

function planLenses(state: SessionState, plan: Plan, search: LayoutSearch | null, t: Translate): readonly LensText[] {
  const summary = planSummary(plan);
  const { verdict } = summary;
  const opens = (title: string): LensText => ({ title, runs: 'terapipe.openTimeline', tooltip: t('Open timeline'), isOfFile: true });
  const layouts = layoutLens(state, search, t);
  const used = plan.request.profile?.profile.device.name;
  return [
    ...startLens(state, t),
    ...(isStale(state) ? [opens(t('Before the last edits:'))] : []),
    opens(capitalised(say(verdictText(verdict), t))),
    opens(planText(summary, t)),
    {
      title: say(scenarioText(plan.request), t),
      runs: 'terapipe.changeScenario',
      tooltip: t('Change what is planned for: GPU, nodes, sequence length, batch'),
      isOfFile: true,
    },
    ...(layouts === null ? [] : [layouts]),
    used === undefined
      ? { title: t('Profile here'), runs: 'terapipe.profile', tooltip: t('Measure this layer here'), isOfFile: true }
      : opens(t('Profile: {0}', cut(used, longestName))),
  ];
}

/** What an edit changed of the scenario although no file sets it. */
function changeLens([change]: readonly ScenarioChange[], t: Translate): readonly LensText[] {
  if (change === undefined) return [];
  const { key, from, to, reason } = change;
  const name = say(scenarioNames[key], t);
  const tooltip = reason === null ? key : capitalised(say(reason, t));
  return [{ title: t('{0}: {1}, was {2}', name, to, from), runs: 'terapipe.changeScenario', tooltip, isOfFile: true }];
}

/** That a launcher refuses the files as they are, which a plan of them does not show; null where it starts them. */
export function refusalText({ findings }: Pick<SessionState, 'findings'>, t: Translate): string | null {
  const errors = startErrors(findings).length;
  return errors === 0 ? null : t('Does not start as written: {0}', plural(errors, t('error'), t('errors')));
}

function startLens(state: SessionState, t: Translate): readonly LensText[] {
  const title = refusalText(state, t);
  return title === null ? [] : [{ title, runs: 'workbench.actions.view.problems', tooltip: t('Show problems'), isOfFile: false }];
}

/** While there is no plan: what is under way, or what stops it. */
function planless({ error, progress }: SessionState, t: Translate): LensText {
  const title = progress !== null ? t('Planning…') : error === null ? t('Plan') : t('Plan: {0}', cut(say(error.what, t), longestMessage));
  return { title, runs: 'terapipe.plan', tooltip: t('Plan this model'), isOfFile: true };
}

function layoutLens({ launcher, format }: SessionState, search: LayoutSearch | null, t: Translate): LensText | null {
  const isLaunched = launcher !== null && format !== 'pytorch-schedule' && isLauncher(format);
  // Files that somebody launches, and others once layouts were searched for them.
  if (!isLaunched && search === null) return null;
  const title = layoutLensText(search, t) ?? t('Search layouts');
  return { title, runs: 'terapipe.openLayout', tooltip: t('Compare layouts'), isOfFile: true };
}

/** A launcher's totals; with a plan, whose lenses take room, without the sizes that the file itself names. */
function totalsLens(state: SessionState, t: Translate): LensText | null {
  const { launcher, plan } = state;
  if (launcher === null) return null;
  const facts = factsOfRun(state);
  const gpus = totalGpus(facts, launcher.format);
  const batches = microBatchesPerReplica(facts, launcher.format);
  const isShort = plan !== null && gpus !== null && batches !== null;
  const title = isShort
    ? [plural(gpus, t('GPU'), t('GPUs')), plural(batches, t('micro-batch'), t('micro-batches'))].join(', ')
    : totalsText(facts, launcher, t);
  return title === null ? null : { title, runs: 'terapipe.explorer.focus', tooltip: t('Show models and plans'), isOfFile: false };
}

function elasticLens(state: SessionState, t: Translate): LensText | null {
  if (state.elastic === null) return null;
  const title = aged(state, t('Elastic: {0}', elasticText(state.elastic.plan, t)), t);
  return { title, runs: 'terapipe.openElastic', tooltip: t('Open elastic plan'), isOfFile: true };
}

function aged(state: SessionState, text: string, t: Translate): string {
  return isStale(state) ? t('{0} (before the last edits)', text) : text;
}

function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).trimEnd()}…`;
}

/** A config's own layout compared with the best of a search; null without an answer or a running search. */
function layoutLensText(search: LayoutSearch | null, t: Translate): string | null {
  if (search === null) return null;
  const { answer, running, staleEdits } = search;
  if (answer === null) {
    if (running === undefined) return null;
    const best = running?.kind === 'searching' ? running.best : null;
    return best === null ? t('Layouts: searching…') : t('Layouts: searching, best so far {0}', formatDuration(best.iterationMs));
  }
  const text = againstBest(answer.result, t);
  return staleEdits > 0 ? t('{0} (before the last edits)', text) : text;
}

function againstBest(result: NonNullable<LayoutSearch['answer']>['result'], t: Translate): string {
  const against = launchedAgainstBest(result);
  if (against !== null) return capitalised(say(against.title, t));
  const { best } = result;
  const bestText = formatDuration(best.iterationMs);
  return best.fits ? t('Best layout {0}', bestText) : t('No layout fits; {0} with the least memory', bestText);
}
