import type { CancelSignal } from '../../core/errors';
import type { JudgedChange } from '../../core/checkpoints/judge';
import { checkpointJson } from '../../core/export/checkpoint-json';
import { searchJson } from '../../core/export/search-json';
import { settingsOfFound, type PlanSettings } from '../../core/export/settings-of-plan';
import { column, formatCount, formatDuration, formatDurationRange, formatNumber, formatPercent, plural } from '../../core/format';
import type { LoadedConfig } from '../../core/config-files/load-config';
import { usedText, verdictText } from '../../core/memory-model/verdict';
import { checkpointRemedy, checkpointText, foundCheckpoint } from '../../core/rules/plan/checkpoint-findings';
import { runFindings } from '../../core/rules/run-findings';
import { assumedGpuName, lengthsText, type ResolveDefaults } from '../../core/plan-request/scenario';
import { resolveRun } from '../../core/plan-request/resolve';
import { answerSearch, type SearchUpdate } from '../../core/layout-search/answer';
import { launchedAgainstBest } from '../../core/layout-search/launched';
import { toPlanRequest } from '../../core/layout-search/request-of';
import { toSearchProblem } from '../../core/layout-search/problem';
import { notInFile } from '../../core/domain/capabilities';
import type { SearchKey } from '../../core/domain/layout-choices';
import { assumedBy } from '../../core/layout-search/plans';
import { optimalityGap, stepParts, type FoundPlan, type SearchResult } from '../../core/layout-search/result';
import type { SchedulePhase } from '../../core/layout-search/schedules';
import { runtimeProfile } from '../../core/domain/runtime';
import { isRun } from '../../core/schedules/runtimes';
import {
  gainsOver,
  keptFreeText,
  layoutText,
  notTried,
  ruleOfBest,
  stageLayersText,
  runtimesNeeded,
} from '../../core/layout-search/labels';
import { applyOverrides, settingTexts } from '../../core/terapipe/overrides';
import { costsText, stepShares } from '../../core/planner/explain/limit-labels';
import { printable } from '../../core/text';
import { profilesFolder, readProfiles } from '../../profiler/store';
import type { Answer } from '../answer';
import { placed, planNearby, type Planned } from '../planned';
import { requireRun, type RunConfig } from '../read-config';
import { chosenLayout, type SearchChoice } from '../search-choice';
import type { Terminal } from '../terminal';
import { schemeText } from '../scheme-text';
import { indented, table } from '../table';
import { say, sentence } from '../../core/sentence';

/** Further options of `plan --search`. */
interface SearchingOptions {
  /** Tokens to train on, for GPU hours. */
  readonly tokens: number | null;
  /** Leave out what would help. */
  readonly quick: boolean;
  /** Searched though FILE sets them; null: as is usual of such a file. */
  readonly free: readonly SearchKey[] | null;
  /** Settings that the command line gives. */
  readonly own?: PlanSettings;
}

type Watcher = Pick<Terminal, 'progress' | 'clock'> & { readonly signal: CancelSignal };

/** Milliseconds between two lines of progress. */
const reportEveryMs = 1000;
/** Rows of the front, and of what would help, that are shown. */
const shownFront = 12;
const shownImprovements = 6;

