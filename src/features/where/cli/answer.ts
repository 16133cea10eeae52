import type { SearchKey } from '../../../core/domain/layout-choices';
import type { Run } from '../../../core/run/run';
import { ExpectedError } from '../../../core/errors';
import { say, sentence } from '../../../core/sentence';
import { settingTexts } from '../../../core/terapipe/overrides';
import type { Answer } from '../../../cli/answer';
import { searchLayouts } from '../../../cli/answers/search';
import type { Line } from '../../../cli/command';
import { namedConfig, readInto, runConfig } from '../../../cli/read-config';
import { reportText } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { machineNamed, parseMachines, usualMachines } from '../core/machines';
import { planMachines, type FoundPlan, type Unplanned } from '../core/plan-machines';
import { gpuHourPrice, parsePrices, readPrices } from '../core/prices';
import { rankMachines, type Limits, type RankedMachine } from '../core/rank';
import { whereReport } from '../core/report';

/** What the command line asks for. */
interface Asked extends Pick<Limits, 'budget' | 'days'> {
  /** Machines and prices as written. */
  readonly on: string | null;
  readonly prices: string | null;
  /** Searched though FILE sets them; null: the layout, or of a launcher's file all that it can express. */
  readonly free: readonly SearchKey[] | null;
  readonly isAll: boolean;
}

/**
 * `terapipe where`: the best layout of a run on each of several machines, ranked by cost or GPU hours.
 * @throws ExpectedError of the options and the files; CancelledError. What goes wrong on one machine is in its row.
 */
export async function whereAnswer(line: Line, asked: Asked, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const machines = asked.on === null ? usualMachines.map(machineNamed) : parseMachines(asked.on);
  const prices = await namedPrices(asked.prices, texts);
  if (asked.budget !== null && machines.every((machine) => gpuHourPrice(prices, machine) === null))
    throw new ExpectedError('where-prices', sentence`A budget needs the price of a machine`, sentence`give --prices of these machines`);
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const { run } = config;
  const tokens = run.training.tokens?.value ?? null;
  const { planned, unplanned } = await planMachines(run, machines, {
    free: asked.free,
    search: (placed, free) =>
      searchLayouts({ ...config, run: placed }, line.defaults, { improvements: false, tables: false, free }, terminal),
    onMachine: ({ name }, index) => terminal.status(`planning on ${name}, ${index + 1} of ${machines.length}`),
  });
  const ranked = rankMachines(planned, (machine) => gpuHourPrice(prices, machine), { tokens, budget: asked.budget, days: asked.days });
  const withoutPrices = prices.size > 0 ? null : sentence`Without --prices machines rank by GPU hours; with them by cost.`;
  return {
    json: whereJson(run, tokens, ranked, unplanned),
    text: reportText(whereReport({ ranked, unplanned, tokens, isAll: asked.isAll, withoutPrices })),
    exitCode: ranked[0]?.shortfall === null ? 0 : 1,
  };
}

async function namedPrices(written: string | null, texts: Map<string, string>): Promise<ReadonlyMap<string, number>> {
  if (written === null) return new Map();
  return written.includes('=') ? parsePrices(written) : readPrices((await readInto(texts, written)).text);
}

/** Rows in the order in which they rank; `sets` are those of `terapipe plan --search --set` for the same plan. */
function whereJson(run: Run, tokens: number | null, ranked: readonly RankedMachine<FoundPlan>[], unplanned: readonly Unplanned[]): object {
  return {
    version: 1,
    title: run.title,
    tokens,
    machines: ranked.map(({ machine, plan: { result, settings, ...plan }, ...figures }) => ({
      machine: machine.name,
      gpu: machine.gpu,
      ...plan,
      range: result.cost.range,
      layout: result.best.point.layout,
      schedule: say(result.best.name),
      peakBytes: result.best.peakBytes,
      ...figures,
      sets: settingTexts(Object.entries(settings)),
    })),
    notPlanned: unplanned.map(({ machine, error: { code, message, remedy } }) => ({
      machine: machine.name,
      error: { code, message, remedy: say(remedy) },
    })),
  };
}
