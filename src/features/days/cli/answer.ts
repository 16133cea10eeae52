import { placed, requireRun } from '../../../core/export/planned-config';
import { ExpectedError } from '../../../core/errors';
import { formatBytes, formatCount, formatNumber, formatPercent } from '../../../core/format';
import { resolveRun } from '../../../core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../../core/plan-request/scenario';
import { makePlan } from '../../../core/planner/make-plan';
import { chosenCandidate } from '../../../core/planner/plan';
import { runFindings } from '../../../core/rules/run-findings';
import type { Run } from '../../../core/run/run';
import { sentence } from '../../../core/sentence';
import { applyOverrides } from '../../../core/terapipe/overrides';
import { printable } from '../../../core/text';
import type { Answer } from '../../../cli/answer';
import type { Line } from '../../../cli/command';
import { namedConfig, runConfig } from '../../../cli/read-config';
import { indented, table } from '../../../cli/table';
import type { Terminal } from '../../../cli/terminal';
import { wholeRun, type Phase, type Ranged, type RunConditions, type WholeRun } from '../core/whole-run';

interface WholeRunQuestion {
  readonly phases: readonly { readonly tokens: number; readonly sets: readonly string[] }[];
  readonly conditions: Omit<RunConditions, 'price'> & { readonly totalStorage: number | null };
}

/**
 * `terapipe days`: what a whole run takes. @throws ExpectedError of the files and the planner, and `days-tokens` without tokens;
 * CancelledError.
 */
export async function daysAnswer(line: Line, asked: WholeRunQuestion, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const config = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const run = requireRun(config);
  try {
    const { found, fits } = answerFor(run, asked, line.defaults, terminal);
    return { json: { version: 1, title: run.title, fits, ...found }, text: text(run.title, found, fits), exitCode: fits ? 0 : 1 };
  } catch (error) {
    throw placed(error, run, () => runFindings(run, null));
  }
}

function answerFor(run: Run, { phases, conditions }: WholeRunQuestion, defaults: ResolveDefaults, { signal }: Terminal) {
  const plan = (planned: Run) => makePlan(resolveRun(planned, defaults, [], signal), { isCompared: false, drawnOperations: 0, signal });
  const last = plan(run);
  const { training, cluster } = last.request;
  const before = phases.reduce((sum, { tokens }) => sum + tokens, 0);
  if (training.tokens === undefined || training.tokens <= before)
    throw new ExpectedError(
      'days-tokens',
      sentence`The tokens of the whole run are not given, or fewer than its phases have`,
      sentence`give --tokens, as 15T`,
    );
  const plans = phases.map(({ tokens, sets }) => ({ tokens, plan: plan(applyOverrides(run, sets, assumedGpuName)) }));
  const all = [...plans, { tokens: training.tokens - before, plan: last }];
  const rates = all.map(({ tokens, plan: each }): Phase => {
    const { tokensPerSecond } = chosenCandidate(each);
    return { tokens, tokensPerSecond, range: each.cost.range };
  });
  const { totalStorage, ...others } = conditions;
  const nodes = Math.max(1, cluster.nodes);
  const storage = totalStorage === null ? others.storage : ranged(totalStorage / nodes);
  const found = wholeRun(last.request, rates, { ...others, storage, price: cluster.pricePerGpuHour ?? null });
  return { found, fits: all.every(({ plan: each }) => chosenCandidate(each).fits) };
}

function ranged(value: number): Ranged {
  return { low: value, usual: value, high: value };
}

function text(title: string, found: WholeRun, fits: boolean): string {
  const { tokens, gpus, checkpointBytes, megawattHours, cost } = found;
  const rows = [
    ['days', rangeText(found.days)],
    ['of it steps', rangeText(found.trainingDays)],
    ['goodput', `${formatPercent(found.goodput.usual)} (${formatPercent(found.goodput.high)} to ${formatPercent(found.goodput.low)})`],
    ['failures', `${rangeText(found.failures)}, one in ${rangeText(found.hoursBetweenFailures)} h`],
    ['checkpoint', `${formatBytes(checkpointBytes)}, saved in ${rangeText(found.saveSeconds)} s`],
    ['saved every', `${formatNumber(found.intervalMinutes.usual)} min of training`],
    ['GPU hours', rangeText(found.gpuHours)],
    ...(megawattHours === null ? [] : [['energy', `${rangeText(megawattHours)} MWh`]]),
    ...(cost === null ? [] : [['cost', rangeText(cost)]]),
  ];
  return [
    printable(`${title}: ${formatCount(tokens)} tokens on ${formatCount(gpus)} GPUs`),
    indented(table(rows, [1])),
    ...(fits ? [] : ['A step does not fit the memory of its GPUs: terapipe plan shows why.']),
  ].join('\n');
}

function rangeText({ low, usual, high }: Ranged): string {
  const short = (value: number): string => (value >= 1000 ? formatCount(Number(value.toPrecision(3))) : formatNumber(value));
  const [least, most] = low <= high ? [low, high] : [high, low];
  return least === most ? short(usual) : `${short(usual)} (${short(least)} to ${short(most)})`;
}
