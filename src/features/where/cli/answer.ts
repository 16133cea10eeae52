import { freeNames, type SearchKey } from '../../../core/domain/layout-choices';
import { gpusUsed } from '../../../core/domain/request';
import { ExpectedError } from '../../../core/errors';
import { column, formatCount, formatDuration, formatNumber, plural } from '../../../core/format';
import { isLauncher } from '../../../core/launchers/registry';
import { layoutText } from '../../../core/layout-search/labels';
import type { SearchResult } from '../../../core/layout-search/result';
import { usedText, verdictText } from '../../../core/memory-model/verdict';
import { assumedGpuName } from '../../../core/plan-request/scenario';
import type { Run } from '../../../core/run/run';
import { say } from '../../../core/sentence';
import { applyOverrides } from '../../../core/terapipe/overrides';
import { printable } from '../../../core/text';
import type { Answer } from '../../../cli/answer';
import { searchLayouts } from '../../../cli/answers/search';
import type { Line } from '../../../cli/command';
import { namedConfig, readInto, runConfig, type RunConfig } from '../../../cli/read-config';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { machineNamed, machineSets, parseMachines, usualMachines, type Machine } from '../core/machines';
import { gpuHourPrice, parsePrices, readPrices } from '../core/prices';
import { rankMachines, type Limits, type MachinePlan, type RankedMachine, type Shortfall } from '../core/rank';

/** What the command line asks for. */
interface Asked extends Pick<Limits, 'budget' | 'days'> {
  /** Machines and prices as written. */
  readonly on: string | null;
  readonly prices: string | null;
  /** Searched though FILE sets them; null: the layout, or of a launcher's file all that it can express. */
  readonly free: readonly SearchKey[] | null;
  readonly isAll: boolean;
}

/** The best layout on one machine, and the settings with which `plan --search` gives it. */
interface FoundPlan extends MachinePlan {
  readonly result: SearchResult;
  readonly sets: readonly string[];
}

/** A machine on which nothing could be planned, and why. */
interface Unplanned {
  readonly machine: Machine;
  readonly error: ExpectedError;
}

/**
 * `terapipe where`: the best layout of a run on each of several machines, ranked by cost or GPU hours.
 * @throws ExpectedError of the options and the files; CancelledError. What goes wrong on one machine is in its row.
 */
export async function whereAnswer(line: Line, asked: Asked, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const machines = asked.on === null ? usualMachines.map(machineNamed) : parseMachines(asked.on);
  const prices = await namedPrices(asked.prices, texts);
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const { run } = config;
  const tokens = run.training.tokens?.value ?? null;
  const planned: { readonly machine: Machine; readonly plan: FoundPlan }[] = [];
  const unplanned: Unplanned[] = [];
  for (const machine of machines) {
    terminal.status(`planning on ${machine.name}, ${planned.length + unplanned.length + 1} of ${machines.length}`);
    try {
      planned.push({ machine, plan: await planOn(machine, config, line, asked, terminal) });
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      unplanned.push({ machine, error });
    }
  }
  const ranked = rankMachines(planned, (machine) => gpuHourPrice(prices, machine), { tokens, budget: asked.budget, days: asked.days });
  const [best] = ranked;
  return {
    json: whereJson(run, tokens, ranked, unplanned),
    text: [
      bestText(best, tokens),
      indented(machineTable(ranked, asked.isAll)),
      ...(unplanned.length === 0 ? [] : [`Not planned\n${indented(unplanned.map(unplannedText).join('\n'))}`]),
      ...(prices.size > 0 || ranked.length === 0 ? [] : ['Without --prices machines rank by GPU hours; with them by cost.']),
    ].join('\n\n'),
    exitCode: best?.shortfall === null ? 0 : 1,
  };
}

async function namedPrices(written: string | null, texts: Map<string, string>): Promise<ReadonlyMap<string, number>> {
  if (written === null) return new Map();
  return written.includes('=') ? parsePrices(written) : readPrices((await readInto(texts, written)).text);
}

async function planOn(machine: Machine, config: RunConfig, line: Line, { free }: Asked, terminal: Terminal): Promise<FoundPlan> {
  const sets = machineSets(machine, machine.gpus ?? givenGpus(config.run));
  const run = applyOverrides(config.run, sets, assumedGpuName);
  const searched = free ?? (isLauncher(run.format) ? null : freeNames.layout);
  const result = await searchLayouts({ ...config, run }, line.defaults, { improvements: false, free: searched }, terminal);
  const { best } = result;
  return {
    result,
    sets,
    gpus: gpusUsed(best.point.layout),
    iterationMs: best.iterationMs,
    tokensPerSecond: best.tokensPerSecond,
    fits: best.fits,
  };
}