/** `terapipe plan --search`: the best layout for a run, what the files fix kept, and the other layouts. @throws as `searchLayouts`. */
export async function searchAnswer(
  config: LoadedConfig,
  defaults: ResolveDefaults,
  options: SearchingOptions,
  watcher: Watcher,
): Promise<Answer> {
  const result = await searchLayouts(config, defaults, options, watcher);
  const checkpoint = foundCheckpoint(config, requireRun(config), toPlanRequest(result.request, result.best));
  return {
    json: { ...searchJson(result, options.own), ...checkpointJson(checkpoint) },
    text: searchText(result, checkpoint),
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
    const { tokens: tokenBudget, quick } = options;
    const { signal } = watcher;
    return answerSearch(problem, { tokenBudget, improvements: !quick }, { signal, onUpdate: reporter(watcher) });
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

/** @param checkpoint what is judged of the one that the files load, at the best layout. */
function searchText(result: SearchResult, checkpoint: JudgedChange | null): string {
  const { request, best, paretoFront, perSchedule, runnersUp, notFitting, improvements, cost, fixed } = result;
  const section = (title: string, lines: string) => (lines === '' ? [] : [`${title}\n${indented(lines)}`]);
  const { model, training, cluster } = request;
  const shown = improvements.slice(0, shownImprovements).map(({ summary }) => say(summary));
  const over = gainsOver(result);
  const outside = request.capabilities === undefined ? [] : notInFile(request.capabilities);
  const assumed = assumedBy(result).map(({ key, value, reason }) => [printable(key), printable(value), printable(say(reason))]);
  return [
    printable(
      `${request.title}: ${plural(model.layers, 'layer')}, ${plural(training.globalBatch, 'sequence')} of ${say(lengthsText(training))} a step on ${formatCount(result.gpus)} ${cluster.gpu.name}`,
    ),
    indented(table(bestRows(result), [1])),
    ...section('Why', whyText(result)),
    ...section('As launched', launchedText(result)),
    ...section(
      'Checkpoint',
      checkpoint === null ? '' : printable(say(sentence`${checkpointText(checkpoint)}; ${checkpointRemedy(checkpoint)}`)),
    ),
    ...section('Step time against memory', planTable(paretoFront.slice(0, shownFront), 'numbered')),
    ...section('Best of each schedule', planTable(perSchedule)),
    ...section(
      `Not run by ${runtimeProfile(result.request.training).shortName}`,
      [...runtimesNeeded(result), ...notTried(result)].map((needs) => say(needs)).join('\n'),
    ),
    ...section('Runners-up', runnersUp.map(({ plan, why }) => say(sentence`${layoutText(plan.point)}, ${plan.name}: ${why}`)).join('\n')),
    ...section('Faster, but too large', notFitting.map(({ layout, why }) => `${say(layout)}: ${say(why)}`).join('\n')),
    ...section(['What would help, each searched again', ...(over === null ? [] : [say(over)])].join(', '), shown.join('\n')),
    ...section('Searched', searchedText(result)),
    ...section(
      'Times',
      `${printable(say(cost.description))}\n±${formatNumber(cost.errorPercent)} %: ${printable(say(cost.errorBecause))}; those marked ~ are within error of the best`,
    ),
    ...section('Fixed by the files', fixed.filter((key) => !outside.includes(key)).join(', ')),
    ...section(`Not set by files of ${printable(request.capabilities?.name ?? '')}`, outside.join(', ')),
    ...measuredSection(result),
    ...section('Assumed', table(assumed, [1, 2])),
    ...(best.fits ? [] : ['Nothing fits: this is the layout with the least memory.']),
  ].join('\n\n');
}

/** What measured times fix beyond the files. */
function measuredSection({ measured }: SearchResult): string[] {
  if (measured === null) return [];
  const { by, keys, mostMicroBatch } = measured;
  const most = mostMicroBatch === null ? [] : [`micro-batches of at most ${plural(mostMicroBatch, 'sequence')}, as measured`];
  const lines = [...(keys.length > 0 ? [keys.join(', ')] : []), ...most];
  return lines.length > 0 ? [`Fixed by the ${by}\n${indented(lines.join('\n'))}`] : [];
}

/** By what rule the best was taken, and which schedules were searched. */
function whyText(result: SearchResult): string {
  const { request, fixed } = result;
  const { shortName } = runtimeProfile(request.training);
  const isOfRuntime = !fixed.includes('schedule') && request.runs?.every((name) => isRun(name, request)) === true;
  const searched = `schedules are those that ${shortName} runs; --schedules all searches others too`;
  return [say(ruleOfBest(result)), ...(isOfRuntime ? [searched] : [])].join('\n');
}

function launchedText(result: SearchResult): string {
  const against = launchedAgainstBest(result);
  if (against === null) return '';
  const { launched, title, summary } = against;
  return [sentence`${layoutText(launched.point)}, ${launched.name}`, title, summary].map((line) => say(line)).join('\n');
}

function bestRows({ best, cost, tokenBudget }: SearchResult): string[][] {
  const parts = stepParts.map((part) => [part, best.parts[part]] as const);
  const hours =
    best.gpuHours === null || tokenBudget === null
      ? []
      : [['budget', `${formatCount(tokenBudget)} tokens in ${formatCount(best.gpuHours)} GPU hours`]];
  return [
    ['layout', say(layoutText(best.point))],
    ['stages', say(stageLayersText(best.point))],
    ['schedule', say(best.name)],
    ['step', `${formatDuration(best.iterationMs)} (${formatDurationRange(best.iterationMs, cost.range)})`],
    ['costs most', say(costsText(stepShares(parts, best.iterationMs)))],
    ['bubble', formatPercent(best.bubbleRate)],
    ['throughput', `${formatCount(best.tokensPerSecond)} tokens/s, MFU ${formatPercent(best.mfu)}`],
    ['memory', `${usedText(best.verdict)}, ${say(verdictText(best.verdict))}`],
    ...hours,
    ...(best.point.slices > 1 ? [['slices', schemeText(best.scheme)]] : []),
  ];
}

/** Plans as rows; where two have the same words, with the layers of their stages, in which they differ. */
function planTable(plans: readonly FoundPlan[], rows: 'numbered' | 'plain' = 'plain'): string {
  const layoutLabel = ({ point, name }: FoundPlan): string => `${say(layoutText(point))}, ${say(name)}`;
  const words = plans.map(layoutLabel);
  const isTwice = (plan: FoundPlan): boolean => words.filter((each) => each === layoutLabel(plan)).length > 1;
  return table(
    plans.map((plan, index) => [
      ...(rows === 'numbered' ? [`${String(index + 1).padStart(2)}.`] : []),
      `${plan.tie ? '~' : ' '} ${column.duration(plan.iterationMs)}`,
      column.bytes(plan.peakBytes),
      column.percent(plan.bubbleRate),
      say(layoutText(plan.point)),
      isTwice(plan) ? `${say(plan.name)}, ${say(stageLayersText(plan.point))}` : say(plan.name),
    ]),
    rows === 'numbered' ? [4, 5] : [3, 4],
  );
}

function searchedText(result: SearchResult): string {
  const { best, counts, lowerBoundMs, proved, paretoFront } = result;
  const { families, opened, considered, bounded, overMemory, evaluated, planned, tooLarge } = counts;
  const more = paretoFront.length - shownFront;
  const free = keptFreeText(result);
  return [
    `${plural(families, 'layout')}, ${formatCount(opened)} of them cut in ${plural(considered, 'way')}: ${formatCount(overMemory)} ruled out by memory, ${formatCount(bounded)} by time, ${formatCount(evaluated)} simulated${planned > 0 ? `, ${formatCount(planned)} of them with an order planned for their times` : ''}${tooLarge > 0 ? `, ${formatCount(tooLarge)} left out as too large` : ''}`,
    best.fits
      ? `none with equal or solved slices is faster than ${formatDuration(lowerBoundMs)}: ${proved ? 'proved' : `a gap of ${formatPercent(optimalityGap(result))}`}`
      : 'none fits',
    ...(free === null ? [] : [printable(say(free))]),
    ...(more > 0 ? [`${plural(more, 'more plan')} with less memory in --json`] : []),
  ].join('\n');
}
