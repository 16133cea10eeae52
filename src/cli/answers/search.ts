import type { JudgedChange } from '../../core/checkpoints/judge';
import type { LoadedConfig } from '../../core/config-files/load-config';
import type { SearchKey } from '../../core/domain/layout-choices';
import { gpusUsed } from '../../core/domain/request';
import { runtimeProfile } from '../../core/domain/runtime';
import type { CancelSignal } from '../../core/errors';
import { checkpointJson } from '../../core/export/checkpoint-json';
import { placed, type Planned, requireRun } from '../../core/export/planned-config';
import { searchJson } from '../../core/export/search-json';
import { settingsOfFound, type PlanSettings } from '../../core/export/settings-of-plan';
import { formatCount, formatDuration, formatDurationRange, formatPercent, plural } from '../../core/format';
import { isEditable } from '../../core/launchers/registry';
import { answerSearch, type SearchUpdate } from '../../core/layout-search/answer';
import { bestOfTies, layoutText, stageLayersText } from '../../core/layout-search/labels';
import { launchedAgainstBest } from '../../core/layout-search/launched';
import { sameTime } from '../../core/layout-search/search-problem';
import { toSearchProblem } from '../../core/layout-search/problem';
import { toPlanRequest } from '../../core/layout-search/request-of';
import { optimalityGap, stepParts, type SearchResult } from '../../core/layout-search/result';
import type { SchedulePhase } from '../../core/layout-search/schedules';
import { usedText, verdictText } from '../../core/memory-model/verdict';
import { resolveRun } from '../../core/plan-request/resolve';
import { assumedGpuName, scenarioText, type ResolveDefaults } from '../../core/plan-request/scenario';
import { costsText, stepShares } from '../../core/planner/explain/limit-labels';
import { trainingCost, trainingCostText } from '../../core/planner/training-cost';
import { checkpointRemedy, checkpointText, foundCheckpoint } from '../../core/rules/plan/checkpoint-findings';
import { runFindings } from '../../core/rules/run-findings';
import { neededFor } from '../../core/schedules/runtimes';
import { say, sentence } from '../../core/sentence';
import { applyOverrides, settingTexts } from '../../core/terapipe/overrides';
import { printable } from '../../core/text';
import { profilesFolder } from '../../profiler/folder';
import { readProfiles } from '../../profiler/store';
import type { Answer } from '../answer';
import { neededRow, throughputText } from '../answer-rows';
import type { Line } from '../command';
import { exportFormatNamed, exportNames } from '../export-formats';
import { nextCommand } from '../next-command';
import { planNearby } from '../planned';
import type { RunConfig } from '../read-config';
import { schemeText } from '../scheme-text';
import { chosenLayout, type SearchChoice } from '../search-options';
import { indented, section, table } from '../table';
import type { Terminal } from '../terminal';
import { lastingErrors, type ReadChanged } from './lasting-errors';
import { searchDetails } from './search-details';

/** Further options of `plan --search`. */
interface SearchingOptions {
  /** Search again with changes, for what would help most. */
  readonly improvements: boolean;
  /** Searched though FILE sets them; null: as is usual of such a file. */
  readonly free: readonly SearchKey[] | null;
  /** The tables of the answer whole, as usual; `false`: only what is near the best. */
  readonly tables?: boolean;
  /** Settings that the command line gives. */
  readonly own?: PlanSettings;
}

/** What the next step is made from: the command line, and how the file is read once a layout is in it. */
interface NextStep {
  readonly line: Line;
  readonly readChanged: ReadChanged;
}

/** How a search is printed: with everything that it found, or only the answer; and with the next step. */
interface SearchPrinting {
  readonly all?: boolean;
  readonly after?: NextStep;
}

type Watcher = Pick<Terminal, 'progress' | 'clock'> & { readonly signal: CancelSignal };

/** Where the next command writes, which makes it. */
const bestFolder = 'best/';
/** Milliseconds between two lines of progress. */
const reportEveryMs = 1000;
/** Runners-up of a short answer. */
const shownRunnersUp = 3;