/** GPUs of all nodes that files and flags give. */
function givenGpus({ nodes, gpusPerNode }: Run): number | null {
  return nodes === undefined || gpusPerNode === undefined ? null : nodes.value * gpusPerNode.value;
}

const shortfallTexts: Readonly<Record<Shortfall, string>> = {
  'does-not-fit': 'does not fit',
  'over-budget': 'over budget',
  'too-slow': 'takes too long',
};

function bestText(best: RankedMachine<FoundPlan> | undefined, tokens: number | null): string {
  if (best === undefined) return 'Nothing was planned on any of these machines.';
  const { plan, machine, shortfall } = best;
  const what = `${formatCount(plan.gpus)} x ${machine.name}: ${say(layoutText(plan.result.best.point))}, ${say(plan.result.best.name)}, ${formatDuration(plan.iterationMs)} a step`;
  const cost = best.cost === null ? '' : `, cost ${formatCount(Math.round(best.cost))}`;
  const whole = tokens === null ? '' : `; ${formatCount(tokens)} tokens in ${daysText(best.days)}${cost}`;
  if (shortfall !== null) return printable(`None meets what is asked. Nearest is ${what}${whole}: ${shortfallTexts[shortfall]}.`);
  return printable(`${best.price === null ? 'Fewest GPU hours' : 'Cheapest'}: ${what}${whole}.`);
}

function daysText(days: number | null): string {
  return days === null ? '' : days < 2 ? `${formatNumber(24 * days)} h` : plural(Number(days.toPrecision(3)), 'day');
}

function machineTable(ranked: readonly RankedMachine<FoundPlan>[], isAll: boolean): string {
  const hasPrice = ranked.some(({ price }) => price !== null);
  const hasDays = ranked.some(({ days }) => days !== null);
  const heading = [
    'machine',
    'GPUs',
    'step',
    'tokens/s a GPU',
    'GPU hours / 1B tokens',
    ...(hasPrice ? ['cost / 1B tokens'] : []),
    ...(hasDays ? ['time'] : []),
    ...(hasDays && hasPrice ? ['cost'] : []),
    'memory',
    'layout',
  ];
  const money = (value: number | null): string => (value === null ? '' : formatCount(Number(value.toPrecision(3))));
  const rows = ranked.map(({ machine, plan, gpuHoursPerBillion, costPerBillion, days, cost, shortfall, isOnFront }) => {
    const { best } = plan.result;
    const why = shortfall === null ? '' : `, ${shortfallTexts[shortfall]}`;
    return [
      `${isOnFront ? '* ' : '  '}${machine.name}`,
      formatCount(plan.gpus),
      column.duration(plan.iterationMs),
      formatCount(Number((plan.tokensPerSecond / plan.gpus).toPrecision(3))),
      formatCount(Number(gpuHoursPerBillion.toPrecision(3))),
      ...(hasPrice ? [money(costPerBillion)] : []),
      ...(hasDays ? [daysText(days)] : []),
      ...(hasDays && hasPrice ? [money(cost)] : []),
      isAll
        ? `${usedText(best.verdict)}, ${say(verdictText(best.verdict))}${why}`
        : shortfall === null
          ? 'fits'
          : shortfallTexts[shortfall],
      printable(`${say(layoutText(best.point))}, ${say(best.name)}`),
    ];
  });
  const left = [heading.length - 2, heading.length - 1];
  return `${table([heading, ...rows], left)}\n* none of the others is faster and ${hasPrice ? 'cheaper' : 'takes fewer GPU hours'}`;
}

function unplannedText({ machine, error }: Unplanned): string {
  return printable(`${machine.name}: ${error.message}; ${say(error.remedy)}`);
}

/** Rows in the order in which they rank; `sets` are those of `terapipe plan --search --set` for the same plan. */
function whereJson(run: Run, tokens: number | null, ranked: readonly RankedMachine<FoundPlan>[], unplanned: readonly Unplanned[]): object {
  return {
    version: 1,
    title: run.title,
    tokens,
    machines: ranked.map(({ machine, plan: { result, sets, ...plan }, ...figures }) => ({
      machine: machine.name,
      gpu: machine.gpu,
      ...plan,
      range: result.cost.range,
      layout: result.best.point.layout,
      schedule: say(result.best.name),
      peakBytes: result.best.peakBytes,
      ...figures,
      sets,
    })),
    notPlanned: unplanned.map(({ machine, error: { code, message, remedy } }) => ({
      machine: machine.name,
      error: { code, message, remedy: say(remedy) },
    })),
  };
}
