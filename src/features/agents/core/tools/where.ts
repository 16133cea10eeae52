import * as v from 'valibot';
import { ExpectedError } from '../../../../core/errors';
import { formatCount, formatDuration } from '../../../../core/format';
import { isLauncher } from '../../../../core/launchers/registry';
import { createDescriber } from '../../../../core/layout-search/describe';
import { createEvaluator } from '../../../../core/layout-search/evaluate';
import { layoutText } from '../../../../core/layout-search/labels';
import { ownLayout } from '../../../../core/layout-search/own-plans';
import { toSearchProblem } from '../../../../core/layout-search/problem';
import type { FoundPlan } from '../../../../core/layout-search/result';
import type { SearchProblem } from '../../../../core/layout-search/search-problem';
import { usedText, verdictText } from '../../../../core/memory-model/verdict';
import { resolveRun } from '../../../../core/plan-request/resolve';
import { say, sentence } from '../../../../core/sentence';
import { machineNamed, parseMachine, usualMachines, type Machine } from '../../../where/core/machines';
import { planMachines, type FoundPlan as MachinePlan } from '../../../where/core/plan-machines';
import { gpuHourPrice, toPrices } from '../../../where/core/prices';
import { rankMachines, ranksByCost, type RankedMachine } from '../../../where/core/rank';
import { boundedAnswer, few, rounded, defineTool, type ToolHost } from '../tool';
import { askedEntries } from '../input';
import { askedRun, loadAsked } from '../load';
import { searchFor } from '../timed-search';

const above0 = (description: string, most: number) =>
  v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(most), v.description(description)));

/** Machines of an answer. */
const mostShown = 10;

export const whereTool = defineTool({
  title: 'GPUs and cloud machines compared',
  description:
    "Finds the best layout of a run on each of several GPUs or cloud machine types and ranks them: step, GPU hours and cost of a billion tokens, and days and cost of the whole run where tokens are given. Use it for 'H100 or B200', 'which cloud machine', 'what fits my budget'. It answers after \"seconds\", of which each machine has its share, or up to 6 on machines where neither a search in that time nor a plan has a layout that fits. They rank by cost where each has a price, else by GPU hours. Reads only.",
  input: v.object({
    ...askedEntries,
    on: v.optional(
      v.pipe(
        v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(60))),
        v.minLength(1),
        v.maxLength(mostShown),
        v.description('Machines, each with or without its number of GPUs, as H100-80GB:64 or p5.48xlarge; left out: five usual ones'),
      ),
    ),
    prices: v.optional(
      v.pipe(
        v.record(v.pipe(v.string(), v.maxLength(60)), v.number()),
        v.maxEntries(64),
        v.description('Price for an hour: of one GPU by its name, of a whole node by its machine type, as {"H100-80GB": 2.5}'),
      ),
    ),
    tokens: above0('Tokens of the whole run, as 15e12; over what the file sets', 1e18),
    budget: above0('Most that the whole run may cost', 1e18),
    days: above0('Most days that the whole run may take', 1e6),
    seconds: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(600), v.description('Time of all searches together (1.5)'))),
  }),
  example: { path: 'config.json', on: ['H100-80GB:64', 'B200:64'], prices: { 'H100-80GB': 2.5, B200: 4.5 }, tokens: 1e12 },
  async run({ on, prices: written, tokens, budget, days, seconds = 1.5, ...asked }, host) {
    if (tokens === undefined && (budget !== undefined || days !== undefined))
      throw new ExpectedError('agent-question', sentence`A budget and days apply to a whole run`, sentence`give its tokens too`);
    const machines = on === undefined ? usualMachines.map(machineNamed) : on.map(parseMachine);
    const prices = toPrices(Object.entries(written ?? {}));
    const priceFor = (machine: Machine): number | null => gpuHourPrice(prices, machine);
    if (budget !== undefined && machines.every((machine) => priceFor(machine) === null))
      throw new ExpectedError('agent-question', sentence`A budget needs the price of a machine`, sentence`give "prices" of these machines`);
    const shareFor = shares(seconds, machines.length, host);
    let at = 0;
    const run = askedRun(await loadAsked(asked, host));
    const all = tokens ?? run.training.tokens?.value ?? null;
    const { planned, unplanned } = await planMachines(run, machines, {
      free: null,
      search: async (there, free) => {
        const problem = toSearchProblem(there, resolveRun(there, host.defaults, [], host.signal), free);
        return Promise.resolve(bestWithin(problem, shareFor(at), host));
      },
      onMachine: ({ name }, index) => {
        at = index;
        host.progress(`searching on ${name}, ${index + 1} of ${machines.length}`);
      },
    });
    const limits = { tokens: all, budget: budget ?? null, days: days ?? null };
    const ranked = rankMachines(planned, priceFor, limits);
    const isOpen = planned.some(({ plan }) => !plan.result.isDone);
    return boundedAnswer(
      [
        ranked[0] === undefined
          ? 'Nothing was planned on any of these machines.'
          : `${run.title}, ${ranksByCost(ranked) ? 'cheapest' : 'fewest GPU hours'} first:`,
        ...ranked.map((row, index) => `${index + 1}. ${machineText(row)}`),
        ...unplanned.map(({ machine, error }) => `Not planned on ${machine.name}: ${error.message}; ${say(error.remedy)}.`),
        isOpen ? 'Searches marked * were not done: more "seconds" may find faster layouts.' : null,
        ...priceNotes(ranked, budget !== undefined),
        'Steps are predictions: machines that differ by less than 20 % are ties.',
        `Next: terapipe_search with the "set" of a machine over your own${isLauncher(run.format) ? '' : ' and "free": ["layout"]'} for its layout and range.`,
      ],
      {
        tokens: all,
        machines: few(ranked, mostShown).map(machineData),
        notPlanned: few(unplanned, mostShown).map(({ machine, error: { code } }) => ({ machine: machine.name, code })),
      },
    );
  },
});