/** `terapipe plan --search`: the best layout for a run, what the files fix kept, and the other layouts. @throws as `searchLayouts`. */
export async function searchAnswer(
  config: LoadedConfig,
  defaults: ResolveDefaults,
  { all = false, after, ...options }: SearchingOptions & SearchPrinting,
  watcher: Watcher,
): Promise<Answer> {
  const result = await searchLayouts(config, defaults, options, watcher);
  const run = requireRun(config);
  const checkpoint = foundCheckpoint(config, run, toPlanRequest(result.request, result.best));
  const next = after === undefined ? null : await nextText(after, config, result, options.own ?? {});
  return {
    json: { ...searchJson(result, options.own), ...checkpointJson(checkpoint) },
    text: [
      ...answerText(result, next),
      ...checkpointSection(checkpoint),
      ...(all ? searchDetails(result) : runnersUpText(result)),
      ...(result.best.fits ? [] : ['Nothing fits: this is the layout with the least memory.']),
    ].join('\n\n'),
    exitCode: result.best.fits ? 0 : 1,
  };
}

/** A layout of a search that is not the best, planned with the settings that give it. @throws as `chosenLayout` and `planNearby`. */
export async function plannedChoice(
  config: RunConfig,
  defaults: ResolveDefaults,
  { own, choice, ...options }: SearchingOptions & { readonly choice: SearchChoice },
  terminal: Terminal,
): Promise<{ readonly planned: Planned; readonly settings: PlanSettings }> {
  const result = await searchLayouts(config, defaults, options, terminal);
  const settings = settingsOfFound(result, chosenLayout(result, choice), own ?? {});
  const run = applyOverrides(config.run, settingTexts(Object.entries(settings)), assumedGpuName);
  return { planned: await planNearby({ ...config, run }, defaults, terminal.status), settings };
}

/** Searches the layouts of a run. @throws ExpectedError of the planner and the search, placed; CancelledError. */
export async function searchLayouts(
  config: LoadedConfig,
  defaults: ResolveDefaults,
  options: SearchingOptions,
  watcher: Watcher,
): Promise<SearchResult> {
  const run = requireRun(config);
  try {
    const { found } = await readProfiles(profilesFolder(run.file));
    const problem = toSearchProblem(run, resolveRun(run, defaults, found), options.free);
    return answerSearch(problem, options, { signal: watcher.signal, onUpdate: reporter(watcher) });
  } catch (error) {
    throw placed(error, run, () => runFindings(run, null));
  }
}

/** What a search does in each of its phases. */
const doing: Readonly<Record<SchedulePhase, string>> = {
  usual: 'searching',
  others: 'searching other schedules',
  slices: 'solving for slices',
  planned: 'planning orders',
};

/** Lines on how far the search is, now and then. */
function reporter({ progress, clock }: Watcher): (update: SearchUpdate) => void {
  let nextMs = clock() + reportEveryMs;
  return (update) => {
    if (update.kind === 'helping') progress(`searching with ${say(update.change)}`);
    if (update.kind !== 'searching' || clock() < nextMs) return;
    nextMs = clock() + reportEveryMs;
    const { best, lowerBoundMs, counts, phase } = update;
    const bound = lowerBoundMs > 0 ? `, bound ${formatDuration(lowerBoundMs)}` : '';
    const found = best === null ? 'nothing that fits yet' : `best ${formatDuration(best.iterationMs)}${bound}`;
    progress(
      `${doing[phase]}: ${found}; ${formatCount(counts.families + counts.considered)} considered, ${formatCount(counts.evaluated)} simulated`,
    );
  };
}

/** The best layout in a few rows, and how sure it is. */
function answerText(result: SearchResult, next: string | null): string[] {
  const { request } = result;
  const { model } = request;
  const scenario = scenarioText({ ...request, layout: { ...request.layout, ...result.best.point.layout } });
  const rows = [...bestRows(result), ...launchedRow(result), ['proof', proofText(result)], ...(next === null ? [] : [['next', next]])];
  return [printable(`${request.title}: ${plural(model.layers, 'layer')} on ${say(scenario)}`), indented(table(rows, [1]))];
}

