import * as v from 'valibot';
import { freeNames, searchKeys, type SearchKey } from '../../../../core/domain/layout-choices';
import { CancelledError, ExpectedError } from '../../../../core/errors';
import { runFindings } from '../../../../core/rules/run-findings';
import { placed } from '../../../../core/export/planned-config';
import { settingsOfFound } from '../../../../core/export/settings-of-plan';
import { formatCount, formatDuration, formatDurationRange, formatPercent } from '../../../../core/format';
import { answerSearch } from '../../../../core/layout-search/answer';
import { layoutText, stageLayersText } from '../../../../core/layout-search/labels';
import { launchedAgainstBest } from '../../../../core/layout-search/launched';
import { toSearchProblem } from '../../../../core/layout-search/problem';
import { optimalityGap, type SearchResult } from '../../../../core/layout-search/result';
import type { SearchProblem } from '../../../../core/layout-search/search-problem';
import { usedText, verdictText } from '../../../../core/memory-model/verdict';
import { resolveRun } from '../../../../core/plan-request/resolve';
import { scenarioText } from '../../../../core/plan-request/scenario';
import { say, sentence } from '../../../../core/sentence';
import { boundedAnswer, few, rounded } from '../answer';
import { askedEntries } from '../input';
import { loadAsked, askedRun } from '../load';
import { defineTool, type ToolAnswer, type ToolHost } from '../tool';
import { memoryData } from '../words';

export const searchTool = defineTool({
  title: 'Best layout for a cluster',
  description:
    'Searches tensor, pipeline, data, context and expert sizes, stages, micro-batch, schedule and recompute for the fastest step that fits, with a bound that proves it. What the file or "set" fixes stays, unless "free" names it. Use it for \'which TP/PP/DP should I use on N GPUs\'. It may take tens of seconds: it reports progress, can be cancelled, and stops after "seconds". Reads only.',
  input: v.object({
    ...askedEntries,
    free: v.optional(
      v.pipe(
        v.array(v.picklist([...searchKeys, 'none', 'layout', 'all'])),
        v.description('Choices that are searched though the file sets them'),
      ),
    ),
    schedules: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(60))), v.maxLength(20), v.description('Only these schedules'))),
    seconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(600), v.description('Stop after this long (60)'))),
  }),
  example: { path: 'config.json', gpu: 'H100-80GB', gpus: 64, set: { 'training.globalBatch': 512 } },
  async run(asked, host) {
    const set = asked.schedules === undefined ? asked.set : { ...asked.set, schedules: asked.schedules.join(',') };
    const { config } = await loadAsked({ ...asked, ...(set === undefined ? {} : { set }) }, host);
    const run = askedRun({ config, texts: new Map() });
    try {
      const free = asked.free === undefined ? null : freeKeys(asked.free);
      const problem = toSearchProblem(run, resolveRun(run, host.defaults, [], host.signal), free);
      return searched(problem, asked.seconds ?? 60, host);
    } catch (error) {
      throw placed(error, run, () => runFindings(run, null));
    }
  },
});

function freeKeys(names: readonly string[]): readonly SearchKey[] {
  return names.flatMap((name) => (Object.hasOwn(freeNames, name) ? freeNames[name as keyof typeof freeNames] : [name as SearchKey]));
}

function searched(problem: SearchProblem, seconds: number, host: ToolHost): ToolAnswer {
  const endMs = host.clock() + 1000 * seconds;
  const signal = {
    get aborted() {
      return host.signal.aborted || host.clock() > endMs;
    },
  };
  try {
    const result = answerSearch(
      problem,
      { improvements: false },
      {
        signal,
        onUpdate: (update) => {
          if (update.kind !== 'searching') return;
          const { best, counts } = update;
          const found = best === null ? 'nothing fits yet' : `best ${formatDuration(best.iterationMs)}`;
          host.progress(`${found}; ${formatCount(counts.evaluated)} layouts simulated`);
        },
      },
    );
    return resultAnswer(result);
  } catch (error) {
    if (!(error instanceof CancelledError) || host.signal.aborted) throw error;
    throw new ExpectedError(
      'search-time',
      sentence`The search did not end within ${seconds} s`,
      sentence`give more "seconds", fix some sizes in "set", or name fewer "schedules"`,
    );
  }
}

function resultAnswer(result: SearchResult): ToolAnswer {
  const { request, best, cost, counts, proved, lowerBoundMs, runnersUp, notFitting } = result;
  const { point } = best;
  const launched = launchedAgainstBest(result);
  const settings = settingsOfFound(result, best, {});
  const scenario = scenarioText({ ...request, layout: { ...request.layout, ...point.layout } });
  return boundedAnswer(
    [
      `${request.title} on ${say(scenario)}.`,
      best.fits ? null : 'Nothing fits: this is the layout with the least memory.',
      `Best: ${say(layoutText(point))}, ${say(best.name)}${new Set(point.stageLayers).size > 1 ? `, ${say(stageLayersText(point))}` : ''}.`,
      `A step takes ${formatDuration(best.iterationMs)} (${formatDurationRange(best.iterationMs, cost.range)}), bubble ${formatPercent(best.bubbleRate)}, MFU ${formatPercent(best.mfu)}.`,
      `Memory: ${usedText(best.verdict)}, ${say(verdictText(best.verdict))}.`,
      launched === null ? null : `As launched, ${say(layoutText(launched.launched.point))}: ${say(launched.title)}.`,
      best.fits
        ? `${proved ? 'Proved' : `Within ${formatPercent(optimalityGap(result))}`}: none of ${formatCount(counts.families)} layouts is faster than ${formatDuration(lowerBoundMs)}.`
        : null,
      ...few(runnersUp, 4).map(({ plan, why }) => `Runner-up ${say(layoutText(plan.point))}, ${say(plan.name)}: ${say(why)}.`),
      ...few(notFitting, 2).map(({ layout, why }) => `Too large: ${say(layout)}: ${say(why)}.`),
      `Range: ${say(cost.errorBecause)}; layouts within it are ties.`,
      'Next: terapipe_patch with these settings gives the change of the file as a diff; the person decides whether it is written.',
    ],
    {
      fits: best.fits,
      proved,
      stepMs: rounded(best.iterationMs),
      memory: memoryData(best.verdict),
      set: few(Object.entries(settings), 24).reduce<Record<string, unknown>>((all, [key, value]) => ({ ...all, [key]: value }), {}),
    },
  );
}
