import type { Goal } from './goals';
import type { Row } from './rows';
import { wildRows, type WildRow } from './wild';

/** How predictions order measured runs of one model on one machine. */
export interface Ranking {
  readonly groups: number;
  /** Pairs of different runs more than 5 % apart, and how many of them are in the right order. */
  readonly pairs: number;
  readonly right: number;
  /** Groups whose fastest run is also predicted to be. */
  readonly first: number;
  /** How much slower than the fastest the run is that is predicted to be fastest, at worst. */
  readonly worstPick: number;
}

const apart = 1.05;

/** The ranking inside each of some groups of runs; groups of one run are left out. */
export function rankingOf(groups: readonly (readonly WildRow[])[]): Ranking {
  const sum = { groups: 0, pairs: 0, right: 0, first: 0, worstPick: 0 };
  for (const rows of groups) {
    rows.forEach((a, index) => {
      for (const b of rows.slice(0, index)) {
        const ratio = secondsOf(a) / secondsOf(b);
        if (Math.max(ratio, 1 / ratio) <= apart || isSameRun(a, b)) continue;
        sum.pairs++;
        if (ratio > 1 === a.predicted.iterationMs > b.predicted.iterationMs) sum.right++;
      }
    });
    const choices = choicesOf(rows);
    if (choices.length < 2) continue;
    sum.groups++;
    const fastest = leastBy(choices, ({ seconds }) => seconds);
    const pick = leastBy(choices, ({ predicted }) => predicted);
    if (pick === fastest) sum.first++;
    sum.worstPick = Math.max(sum.worstPick, pick.seconds / fastest.seconds - 1);
  }
  return sum;
}

function secondsOf({ case: { seconds } }: WildRow): number {
  return seconds ?? NaN;
}

/** What there is to choose from: configurations, each by the mean of its measurements, which differ by up to 9 % here. */
function choicesOf(rows: readonly WildRow[]): { readonly seconds: number; readonly predicted: number }[] {
  const same = new Map<string, WildRow[]>();
  for (const row of rows) {
    const key = JSON.stringify(row.case.config);
    same.set(key, [...(same.get(key) ?? []), row]);
  }
  return [...same.values()].map((of) => ({
    seconds: of.reduce((sum, row) => sum + secondsOf(row), 0) / of.length,
    predicted: of[0]?.predicted.iterationMs ?? NaN,
  }));
}

/** Two measurements of one configuration. */
function isSameRun(a: WildRow, b: WildRow): boolean {
  return JSON.stringify(a.case.config) === JSON.stringify(b.case.config);
}

function leastBy<T>(rows: readonly T[], value: (row: T) => number): T {
  return rows.reduce((least, row) => (value(row) < value(least) ? row : least));
}

/** Groups of runs of one model on one machine, schedules against each other apart from layouts. */
export function groupsOf(rows: readonly WildRow[], which: 'schedules' | 'layouts'): WildRow[][] {
  const groups = new Map<string, WildRow[]>();
  for (const row of rows) {
    const { family, group, seconds } = row.case;
    const comparesSchedules = family === 'zero bubble' || family === 'Seq1F1B';
    if (seconds !== null && comparesSchedules === (which === 'schedules')) groups.set(group, [...(groups.get(group) ?? []), row]);
  }
  return [...groups.values()];
}

/** What is promised of both. */
export function rankingGoals(rows: readonly WildRow[]): Goal[] {
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  const layouts = rankingOf(groupsOf(rows, 'layouts'));
  const schedules = rankingOf(groupsOf(rows, 'schedules'));
  const inOrder = (name: string, { pairs, right }: Ranking, least: number): Goal => ({
    name: `${name} more than 5 % apart in the right order`,
    found: `${right} of ${pairs} pairs, ${percent(right / pairs)}`,
    goal: `${percent(least)} or more`,
    met: right / pairs >= least,
  });
  return [
    inOrder('Layouts', layouts, 0.93),
    inOrder('Schedules', schedules, 0.88),
    {
      name: 'The fastest schedule is named first',
      found: `${schedules.first} of ${schedules.groups} groups; worst pick ${percent(schedules.worstPick)} slower`,
      goal: '60 % of groups, none more than 8 % slower',
      met: schedules.first / schedules.groups >= 0.6 && schedules.worstPick <= 0.08,
    },
    {
      name: 'The fastest layout is named first',
      found: `${layouts.first} of ${layouts.groups} groups; worst pick ${percent(layouts.worstPick)} slower`,
      goal: 'none more than 8 % slower',
      met: layouts.worstPick <= 0.08,
    },
  ];
}

/** How many times the steps of 8 GPUs the first and the last run of a series take: measured, and predicted. */
const scaleSeries = [
  ['internevo-tp2z-1-8', 'internevo-tp2z-1-1024'],
  ['internevo-ckpt-8-8', 'internevo-ckpt-1024-8'],
] as const;

/** The step of the largest run of each series over that of its smallest. */
export async function scaleRows(): Promise<readonly Row[]> {
  const rows = await wildRows(({ family }) => family === 'InternEvo');
  return scaleSeries.map(([small, large]) => {
    const [from, to] = [small, large].map((id) => rows.find((row) => row.case.id === id));
    const over = (of: (row: WildRow | undefined) => number): number => of(to) / of(from);
    return {
      name: `${small} to ${large}`,
      measured: over((row) => row?.case.seconds ?? NaN),
      predicted: over((row) => row?.predicted.iterationMs ?? NaN),
    };
  });
}
