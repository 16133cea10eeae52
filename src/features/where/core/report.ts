import { column, formatCount, formatDuration, formatNumber, formatRate, plural } from '../../../core/format';
import { layoutText } from '../../../core/layout-search/labels';
import { usedText, verdictText } from '../../../core/memory-model/verdict';
import type { Report, ReportBlock } from '../../../core/report';
import { sentence, type Sentence, type Value } from '../../../core/sentence';
import type { FoundPlan, Unplanned } from './plan-machines';
import { ranksByCost, type RankedMachine, type Shortfall } from './rank';

interface WhereReport {
  readonly ranked: readonly RankedMachine<FoundPlan>[];
  readonly unplanned: readonly Unplanned[];
  /** Of the whole run; null: not given. */
  readonly tokens: number | null;
  /** With what each layout leaves of memory. */
  readonly isAll: boolean;
  /** How they rank without prices; null: prices are given. */
  readonly withoutPrices: Value | null;
}

/** Machines in the order in which they rank, the one that is proposed first. */
export function whereReport({ ranked, unplanned, tokens, isAll, withoutPrices }: WhereReport): Report {
  return {
    headline: bestText(ranked[0], tokens, ranksByCost(ranked)),
    blocks: [machineBlock(ranked, isAll), { title: sentence`Not planned`, rows: unplanned.map(unplannedRow), left: [1] }],
    notes: ranked.length === 0 || ranksByCost(ranked) ? [] : [withoutPrices ?? unpricedText(ranked)],
  };
}

const shortfallTexts: Readonly<Record<Shortfall, Sentence>> = {
  'does-not-fit': sentence`does not fit`,
  'over-budget': sentence`over budget`,
  'too-slow': sentence`takes too long`,
};

function bestText(best: RankedMachine<FoundPlan> | undefined, tokens: number | null, isByCost: boolean): Sentence {
  if (best === undefined) return sentence`Nothing was planned on any of these machines.`;
  const { plan, machine, shortfall, cost } = best;
  const { point, name } = plan.result.best;
  const step = sentence`${formatCount(plan.gpus)} x ${machine.name}: ${layoutText(point)}, ${name}, ${formatDuration(plan.iterationMs)} a step`;
  const days = tokens === null ? step : sentence`${step}; ${formatCount(tokens)} tokens in ${daysText(best.days)}`;
  const what = tokens === null || cost === null ? days : sentence`${days}, cost ${formatCount(Math.round(cost))}`;
  if (shortfall !== null) return sentence`None meets the request. Nearest is ${what}: ${shortfallTexts[shortfall]}.`;
  return isByCost ? sentence`Cheapest: ${what}.` : sentence`Fewest GPU hours: ${what}.`;
}

function unpricedText(ranked: readonly RankedMachine[]): Sentence {
  const names = [...new Set(ranked.filter(({ price }) => price === null).map(({ machine }) => machine.name))].join(', ');
  return sentence`Machines rank by GPU hours: there is no price for ${names}.`;
}

function daysText(days: number | null): string {
  return days === null ? '' : days < 2 ? `${formatNumber(24 * days)} h` : plural(Number(days.toPrecision(3)), 'day');
}

function machineBlock(ranked: readonly RankedMachine<FoundPlan>[], isAll: boolean): ReportBlock {
  const hasPrice = ranked.some(({ price }) => price !== null);
  const hasDays = ranked.some(({ days }) => days !== null);
  const head = [
    sentence`machine`,
    'GPUs',
    sentence`step`,
    sentence`tokens/s a GPU`,
    sentence`GPU hours / 1B tokens`,
    ...(hasPrice ? [sentence`cost / 1B tokens`] : []),
    ...(hasDays ? [sentence`time`] : []),
    ...(hasDays && hasPrice ? [sentence`cost`] : []),
    sentence`memory`,
    sentence`layout`,
  ];
  const money = (value: number | null): string => (value === null ? '' : formatCount(Number(value.toPrecision(3))));
  const rows = ranked.map(({ machine, plan, gpuHoursPerBillion, costPerBillion, days, cost, shortfall, isOnFront }) => {
    const { best } = plan.result;
    const left = sentence`${usedText(best.verdict)}, ${verdictText(best.verdict)}`;
    const missing = shortfall === null ? null : shortfallTexts[shortfall];
    return [
      `${isOnFront ? '* ' : '  '}${machine.name}`,
      formatCount(plan.gpus),
      column.duration(plan.iterationMs),
      formatRate(plan.tokensPerSecond / plan.gpus),
      formatCount(Number(gpuHoursPerBillion.toPrecision(3))),
      ...(hasPrice ? [money(costPerBillion)] : []),
      ...(hasDays ? [daysText(days)] : []),
      ...(hasDays && hasPrice ? [money(cost)] : []),
      isAll ? (missing === null ? left : sentence`${left}, ${missing}`) : (missing ?? sentence`fits`),
      sentence`${layoutText(best.point)}, ${best.name}`,
    ];
  });
  const foot = hasPrice
    ? sentence`* none of the others is faster and cheaper`
    : sentence`* none of the others is faster and takes fewer GPU hours`;
  return { head, rows, left: [head.length - 2, head.length - 1], foot };
}

function unplannedRow({ machine, error }: Unplanned): readonly Value[] {
  return [machine.name, sentence`${error.what}; ${error.remedy}`];
}
