import * as v from 'valibot';
import { placed, requireRun } from '../../../../core/export/planned-config';
import { formatCount } from '../../../../core/format';
import { resolveRun } from '../../../../core/plan-request/resolve';
import { scenarioText } from '../../../../core/plan-request/scenario';
import { makePlan } from '../../../../core/planner/make-plan';
import { chosenCandidate } from '../../../../core/planner/plan';
import { runFindings } from '../../../../core/rules/run-findings';
import { say } from '../../../../core/sentence';
import { daysReport } from '../../../days/core/report';
import { exactly, runOfPlans } from '../../../days/core/run-of-plans';
import { usualFailures, usualRestart, usualStorage, type Ranged, type WholeRun } from '../../../days/core/whole-run';
import { boundedAnswer, rounded, defineTool } from '../tool';
import { askedEntries } from '../input';
import { loadAsked } from '../load';
import { assumesText, readFromText, runsText, stepText } from '../words';

const above0 = (description: string, most = 1e6) =>
  v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(most), v.description(description)));

export const daysTool = defineTool({
  title: 'Days and cost of a whole run',
  description:
    "Predicts how many days, GPU hours, MWh and how much money a whole training run takes on its layout, each with a range: steps, checkpoints, failures and restarts included. Use it for 'how long does 15T tokens take on 512 GPUs' and 'what does this run cost'. The layout is that of the file and \"set\"; terapipe_search finds a better one. Reads only.",
  input: v.object({
    ...askedEntries,
    tokens: v.optional(
      v.pipe(v.number(), v.minValue(1), v.maxValue(1e18), v.description('Tokens of the whole run, as 15e12; over what the file sets')),
    ),
    price: above0('Price of one GPU for an hour'),
    failures: above0('Failures that stop the run, for 1,000 GPU-days (0.47)'),
    restartMinutes: above0('Minutes from a failure to the first step after it (11)'),
    intervalMinutes: above0('Minutes of training between checkpoints (the interval that loses least)'),
  }),
  example: { path: 'config.json', gpu: 'H100-80GB', nodes: 64, tokens: 15e12, price: 2.5 },
  async run({ tokens, price, failures, restartMinutes, intervalMinutes, ...asked }, host) {
    const { config, texts } = await loadAsked(asked, host);
    const run = requireRun(config);
    const given = (value: number | undefined, usual: Ranged): Ranged => (value === undefined ? usual : exactly(value));
    try {
      const request = resolveRun(run, host.defaults, [], host.signal);
      const plan = makePlan(request, { isCompared: false, drawnOperations: 0, signal: host.signal });
      const chosen = chosenCandidate(plan);
      const { found, fits } = runOfPlans([], plan, tokens ?? plan.request.training.tokens ?? null, {
        failures: given(failures, usualFailures),
        restartMinutes: given(restartMinutes, usualRestart),
        storage: usualStorage,
        totalStorage: null,
        intervalMinutes: intervalMinutes ?? null,
        price: price ?? null,
        overhead: 1,
      });
      const { blocks } = daysReport(run.title, found, fits);
      const rows = blocks.flatMap((block) => block.rows).map((row) => row.map((value) => say(value)).join(': '));
      return boundedAnswer(
        [
          `${run.title}: ${formatCount(found.tokens)} tokens on ${say(scenarioText(plan.request))}.`,
          fits ? null : 'A step does not fit the memory of its GPUs: terapipe_memory has where, terapipe_search a layout that fits.',
          ...rows.map((row) => `${row}.`),
          runsText(plan.request, chosen),
          stepText(plan, chosen),
          assumesText(plan, chosen),
          readFromText(run, texts),
          'Ranges are of the step, of published failure rates, and of storage; give failures, restartMinutes and intervalMinutes of your cluster to narrow them.',
          found.cost === null
            ? 'Next: give price for the cost, or terapipe_where to compare machines.'
            : 'Next: terapipe_where compares machines.',
        ],
        runData(found, fits),
      );
    } catch (error) {
      throw placed(error, run, () => runFindings(run, null));
    }
  },
});

function runData({ gpus, tokens, days, goodput, gpuHours, megawattHours, cost, failures, intervalMinutes }: WholeRun, fits: boolean) {
  const ends = (value: Ranged | null) => (value === null ? null : [rounded(value.low), rounded(value.usual), rounded(value.high)]);
  return {
    fits,
    gpus,
    tokens,
    lowUsualHigh: {
      days: ends(days),
      goodput: ends(goodput),
      failures: ends(failures),
      gpuHours: ends(gpuHours),
      megawattHours: ends(megawattHours),
      cost: ends(cost),
    },
    checkpointEveryMinutes: rounded(intervalMinutes.usual),
  };
}