function bestRows({ request, best, cost }: SearchResult): string[][] {
  const { point, scheme, iterationMs } = best;
  const parts = stepParts.map((part) => [part, best.parts[part]] as const);
  const run = trainingCost({ ...request, layout: point.layout }, best.tokensPerSecond);
  const isEven = new Set(point.stageLayers).size === 1;
  return [
    ['best', `${say(layoutText(point))}, ${say(best.name)}`],
    ...neededRow(neededFor(point.schedule, request)),
    ...(isEven ? [] : [['stages', say(stageLayersText(point))]]),
    ...(point.slices > 1 ? [['slices', schemeText(scheme)]] : []),
    ['step', `${formatDuration(iterationMs)} (${formatDurationRange(iterationMs, cost.range)})`],
    ['memory', `${usedText(best.verdict)}, ${say(verdictText(best.verdict))}`],
    ['throughput', throughputText(best, gpusUsed(point.layout))],
    ...(run === null ? [] : [['training', say(trainingCostText(run))]]),
    ['costs most', say(costsText(stepShares(parts, iterationMs)))],
  ];
}

function launchedRow(result: SearchResult): string[][] {
  const against = launchedAgainstBest(result);
  return against === null
    ? []
    : [['as launched', `${say(layoutText(against.launched.point))}, ${say(against.launched.name)}: ${say(against.verdict)}`]];
}

/** What the search knows of layouts that it did not simulate. */
function proofText(result: SearchResult): string {
  const { best, counts, lowerBoundMs, proved } = result;
  const of = plural(counts.families, 'layout');
  if (!best.fits) return `none of ${of} fits`;
  const bound = `none of ${of} is faster than ${formatDuration(lowerBoundMs)}: ${proved ? 'proved' : `a gap of ${formatPercent(optimalityGap(result))}`}`;
  const tie = bestOfTies(result);
  return tie === null ? bound : `${bound}; layouts within ${formatPercent(sameTime - 1)} count as equal, the best is ${say(tie)}`;
}

/** What is judged of the checkpoint that the files load, at the best layout. */
function checkpointSection(checkpoint: JudgedChange | null): string[] {
  if (checkpoint === null) return [];
  return section('Checkpoint', printable(say(sentence`${checkpointText(checkpoint)}; ${checkpointRemedy(checkpoint)}`)));
}

function runnersUpText({ runnersUp }: SearchResult): string[] {
  const lines = runnersUp.slice(0, shownRunnersUp).map(({ plan, why }) => say(sentence`${layoutText(plan.point)}, ${plan.name}: ${why}`));
  return section('Runners-up', lines.join('\n'));
}

/** What to do next: the remedy of an error that the best layout has too, or the command that writes that layout. */
async function nextText(
  { line, readChanged }: NextStep,
  config: LoadedConfig,
  result: SearchResult,
  own: PlanSettings,
): Promise<string | null> {
  const run = requireRun(config);
  const [lasting] = await lastingErrors(config, run, result, { own, readChanged });
  if (lasting !== undefined) return printable(say(lasting.remedy));
  return result.best.fits ? exportCommand(line, run, result) : null;
}

/** The command that writes the best layout: into FILE's own kind, or for the runtime that it was searched for; null without such files. */
function exportCommand(line: Line, run: RunConfig['run'], { request }: SearchResult): string | null {
  const { id } = runtimeProfile(request.training);
  if (isEditable(run.format)) return nextCommand(line, 'export', { words: ['--search', '--out', bestFolder] });
  const isWritten = exportNames.some((name) => name === id && exportFormatNamed(name).into.length > 0);
  return isWritten ? nextCommand(line, 'export', { words: ['--search', '--to', id, '--out', bestFolder] }) : null;
}