/** Time of all searches until something fits on each machine, s, where no plan does. */
const secondsToFirst = 6;

/** Times of the search on a machine, by its index: an equal part of what those before it left. */
interface Share {
  readonly seconds: number;
  readonly toFirst: number;
}

function shares(seconds: number, count: number, { clock }: ToolHost): (index: number) => Share {
  const startMs = clock();
  return (index) => {
    const spent = (clock() - startMs) / 1000;
    const part = (all: number): number => Math.max(0, all - spent) / (count - index);
    return { seconds: part(seconds), toFirst: part(Math.max(seconds, secondsToFirst)) };
  };
}

/** What is not known without a price. */
function priceNotes(ranked: readonly RankedMachine[], hasBudget: boolean): string[] {
  const unpriced = [...new Set(ranked.filter(({ price }) => price === null).map(({ machine }) => machine.name))].join(', ');
  if (unpriced === '') return [];
  return [
    ...(ranksByCost(ranked) ? [] : [`No price is assumed: give prices of ${unpriced} to rank by cost.`]),
    ...(hasBudget ? [`The budget was not applied to ${unpriced}, without a price.`] : []),
  ];
}

/** The best layout on a machine, and whether its search was done. */
interface Best {
  readonly best: FoundPlan;
  readonly isDone: boolean;
}

/**
 * The best that was found in time; where nothing was, the layout of a plan, if that fits.
 * @throws ExpectedError `search-time` where nothing fits in time; CancelledError.
 */
function bestWithin(problem: SearchProblem, share: Share, host: ToolHost): Best {
  const own: { plan: FoundPlan | null } = { plan: null };
  const search = searchFor(problem, share, host, () => {
    own.plan = ownLayout(problem, host.signal);
    return own.plan !== null;
  });
  if (search.isDone) return { best: search.result.best, isDone: true };
  if (search.found === null && own.plan !== null) return { best: own.plan, isDone: false };
  if (search.found === null)
    throw new ExpectedError(
      'search-time',
      sentence`Nothing that fits was found within ${formatDuration(1000 * share.toFirst)}`,
      sentence`give more "seconds", more GPUs, or fix some sizes in "set"`,
    );
  return { best: createDescriber(problem, createEvaluator(problem.request)).plan(search.found.best.point), isDone: false };
}

function machineText({
  machine,
  plan,
  gpuHoursPerBillion,
  costPerBillion,
  days,
  cost,
  shortfall,
}: RankedMachine<MachinePlan<Best>>): string {
  const { best, isDone } = plan.result;
  const each = formatCount(Number(gpuHoursPerBillion.toPrecision(3)));
  return [
    `${formatCount(plan.gpus)} x ${machine.name}${isDone ? '' : '*'}: ${say(layoutText(best.point))}, ${say(best.name)}, ${formatDuration(plan.iterationMs)} a step`,
    `${each} GPU hours a billion tokens${costPerBillion === null ? '' : `, cost ${formatCount(Number(costPerBillion.toPrecision(3)))}`}`,
    ...(days === null
      ? []
      : [`whole run ${formatCount(Number(days.toPrecision(3)))} days${cost === null ? '' : `, cost ${formatCount(Math.round(cost))}`}`]),
    `memory ${usedText(best.verdict)}, ${say(verdictText(best.verdict))}`,
    ...(shortfall === null || shortfall === 'does-not-fit' ? [] : [shortfall === 'over-budget' ? 'over budget' : 'takes too long']),
  ].join('; ');
}

function machineData({
  machine,
  plan,
  gpuHoursPerBillion,
  costPerBillion,
  days,
  cost,
  shortfall,
}: RankedMachine<MachinePlan<Best>>): object {
  const number = (value: number | null) => (value === null ? null : rounded(value));
  return {
    machine: machine.name,
    gpus: plan.gpus,
    fits: plan.fits,
    stepMs: rounded(plan.iterationMs),
    gpuHoursPerBillion: rounded(gpuHoursPerBillion),
    costPerBillion: number(costPerBillion),
    days: number(days),
    cost: number(cost),
    shortfall,
    set: plan.settings,
  };
}
