import * as v from 'valibot';
import type { PlanRequest } from '../../../../core/domain/request';
import type { CostProvenance } from '../../../../core/domain/slice-cost';
import { freeNames, searchKeys, type SearchKey } from '../../../../core/domain/layout-choices';
import { ExpectedError } from '../../../../core/errors';
import { runFindings } from '../../../../core/rules/run-findings';
import { placed } from '../../../../core/export/planned-config';
import { settingsOfFound } from '../../../../core/export/settings-of-plan';
import { formatCount, formatDuration, formatDurationRange, formatPercent } from '../../../../core/format';
import { createDescriber } from '../../../../core/layout-search/describe';
import { createEvaluator } from '../../../../core/layout-search/evaluate';
import { layoutText, stageLayersText } from '../../../../core/layout-search/labels';
import { launchedAgainstBest } from '../../../../core/layout-search/launched';
import { toSearchProblem } from '../../../../core/layout-search/problem';
import { optimalityGap, type FoundPlan, type SearchResult } from '../../../../core/layout-search/result';
import type { SearchProblem } from '../../../../core/layout-search/search-problem';
import { usedText, verdictText } from '../../../../core/memory-model/verdict';
import { costProvenance } from '../../../../core/time-model/provenance';
import { resolveRun } from '../../../../core/plan-request/resolve';
import { scenarioText } from '../../../../core/plan-request/scenario';
import { say, sentence } from '../../../../core/sentence';
import { boundedAnswer, few, rounded, defineTool, type ToolAnswer, type ToolHost } from '../tool';
import { askedEntries } from '../input';
import { loadAsked, askedRun } from '../load';
import { searchFor, type FoundSoFar } from '../timed-search';
import { memoryData } from '../words';

export const searchTool = defineTool({
  title: 'Best layout for a cluster',
  description:
    'Searches tensor, pipeline, data, context and expert sizes, stages, micro-batch, schedule and recompute for the fastest step that fits, with a bound that proves it. What the file or "set" fixes stays, unless "free" names it. Use it for \'which TP/PP/DP should I use on N GPUs\'. It answers after "seconds", or up to 30 until something fits, with the best so far and a bound where one is known; to end it may take tens of seconds. It reports progress and can be cancelled. Reads only.',
  input: v.object({
    ...askedEntries,
    free: v.optional(
      v.pipe(
        v.array(v.picklist([...searchKeys, 'none', 'layout', 'all'])),
        v.description('Choices that are searched though the file sets them'),
      ),
    ),
    schedules: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(60))), v.maxLength(20), v.description('Only these schedules'))),
    seconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(600), v.description('Stop after this long (2) with the best so far'))),
  }),
  example: { path: 'config.json', gpu: 'H100-80GB', gpus: 64, set: { 'training.globalBatch': 512 } },
  async run(asked, host) {
    const set = asked.schedules === undefined ? asked.set : { ...asked.set, schedules: asked.schedules.join(',') };
    const { config } = await loadAsked({ ...asked, ...(set === undefined ? {} : { set }) }, host);
    const run = askedRun({ config, texts: new Map() });
    try {
      const free = asked.free === undefined ? null : freeKeys(asked.free);
      const problem = toSearchProblem(run, resolveRun(run, host.defaults, [], host.signal), free);
      return searched(problem, asked.seconds ?? 2, host);
    } catch (error) {
      throw placed(error, run, () => runFindings(run, null));
    }
  },
});

function freeKeys(names: readonly string[]): readonly SearchKey[] {
  return names.flatMap((name) => (Object.hasOwn(freeNames, name) ? freeNames[name as keyof typeof freeNames] : [name as SearchKey]));
}

/** Time for the first layout that fits, s: without one there is no answer. */
const secondsToFirst = 30;

function searched(problem: SearchProblem, seconds: number, host: ToolHost): ToolAnswer {
  const search = searchFor(problem, { seconds, toFirst: secondsToFirst }, host);
  if (search.isDone) return resultAnswer(search.result);
  if (search.found !== null) return soFarAnswer(problem, search.found, search.seconds);
  throw new ExpectedError(
    'search-time',
    sentence`Nothing that fits was found within ${Math.max(seconds, secondsToFirst)} s`,
    sentence`give more "seconds", fix some sizes in "set", or name fewer "schedules"`,
  );
}

/** What was found when the time was up. */
function soFarAnswer(problem: SearchProblem, { best: { point }, lowerBoundMs, counts }: FoundSoFar, seconds: number): ToolAnswer {
  const { request } = problem;
  const evaluator = createEvaluator(request);
  const best = createDescriber(problem, evaluator).plan(point);
  const cost = costProvenance(request, evaluator.pipeline(best.point));
  return boundedAnswer(
    [
      ...bestLines(request, best, cost),
      `The search was not done after ${seconds.toPrecision(2)} s, with ${formatCount(counts.evaluated)} layouts simulated: ${
        lowerBoundMs > 0 ? `none is faster than ${formatDuration(lowerBoundMs)}` : 'how much faster another is, is not known yet'
      }.`,
      'Next: the same with more "seconds" (60 ends most searches), for runners-up and a proof.',
    ],
    { ...bestData(request, best), finished: false, proved: false },
  );
}

/** The best layout in sentences, and how sure its time is. */
function bestLines(request: PlanRequest, best: FoundPlan, cost: CostProvenance): readonly (string | null)[] {
  const { point } = best;
  const cut = new Set(point.stageLayers).size > 1 ? `, ${say(stageLayersText(point))}` : '';
  return [
    `${request.title} on ${say(scenarioText({ ...request, layout: { ...request.layout, ...point.layout } }))}.`,
    best.fits ? null : 'Nothing fits: this is the layout with the least memory.',
    `Best: ${say(layoutText(point))}, ${say(best.name)}${cut}.`,
    `A step takes ${formatDuration(best.iterationMs)} (${formatDurationRange(best.iterationMs, cost.range)}), bubble ${formatPercent(best.bubbleRate)}, MFU ${formatPercent(best.mfu)}.`,
    `Memory: ${usedText(best.verdict)}, ${say(verdictText(best.verdict))}.`,
  ];
}

function bestData(request: PlanRequest, best: FoundPlan): ToolAnswer['data'] {
  return {
    fits: best.fits,
    stepMs: rounded(best.iterationMs),
    memory: memoryData(best.verdict),
    set: Object.fromEntries(few(Object.entries(settingsOfFound({ request }, best, {})), 24)),
  };
}

function resultAnswer(result: SearchResult): ToolAnswer {
  const { request, best, cost, counts, proved, lowerBoundMs, runnersUp, notFitting } = result;
  const launched = launchedAgainstBest(result);
  return boundedAnswer(
    [
      ...bestLines(request, best, cost),
      launched === null ? null : `As launched, ${say(layoutText(launched.launched.point))}: ${say(launched.verdict)}.`,
      best.fits
        ? `${proved ? 'Proved' : `Within ${formatPercent(optimalityGap(result))}`}: none of ${formatCount(counts.families)} layouts is faster than ${formatDuration(lowerBoundMs)}.`
        : null,
      ...few(runnersUp, 4).map(({ plan, why }) => `Runner-up ${say(layoutText(plan.point))}, ${say(plan.name)}: ${say(why)}.`),
      ...few(notFitting, 2).map(({ layout, why }) => `Too large: ${say(layout)}: ${say(why)}.`),
      `Range: ${say(cost.errorBecause)}; layouts within it are ties.`,
      'Next: terapipe_patch with these settings gives the change of the file as a diff; the person decides whether it is written.',
    ],
    { ...bestData(request, best), finished: true, proved },
  );
}
